/* SPDX-License-Identifier: Apache-2.0
 *
 * Files: reading a regular file piece by piece, writing a whole one at once.
 *
 * Messages here do not name the file; the public functions put its path in
 * front of whatever went wrong. Interrupted and short transfers are continued. */
#ifndef SM_IO_FILE_H
#define SM_IO_FILE_H

#include <sys/uio.h>

#include "smelt/base.h"

typedef struct sm_file {
  int fd;
  size_t size; /* when it was opened */
} sm_file;

/* Opens a regular file for reading. ERR_IO for anything else, without waiting:
 * a folder, a device, a pipe (its size would not be known). */
smelt_status sm_file_open(sm_file *file, const char *path, smelt_error *err);
void sm_file_close(sm_file *file);

/* Reads `n` bytes from offset `at`. ERR_FORMAT if the file ends before, ERR_IO. */
smelt_status sm_file_read(const sm_file *file, size_t at, void *buf, size_t n, smelt_error *err);

/* Writes the pieces, one after the other, as the whole content of the file
 * `path`. A new or regular file (also behind symbolic links) appears whole or
 * not at all: the data goes to a temporary file in the same folder, with the
 * permissions the umask gives, which then takes the name. After a failure the
 * temporary file is gone and an old file is as before. A device or pipe is
 * written directly. ERR_IO, ERR_MEMORY. */
smelt_status sm_file_write(const char *path, const struct iovec *pieces, size_t n, smelt_error *err);

#endif
