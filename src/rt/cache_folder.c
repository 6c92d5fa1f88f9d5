/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700
#include "rt/cache_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_limit.h"
#include "base/os.h"

/* Names tried for a temporary file; each is taken only if another thread writes
 * just now or a killed process left it. */
enum { TEMPORARY_NAMES = 1000, MAX_NAME = 40 };

/* --- Where -------------------------------------------------------------------------- */

/* Empty is as good as not set; the standard wants absolute paths. */
static const char *absolute_env(const char *name) {
  const char *value = getenv(name);
  return value && value[0] == '/' ? value : NULL;
}

/* Under sudo HOME can be that of another user, who must not find a folder there
 * that is root's. */
static bool is_ours(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && st.st_uid == geteuid();
}

static smelt_status add_default(sm_text *path, smelt_error *err) {
  const char *caches = absolute_env("XDG_CACHE_HOME"), *home = absolute_env("HOME");
  if (caches) {
    sm_text_addf(path, "%s/smelt", caches);
  } else if (!home) {
    return sm_error_set(err, SMELT_ERR_UNSUPPORTED, "SMELT_CACHE_DIR, XDG_CACHE_HOME and HOME are not set");
  } else if (!is_ours(home)) {
    return sm_error_set(err, SMELT_ERR_UNSUPPORTED, "HOME (%.200s) is missing or another user's", home);
  } else {
    sm_text_addf(path, "%s/.cache/smelt", home);
  }
  return SMELT_OK;
}

/* A link followed by a slash would be followed. */
static void strip_slashes(sm_text *path) {
  while (path->len > 1 && path->data[path->len - 1] == '/') path->data[--path->len] = 0;
}

smelt_status sm_cache_folder_find(sm_text *path, smelt_error *err) {
  if (getauxval(AT_SECURE)) {
    return sm_error_set(err, SMELT_ERR_UNSUPPORTED, "the process has elevated privileges");
  }
  int64_t on = 1;
  SM_TRY(sm_os_setting("SMELT_CACHE", 0, 1, &on, err));
  if (!on) return sm_error_set(err, SMELT_ERR_UNSUPPORTED, "switched off by SMELT_CACHE=0");
  const char *chosen = getenv("SMELT_CACHE_DIR");
  if (chosen && chosen[0]) {
    sm_text_add(path, chosen);
  } else {
    SM_TRY(add_default(path, err));
  }
  if (path->failed) return sm_error_memory(err, "the cache folder's name");
  strip_slashes(path);
  return SMELT_OK;
}

/* --- Opening --------------------------------------------------------------------------- */

static int open_folder(const char *path) {
  return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Creates the folder and those it stands in. What goes wrong shows when it is
 * opened. */
static void create_folders(const char *path) {
  sm_text part;
  sm_text_init(&part, &sm_malloc_allocator);
  for (size_t n = 1; path[n - 1]; n++) {
    if (path[n] != '/' && path[n]) continue;
    sm_text_clear(&part);
    sm_text_add_n(&part, path, n);
    if (!part.failed) (void)mkdir(part.data, 0700);
  }
  sm_text_free(&part);
}

static smelt_status fail_to_open(const char *path, int cause, smelt_error *err) {
  char text[128];
  if (cause == ENOTDIR || cause == ELOOP) {
    return sm_error_set(err, SMELT_ERR_IO, "%.200s is not a folder (a symbolic link is none)", path);
  }
  if (strerror_r(cause, text, sizeof text) != 0) (void)snprintf(text, sizeof text, "error %d", cause);
  return sm_error_set(err, SMELT_ERR_IO, "%.200s cannot be opened: %s", path, text);
}

static const char *fault_of_owner(const struct stat *st) {
  if (st->st_uid != geteuid()) return "belongs to another user";
  return st->st_mode & (S_IWGRP | S_IWOTH) ? "can be written by other users" : NULL;
}

smelt_status sm_cache_folder_open(const char *path, bool create, int *folder, smelt_error *err) {
  int fd = open_folder(path);
  if (fd < 0 && errno == ENOENT && create) {
    create_folders(path);
    fd = open_folder(path);
  }
  *folder = -1;
  if (fd < 0) return fail_to_open(path, errno, err);
  struct stat st;
  const char *fault = fstat(fd, &st) == 0 ? fault_of_owner(&st) : "cannot be checked";
  if (fault) {
    (void)close(fd);
    return sm_error_set(err, SMELT_ERR_IO, "%.200s %s", path, fault);
  }
  *folder = fd;
  return SMELT_OK;
}

/* --- Reading --------------------------------------------------------------------------- */

const char *sm_cache_file_open(int folder, const char *name, int *fd, uint64_t *size) {
  /* Without O_NONBLOCK a pipe that nobody writes to would wait here. */
  *fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (*fd < 0) return errno == ENOENT ? NULL : errno == ELOOP ? "is a symbolic link" : "cannot be opened";
  struct stat st;
  const char *fault = "cannot be checked";
  if (fstat(*fd, &st) == 0) fault = S_ISREG(st.st_mode) ? fault_of_owner(&st) : "is not a regular file";
  if (fault) {
    (void)close(*fd);
    *fd = -1;
    return fault;
  }
  *size = (uint64_t)st.st_size;
  return NULL;
}

bool sm_cache_file_read(int fd, uint64_t offset, void *buf, size_t n) {
  for (size_t done = 0; done < n;) {
    ssize_t got = pread(fd, (char *)buf + done, n - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

/* --- Writing --------------------------------------------------------------------------- */

static int create_temporary(int folder, char name[MAX_NAME]) {
  for (int i = 0; i < TEMPORARY_NAMES; i++) {
    (void)snprintf(name, MAX_NAME, SM_CACHE_TEMPORARY "%ld-%d", (long)getpid(), i);
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

static bool write_piece(int fd, struct iovec piece) {
  for (size_t done = 0; done < piece.iov_len;) {
    ssize_t put = write(fd, (const char *)piece.iov_base + done, piece.iov_len - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    done += (size_t)put;
  }
  return true;
}

bool sm_cache_file_write(int folder, const char *name, const struct iovec *pieces, size_t n) {
  uint64_t total = 0;
  for (size_t i = 0; i < n; i++) total += pieces[i].iov_len;
  if (!sm_file_size_allowed(total)) return false;
  char temporary[MAX_NAME];
  int fd = create_temporary(folder, temporary);
  if (fd < 0) return false;
  bool ok = true;
  for (size_t i = 0; i < n && ok; i++) ok = write_piece(fd, pieces[i]);
  ok = close(fd) == 0 && ok && renameat(folder, temporary, folder, name) == 0;
  if (!ok) (void)unlinkat(folder, temporary, 0);
  return ok;
}
