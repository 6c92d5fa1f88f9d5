/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled kernels on disk: a process that finds its kernels here does not load
 * LLVM.
 *
 * Purpose. Object code by the identity of its kernel IR, in one folder for all
 * programs of a user (rt/cache_folder.h says which, and when it is trusted).
 *
 * Rules.
 *  - A cache never makes anything fail: it may be off, an entry may be missing,
 *    damaged, made for another processor or by another version (then it is
 *    ignored, and written anew when the code is put again), the disk may be full.
 *  - The key that callers give is the kernel's; processor level and generator
 *    version are mixed in here. That version is a hash of the sources of the code
 *    generator, made by the build: an entry never outlives a change of them.
 *  - An entry is read into memory and verified there before anybody uses it.
 *  - Getting is a few system calls: no scan of the folder, nothing synced. The
 *    size of the folder is bounded when code is put, from time to time: every
 *    32nd entry, and each that is large. The oldest files go first, until a
 *    quarter of the space is free.
 *
 * After opening nothing changes in sm_code_cache, so any number of threads and
 * processes can use one. */
#ifndef SM_RT_CODE_CACHE_H
#define SM_RT_CODE_CACHE_H

#include "base/log.h"
#include "base/vec.h"
#include "rt/code_entry.h"

#define SM_CODE_CACHE_BYTES ((int64_t)256 << 20) /* unless SMELT_CACHE_DISK_BYTES says otherwise */

typedef struct sm_code_cache {
  const sm_allocator *allocator;
  const sm_log *log;
  int folder;                 /* a descriptor; -1: the cache is off */
  uint32_t level;             /* sm_cpu_level */
  uint64_t generator;         /* version */
  uint64_t limit;             /* of the folder, in bytes */
  const char *const *refused; /* LLVMs whose code is not to be used, up to a NULL */
} sm_code_cache;

/* Opens the user's cache for one processor level, creating the folder. Without
 * success the cache is off, which one line of the log says, category compile;
 * it can be used and closed all the same. */
void sm_code_cache_open(sm_code_cache *cache, sm_cpu_level level, const sm_allocator *allocator,
                        const sm_log *log);
void sm_code_cache_close(sm_code_cache *cache);

/* The code of kernel `key`, the caller's to free; false if there is none. */
bool sm_code_cache_get(const sm_code_cache *cache, sm_hash key, sm_object *out);
/* Keeps code that `llvm` (a name with its version) made. */
void sm_code_cache_put(const sm_code_cache *cache, sm_hash key, const char *llvm, const sm_object *code);

/* The version of this build's generator. */
uint64_t sm_code_cache_generator(void);
/* SMELT_CACHE_DISK_BYTES, or what stands for it. ERR_ARGUMENT if that is no number. */
smelt_status sm_code_cache_limit(uint64_t *out, smelt_error *err);

/* --- The folder as a whole (code_cache_list.c) ------------------------------------------ */

typedef struct sm_code_cache_file {
  char name[SM_CODE_ENTRY_NAME + 7]; /* of an entry or a temporary file */
  uint64_t size;
  int64_t written; /* seconds since 1970 */
} sm_code_cache_file;

typedef sm_vec(sm_code_cache_file) sm_code_cache_files;

/* Entries and temporary files, the oldest first; the caller frees with
 * sm_vec_free. ERR_MEMORY, ERR_IO. */
smelt_status sm_code_cache_list(int folder, const sm_allocator *allocator, sm_code_cache_files *out,
                                smelt_error *err);
/* Removes the oldest entries if all together exceed `limit`, and temporary files
 * that a process left behind. */
void sm_code_cache_trim(int folder, const sm_allocator *allocator, uint64_t limit);

#endif
