/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700
#include "rt/code_entry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rt/cache_folder.h"
#include "rt/object_image.h"

enum { FORMAT = 1 };
static const char magic[8] = "smelt-o";

_Static_assert(sizeof(sm_code_entry) == 128, "the header has no padding");

void sm_code_entry_name(sm_hash key, char name[SM_CODE_ENTRY_NAME]) {
  (void)snprintf(name, SM_CODE_ENTRY_NAME, "%016" PRIx64 "%016" PRIx64, key.hi, key.lo);
}

bool sm_code_entry_is_name(const char *name) {
  size_t n = SM_CODE_ENTRY_NAME - 1;
  return strlen(name) == n && strspn(name, "0123456789abcdef") == n;
}

static sm_hash hash_of(const void *data, size_t n) {
  sm_hash h = sm_hash_start();
  sm_hash_bytes(&h, data, n);
  return h;
}

static sm_hash hash_of_header(const sm_code_entry *entry) {
  return hash_of(entry, offsetof(sm_code_entry, header));
}

void sm_code_entry_seal(sm_code_entry *entry, sm_hash key, const sm_object *code) {
  memcpy(entry->magic, magic, sizeof magic);
  entry->format = FORMAT;
  entry->size = code->size;
  entry->key = key;
  entry->code = hash_of(code->data, code->size);
  entry->header = hash_of_header(entry);
}

static const char *fault_of_header(const sm_code_entry *entry, const char *name, uint64_t file_size) {
  char right[SM_CODE_ENTRY_NAME];
  if (memcmp(entry->magic, magic, sizeof magic) != 0) return "is no entry";
  if (!sm_hash_equal(entry->header, hash_of_header(entry))) return "has a damaged header";
  if (entry->format != FORMAT) return "has another format";
  sm_code_entry_name(entry->key, right);
  if (strcmp(name, right) != 0) return "has the name of another entry";
  if (entry->llvm[SM_CODE_ENTRY_LLVM - 1] || entry->level >= SM_CPU_LEVEL_COUNT) return "has a wrong header";
  if (file_size - sizeof *entry < entry->size) return "is truncated";
  return file_size - sizeof *entry > entry->size ? "goes on after its end" : NULL;
}

/* The code's size is the file's, which bounds the memory. */
static const char *read_code(int fd, const sm_code_entry *entry, const sm_allocator *allocator,
                             sm_object *code) {
  size_t size = (size_t)entry->size;
  void *data = sm_alloc(allocator, size);
  if (!data) return "does not fit in memory";
  const char *fault = NULL;
  if (!sm_cache_file_read(fd, sizeof *entry, data, size)) {
    fault = "cannot be read";
  } else if (!sm_hash_equal(entry->code, hash_of(data, size))) {
    fault = "has damaged code";
  }
  if (fault) {
    sm_free(allocator, data, size);
    return fault;
  }
  *code = (sm_object){.data = data, .size = size};
  return NULL;
}

static const char *read_entry(int fd, const char *name, uint64_t file_size, const sm_allocator *allocator,
                              sm_code_entry *entry, sm_object *code) {
  if (file_size < sizeof *entry) return "is truncated";
  if (file_size > sizeof *entry + SM_CODE_MAX_BYTES) return "is too large";
  if (!sm_cache_file_read(fd, 0, entry, sizeof *entry)) return "cannot be read";
  const char *fault = fault_of_header(entry, name, file_size);
  return fault ? fault : read_code(fd, entry, allocator, code);
}

const char *sm_code_entry_read(int folder, const char *name, const sm_allocator *allocator,
                               sm_code_entry *entry, sm_object *code) {
  int fd;
  uint64_t size;
  *code = (sm_object){.data = NULL};
  const char *fault = sm_cache_file_open(folder, name, &fd, &size);
  if (fd < 0) return fault;
  fault = read_entry(fd, name, size, allocator, entry, code);
  (void)close(fd);
  return fault;
}
