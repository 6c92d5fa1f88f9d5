/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"

/* Names tried for a temporary file; each is taken only if another save of this
 * process is under way or a killed process left it. */
enum { TEMPORARY_NAMES = 1000 };

/* "cannot open: No such file or directory". */
static smelt_status system_error(smelt_error *err, const char *what, int cause) {
  char text[128];
  if (strerror_r(cause, text, sizeof text) != 0) (void)snprintf(text, sizeof text, "error %d", cause);
  return sm_error_set(err, SMELT_ERR_IO, "%s: %s", what, text);
}

static int open_retrying(const char *path, int flags) {
  int fd;
  do fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0666);
  while (fd < 0 && errno == EINTR);
  return fd;
}

/* --- Reading ------------------------------------------------------------------- */

static smelt_status check_regular(const sm_file *file, struct stat *st, smelt_error *err) {
  if (fstat(file->fd, st) != 0) return system_error(err, "cannot ask for the size", errno);
  if (S_ISREG(st->st_mode)) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_IO, "cannot read: it is %s, not a regular file",
                      S_ISDIR(st->st_mode) ? "a directory" : "a device or pipe");
}

smelt_status sm_file_open(sm_file *file, const char *path, smelt_error *err) {
  /* Without O_NONBLOCK a pipe that nobody writes to would wait here. */
  *file = (sm_file){.fd = open_retrying(path, O_RDONLY | O_NONBLOCK)};
  if (file->fd < 0) return system_error(err, "cannot open", errno);
  struct stat st;
  smelt_status status = check_regular(file, &st, err);
  if (status == SMELT_OK) file->size = (size_t)st.st_size;
  else sm_file_close(file);
  return status;
}

/* Nothing was written, so that an error of close has nothing to say. */
void sm_file_close(sm_file *file) { (void)close(file->fd); }

smelt_status sm_file_read(const sm_file *file, size_t at, void *buf, size_t n, smelt_error *err) {
  for (size_t done = 0; done < n;) {
    ssize_t got = pread(file->fd, (char *)buf + done, n - done, (off_t)(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(err, "cannot read", errno);
    if (got == 0) return sm_error_set(err, SMELT_ERR_FORMAT, "truncated at offset %zu", at + done);
    done += (size_t)got;
  }
  return SMELT_OK;
}

/* --- Writing ------------------------------------------------------------------- */

static smelt_status write_piece(int fd, struct iovec piece, smelt_error *err) {
  for (size_t done = 0; done < piece.iov_len;) {
    ssize_t put = write(fd, (const char *)piece.iov_base + done, piece.iov_len - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return system_error(err, "cannot write", errno);
    done += (size_t)put;
  }
  return SMELT_OK;
}

/* Writes everything and closes, which may be where a file system first tells
 * that the data did not arrive. */
static smelt_status write_and_close(int fd, const struct iovec *pieces, size_t n, smelt_error *err) {
  smelt_status status = SMELT_OK;
  for (size_t i = 0; i < n && status == SMELT_OK; i++) status = write_piece(fd, pieces[i], err);
  if (close(fd) != 0 && status == SMELT_OK) status = system_error(err, "cannot write", errno);
  return status;
}

static smelt_status write_directly(const char *path, const struct iovec *pieces, size_t n, smelt_error *err) {
  int fd = open_retrying(path, O_WRONLY);
  if (fd < 0) return system_error(err, "cannot open for writing", errno);
  return write_and_close(fd, pieces, n, err);
}

/* Creates a file beside `path`; its name does not depend on the target's, which
 * may already be as long as names can be. */
static smelt_status create_beside(const char *path, sm_text *name, int *fd, smelt_error *err) {
  const char *slash = strrchr(path, '/');
  size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
  for (int i = 0; i < TEMPORARY_NAMES; i++) {
    sm_text_clear(name);
    sm_text_add_n(name, path, folder);
    sm_text_addf(name, ".smelt-%ld-%d.tmp", (long)getpid(), i);
    if (name->failed) return sm_error_memory(err, "name of a temporary file");
    *fd = open_retrying(name->data, O_WRONLY | O_CREAT | O_EXCL);
    if (*fd >= 0) return SMELT_OK;
    if (errno != EEXIST) break;
  }
  return system_error(err, "cannot create a file in its folder", errno);
}

/* A file that is replaced keeps its permissions; nothing is written before, so that
 * what only its owner could read is never open to others. A file system without
 * permissions has none to keep. */
static void keep_permissions(int fd, const char *path) {
  struct stat st;
  if (stat(path, &st) == 0) (void)fchmod(fd, st.st_mode & 0777);
}

static smelt_status write_beside(const char *path, sm_text *name, const struct iovec *pieces, size_t n,
                                 smelt_error *err) {
  int fd = -1;
  SM_TRY(create_beside(path, name, &fd, err));
  keep_permissions(fd, path);
  smelt_status status = write_and_close(fd, pieces, n, err);
  if (status == SMELT_OK && rename(name->data, path) != 0) {
    status = system_error(err, "cannot give the file its name", errno);
  }
  if (status != SMELT_OK) (void)unlink(name->data);
  return status;
}

/* The path without symbolic links, so that a link keeps pointing to its file
 * when that is replaced; `path` itself if nothing is there yet. */
static smelt_status resolve_links(const char *path, char resolved[PATH_MAX], const char **out,
                                  smelt_error *err) {
  struct stat st;
  *out = realpath(path, resolved);
  if (*out) return SMELT_OK;
  int cause = errno;
  if (cause != ENOENT || lstat(path, &st) == 0) return system_error(err, "cannot write", cause);
  *out = path;
  return SMELT_OK;
}

smelt_status sm_file_write(const char *path, const struct iovec *pieces, size_t n, smelt_error *err) {
  struct stat st;
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) return write_directly(path, pieces, n, err);
  char resolved[PATH_MAX];
  const char *target;
  SM_TRY(resolve_links(path, resolved, &target, err));
  sm_text name;
  sm_text_init(&name, &sm_malloc_allocator);
  smelt_status status = write_beside(target, &name, pieces, n, err);
  sm_text_free(&name);
  return status;
}
