/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "rt/cache_folder.h"
#include "rt/code_cache.h"

/* A temporary file of this age is not being written any more. */
enum { ABANDONED_SECONDS = 3600 };

static bool is_temporary(const char *name) {
  return strncmp(name, SM_CACHE_TEMPORARY, strlen(SM_CACHE_TEMPORARY)) == 0;
}

/* Adds the file if it is one of ours; it may be gone by now. */
static bool add_file(int folder, const char *name, const sm_allocator *allocator,
                     sm_code_cache_files *files) {
  sm_code_cache_file file;
  struct stat st;
  if (!(sm_code_entry_is_name(name) || is_temporary(name)) || strlen(name) >= sizeof file.name) return true;
  if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return true;
  (void)snprintf(file.name, sizeof file.name, "%s", name);
  file.size = (uint64_t)st.st_size;
  file.written = (int64_t)st.st_mtime;
  return sm_vec_push(allocator, files, file);
}

static int compare_age(const void *a, const void *b) {
  const sm_code_cache_file *x = a, *y = b;
  if (x->written != y->written) return x->written < y->written ? -1 : 1;
  return strcmp(x->name, y->name);
}

static DIR *open_listing(int folder) {
  int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* a position of its own */
  DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
  if (!listing && fd >= 0) (void)close(fd);
  return listing;
}

smelt_status sm_code_cache_list(int folder, const sm_allocator *allocator, sm_code_cache_files *out,
                                smelt_error *err) {
  *out = (sm_code_cache_files){.items = NULL};
  DIR *listing = open_listing(folder);
  if (!listing) return sm_error_set(err, SMELT_ERR_IO, "the cache folder cannot be listed");
  bool ok = true;
  for (struct dirent *e; ok && (e = readdir(listing)) != NULL;)
    ok = add_file(folder, e->d_name, allocator, out);
  (void)closedir(listing);
  if (!ok) {
    sm_vec_free(allocator, out);
    return sm_error_memory(err, "the list of the cache");
  }
  if (out->len) qsort(out->items, out->len, sizeof *out->items, compare_age);
  return SMELT_OK;
}

static void remove_abandoned(int folder, const sm_code_cache_files *files) {
  int64_t now = (int64_t)time(NULL);
  for (size_t i = 0; i < files->len; i++) {
    const sm_code_cache_file *file = &files->items[i];
    if (is_temporary(file->name) && now - file->written > ABANDONED_SECONDS)
      (void)unlinkat(folder, file->name, 0);
  }
}

static void remove_oldest(int folder, const sm_code_cache_files *files, uint64_t limit) {
  uint64_t total = 0;
  for (size_t i = 0; i < files->len; i++) total += files->items[i].size;
  if (total <= limit) return;
  for (size_t i = 0; i < files->len && total > limit - limit / 4; i++) {
    const sm_code_cache_file *file = &files->items[i];
    if (is_temporary(file->name)) continue;
    if (unlinkat(folder, file->name, 0) == 0 || errno == ENOENT) total -= file->size;
  }
}

void sm_code_cache_trim(int folder, const sm_allocator *allocator, uint64_t limit) {
  sm_code_cache_files files;
  if (sm_code_cache_list(folder, allocator, &files, NULL) != SMELT_OK) return;
  remove_abandoned(folder, &files);
  remove_oldest(folder, &files, limit);
  sm_vec_free(allocator, &files);
}
