/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of a .npy file before the data: parsed and printed in memory.
 *
 * Layout. 6 bytes magic, 2 bytes version (1.0, 2.0 or 3.0), the length of the
 * header (little endian, 2 bytes in 1.0, otherwise 4): together the *prefix*.
 * Then the *header*, the text of a Python dict with exactly the keys 'descr' (an
 * element type such as '<f4'), 'fortran_order' (True or False) and 'shape' (a
 * tuple of integers), followed by white space. Then the data.
 *
 * Accepted is what NumPy writes and any other white space, quotes and order of
 * keys, a final comma, and integers with the L that Python 2 wrote. Everything
 * else is refused with the file offset or the key in the message. The functions
 * look at nothing but the bytes they are given, allocate nothing, and are safe
 * for any bytes. */
#ifndef SM_IO_NPY_HEADER_H
#define SM_IO_NPY_HEADER_H

#include "core/shape.h"

enum {
  /* The longest prefix. */
  SM_NPY_PREFIX = 12,
  /* The longest header accepted. Headers of dtypes that Smelt holds are far
   * shorter; the limit keeps a damaged length from costing memory. */
  SM_NPY_MAX_HEADER = 1 << 20,
};

typedef struct sm_npy_prefix {
  size_t header_at;  /* where the header starts in the file: 10 or 12 */
  size_t header_len; /* its length, at most SM_NPY_MAX_HEADER */
} sm_npy_prefix;

typedef struct sm_npy_header {
  smelt_dtype dtype;
  bool big_endian;
  bool fortran; /* the first axis varies fastest */
  sm_shape shape;
} sm_npy_header;

/* Reads the prefix from the first `n` bytes of a file (SM_NPY_PREFIX or the
 * whole file). ERR_FORMAT. */
smelt_status sm_npy_prefix_parse(const unsigned char *bytes, size_t n, sm_npy_prefix *out, smelt_error *err);

/* Reads a header of `n` characters that starts at offset `at` of the file.
 * ERR_FORMAT; ERR_DTYPE if Smelt has no such dtype; ERR_SHAPE beyond
 * SMELT_MAX_RANK or the largest tensor. */
smelt_status sm_npy_header_parse(const char *text, size_t n, size_t at, sm_npy_header *out, smelt_error *err);

/* Adds prefix and header of format 1.0, C order, this machine's endianness, byte
 * for byte as NumPy writes them (with room for the first extent to grow). */
void sm_npy_header_print(sm_text *text, smelt_dtype dtype, const sm_shape *shape);

#endif
