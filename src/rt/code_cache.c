/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700
#include "rt/code_cache.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "rt/cache_folder.h"
#include "rt/object_image.h"

/* Every so many entries the size of the folder is looked at. */
enum { TRIM_PERIOD = 32 };

/* LLVMs found to make wrong code, by the names that sm_llvm_open gives them.
 * None so far. */
static const char *const refused_llvms[] = {NULL};

uint64_t sm_code_cache_generator(void) { return SM_GENERATOR_VERSION; }

/* --- Opening and closing --------------------------------------------------------------- */

smelt_status sm_code_cache_limit(uint64_t *out, smelt_error *err) {
  int64_t bytes = SM_CODE_CACHE_BYTES;
  smelt_status status = sm_os_setting("SMELT_CACHE_DISK_BYTES", 0, INT64_MAX, &bytes, err);
  *out = (uint64_t)bytes;
  return status;
}

static smelt_status open_folder(int *folder, smelt_error *err) {
  sm_text path;
  sm_text_init(&path, &sm_malloc_allocator);
  smelt_status status = sm_cache_folder_find(&path, err);
  if (status == SMELT_OK) status = sm_cache_folder_open(path.data, true, folder, err);
  sm_text_free(&path);
  return status;
}

static void report(const sm_code_cache *cache, const char *subject, const char *what) {
  if (!sm_log_on(cache->log, SM_LOG_COMPILE)) return;
  sm_text line;
  sm_text_init(&line, cache->allocator);
  sm_text_addf(&line, "[compile] cache: %s %s", subject, what);
  sm_log_text(cache->log, &line);
}

void sm_code_cache_open(sm_code_cache *cache, sm_cpu_level level, const sm_allocator *allocator,
                        const sm_log *log) {
  *cache = (sm_code_cache){
      .allocator = allocator,
      .log = log,
      .folder = -1,
      .level = (uint32_t)level,
      .generator = SM_GENERATOR_VERSION,
      .refused = refused_llvms,
  };
  smelt_error err;
  smelt_status status = sm_code_cache_limit(&cache->limit, &err);
  if (status == SMELT_OK) status = open_folder(&cache->folder, &err);
  if (status != SMELT_OK) report(cache, "off:", err.text);
}

void sm_code_cache_close(sm_code_cache *cache) {
  if (cache->folder >= 0) (void)close(cache->folder);
  cache->folder = -1;
}

/* --- Getting and putting ----------------------------------------------------------------- */

static sm_hash full_key(const sm_code_cache *cache, sm_hash key) {
  sm_hash_u64(&key, cache->generator);
  sm_hash_u64(&key, cache->level);
  return key;
}

static bool is_refused(const sm_code_cache *cache, const char *llvm) {
  const char *const *name = cache->refused;
  while (*name && strcmp(*name, llvm) != 0) name++;
  return *name != NULL;
}

/* Why a sound entry cannot be used. */
static const char *find_mismatch(const sm_code_cache *cache, const sm_code_entry *entry) {
  if (entry->generator != cache->generator) return "was made by another version";
  if (entry->level != cache->level) return "was made for another processor";
  return is_refused(cache, entry->llvm) ? "was made by an LLVM that is not trusted" : NULL;
}

bool sm_code_cache_get(const sm_code_cache *cache, sm_hash key, sm_object *out) {
  *out = (sm_object){.data = NULL};
  if (cache->folder < 0) return false;
  char name[SM_CODE_ENTRY_NAME];
  sm_code_entry entry;
  sm_code_entry_name(full_key(cache, key), name);
  const char *fault = sm_code_entry_read(cache->folder, name, cache->allocator, &entry, out);
  if (!fault && !out->data) return false;
  if (!fault) fault = find_mismatch(cache, &entry);
  if (!fault) return true;
  report(cache, name, fault);
  sm_free(cache->allocator, out->data, out->size);
  *out = (sm_object){.data = NULL};
  return false;
}

static bool write_entry(const sm_code_cache *cache, const char *name, sm_code_entry *entry,
                        const sm_object *code) {
  const struct iovec pieces[] = {{.iov_base = entry, .iov_len = sizeof *entry},
                                 {.iov_base = code->data, .iov_len = code->size}};
  return sm_cache_file_write(cache->folder, name, pieces, 2);
}

void sm_code_cache_put(const sm_code_cache *cache, sm_hash key, const char *llvm, const sm_object *code) {
  if (cache->folder < 0 || code->size > SM_CODE_MAX_BYTES || code->size > cache->limit) return;
  char name[SM_CODE_ENTRY_NAME];
  sm_code_entry entry = {.level = cache->level, .generator = cache->generator};
  (void)snprintf(entry.llvm, sizeof entry.llvm, "%s", llvm);
  sm_hash full = full_key(cache, key);
  sm_code_entry_name(full, name);
  sm_code_entry_seal(&entry, full, code);
  if (!write_entry(cache, name, &entry, code)) report(cache, name, "cannot be written");
  if (full.lo % TRIM_PERIOD == 0 || code->size >= cache->limit / TRIM_PERIOD) {
    sm_code_cache_trim(cache->folder, cache->allocator, cache->limit);
  }
}
