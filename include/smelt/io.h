/* SPDX-License-Identifier: Apache-2.0
 *
 * libsmelt-io: tensors from and to files. */
#ifndef SMELT_IO_H
#define SMELT_IO_H

#include "smelt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a NumPy .npy file (format 1.0 to 3.0; C or Fortran order; little or big
 * endian; bool, i1..i8, u1..u8, f4, f8). On success `*out` is a new tensor of
 * the caller's; otherwise it is NULL and nothing is left behind. ERR_IO,
 * ERR_FORMAT (truncated, malformed), ERR_DTYPE (object, complex, text),
 * ERR_SHAPE (more axes or bytes than a tensor can have), ERR_MEMORY,
 * ERR_ARGUMENT (NULL). The message names the file. Thread-safe. */
SMELT_API smelt_status smelt_npy_load(smelt_context *ctx, const char *path, smelt_tensor **out,
                                      smelt_error *err);

/* Computes `t` and writes it to `path` as .npy (format 1.0, C order, little
 * endian). The file appears whole or not at all: it is written beside `path`
 * under a temporary name and renamed; one that was there keeps its permissions.
 * Thread-safe. */
SMELT_API smelt_status smelt_npy_save(const smelt_tensor *t, const char *path, smelt_error *err);

#ifdef __cplusplus
}
#endif
#endif
