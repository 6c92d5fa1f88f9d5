/* SPDX-License-Identifier: Apache-2.0
 *
 * One file of the code cache: a header and the object code it describes.
 *
 * An *entry* is a file whose name is its key in 32 hexadecimal digits. The header
 * says what the code was made by and for, and carries the hashes of itself and
 * of the code, so that any damage shows. (A changed word always changes the hash
 * of base/hash.h, because each of its steps is a bijection. Against a forger no
 * checksum helps; who may write is what cache_folder.h checks.) Numbers are in
 * the machine's order. */
#ifndef SM_RT_CODE_ENTRY_H
#define SM_RT_CODE_ENTRY_H

#include "base/hash.h"
#include "codegen/llvm_codegen.h"

enum { SM_CODE_ENTRY_NAME = 33, SM_CODE_ENTRY_LLVM = 48 };

typedef struct sm_code_entry {
  char magic[8];
  uint32_t format;
  uint32_t level;     /* sm_cpu_level the code needs */
  uint64_t generator; /* version of what made it */
  uint64_t size;      /* bytes of the code */
  sm_hash key;
  sm_hash code;                  /* hash of the code */
  char llvm[SM_CODE_ENTRY_LLVM]; /* the LLVM that made it */
  sm_hash header;                /* hash of all above */
} sm_code_entry;

void sm_code_entry_name(sm_hash key, char name[SM_CODE_ENTRY_NAME]);
bool sm_code_entry_is_name(const char *name);

/* Fills in everything that follows from key and code; level, generator and llvm
 * are the caller's. */
void sm_code_entry_seal(sm_code_entry *entry, sm_hash key, const sm_object *code);

/* Reads the file `name` completely and verifies it. NULL if it is sound, with
 * the code, which is the caller's; code->data is NULL if there is no such file.
 * Otherwise what is wrong: "is truncated". */
const char *sm_code_entry_read(int folder, const char *name, const sm_allocator *allocator,
                               sm_code_entry *entry, sm_object *code);

#endif
