/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder on disk where this user's results are kept: where it is, whether
 * it may be trusted, reading and writing files in it.
 *
 * Trust. What is read from here is executed, so the folder must be ours (the
 * effective user's) and not writable by anybody else. It is checked once, on the
 * open descriptor; every file is then reached from that descriptor without
 * following links, and must itself be a regular file that is ours and only ours
 * to write. With elevated privileges nothing is read or written.
 *
 * Files appear whole or not at all: they are written under a temporary name and
 * renamed. Nothing is synced to the disk; who reads a file verifies what is in
 * it. Any number of processes may use the folder at once. */
#ifndef SM_RT_CACHE_FOLDER_H
#define SM_RT_CACHE_FOLDER_H

#include <sys/uio.h>

#include "base/error.h"
#include "base/text.h"

/* How names of temporary files begin. */
#define SM_CACHE_TEMPORARY "tmp-"

/* Adds the folder's path: SMELT_CACHE_DIR, XDG_CACHE_HOME/smelt or
 * HOME/.cache/smelt. ERR_UNSUPPORTED with the reason if there is to be none,
 * ERR_ARGUMENT if SMELT_CACHE is not 0 or 1, ERR_MEMORY. */
smelt_status sm_cache_folder_find(sm_text *path, smelt_error *err);

/* Opens a folder that can be trusted; one that is missing is created with mode
 * 0700 if `create` says so. The descriptor is closed by close(). ERR_IO. */
smelt_status sm_cache_folder_open(const char *path, bool create, int *folder, smelt_error *err);

/* Opens a file for reading and answers NULL; *fd is -1 if there is none.
 * Otherwise the answer says what is wrong with it: "is a symbolic link". */
const char *sm_cache_file_open(int folder, const char *name, int *fd, uint64_t *size);
/* Reads `n` bytes from `offset`; false if that fails or the file ends before. */
bool sm_cache_file_read(int fd, uint64_t offset, void *buf, size_t n);

/* Writes the pieces as the whole content of a file, which may exist. False,
 * with nothing left behind, if that is not possible. */
bool sm_cache_file_write(int folder, const char *name, const struct iovec *pieces, size_t n);

#endif
