/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of a .npy file, rearranged in memory: byte order and axis order.
 * Elements are opaque; `size` is 1, 2, 4 or 8 bytes. */
#ifndef SM_IO_NPY_LAYOUT_H
#define SM_IO_NPY_LAYOUT_H

#include "core/shape.h"

/* Reverses the bytes of `n` elements in place. */
void sm_npy_swap_bytes(void *data, size_t n, size_t size);

/* Copies from Fortran order (the first axis varies fastest) to C order (the
 * last one does). The arrays must not overlap. */
void sm_npy_to_c_order(void *out, const void *in, const sm_shape *shape, size_t size);

#endif
