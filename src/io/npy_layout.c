/* SPDX-License-Identifier: Apache-2.0 */
#include "io/npy_layout.h"

/* Edge of the squares in which two axes are exchanged: both sides of a square
 * of 8-byte elements fit in the first-level cache. */
enum { TILE = 32 };

/* A step through both arrays, in elements. */
typedef struct axis {
  int64_t extent;
  int64_t in;
  int64_t out;
} axis;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static uint8_t reversed8(uint8_t v) { return v; }
static uint16_t reversed16(uint16_t v) { return __builtin_bswap16(v); }
static uint32_t reversed32(uint32_t v) { return __builtin_bswap32(v); }
static uint64_t reversed64(uint64_t v) { return __builtin_bswap64(v); }

/* The loops for one size of element. */
#define LOOPS(bits)                                                                                \
  static void swap##bits(uint##bits##_t *data, size_t n) {                                         \
    for (size_t i = 0; i < n; i++) data[i] = reversed##bits(data[i]);                              \
  }                                                                                                \
  static void copy_tile##bits(uint##bits##_t *out, const uint##bits##_t *in, axis a, axis b) {     \
    for (int64_t i = 0; i < a.extent; i++) {                                                       \
      for (int64_t j = 0; j < b.extent; j++) out[i * a.out + j * b.out] = in[i * a.in + j * b.in]; \
    }                                                                                              \
  }
LOOPS(8)
LOOPS(16)
LOOPS(32)
LOOPS(64)

void sm_npy_swap_bytes(void *data, size_t n, size_t size) {
  switch (size) {
    case 1:
      swap8(data, n);
      break;
    case 2:
      swap16(data, n);
      break;
    case 4:
      swap32(data, n);
      break;
    case 8:
      swap64(data, n);
      break;
  }
}

static void copy_tile(char *out, const char *in, axis a, axis b, size_t size) {
  switch (size) {
    case 1:
      copy_tile8((void *)out, (const void *)in, a, b);
      break;
    case 2:
      copy_tile16((void *)out, (const void *)in, a, b);
      break;
    case 4:
      copy_tile32((void *)out, (const void *)in, a, b);
      break;
    case 8:
      copy_tile64((void *)out, (const void *)in, a, b);
      break;
  }
}

/* Exchanges axes a and b tile by tile: one is dense in `in`, the other in `out`. */
static void copy_plane(char *out, const char *in, axis a, axis b, size_t size) {
  int64_t bytes = (int64_t)size;
  for (int64_t i = 0; i < a.extent; i += TILE) {
    for (int64_t j = 0; j < b.extent; j += TILE) {
      axis p = {smaller(TILE, a.extent - i), a.in, a.out};
      axis q = {smaller(TILE, b.extent - j), b.in, b.out};
      copy_tile(out + (i * a.out + j * b.out) * bytes, in + (i * a.in + j * b.in) * bytes, p, q, size);
    }
  }
}

static void find_strides(axis *axes, const sm_shape *shape) {
  int64_t in = 1, out = 1;
  for (int i = 0; i < shape->rank; i++) {
    axes[i] = (axis){.extent = shape->dims[i], .in = in};
    in *= shape->dims[i];
  }
  for (int i = shape->rank - 1; i >= 0; i--) {
    axes[i].out = out;
    out *= shape->dims[i];
  }
}

/* Visits every position of the axes from `i` to before the last one; the first
 * and the last make planes. */
static void copy_planes(char *out, const char *in, const axis *axes, int i, int last, size_t size) {
  if (i >= last) {
    copy_plane(out, in, axes[0], axes[last], size);
    return;
  }
  for (int64_t k = 0; k < axes[i].extent; k++) {
    copy_planes(out + k * axes[i].out * (int64_t)size, in + k * axes[i].in * (int64_t)size, axes, i + 1, last,
                size);
  }
}

void sm_npy_to_c_order(void *out, const void *in, const sm_shape *shape, size_t size) {
  if (sm_shape_count(shape) == 0) return;
  axis axes[SMELT_MAX_RANK];
  sm_shape s = *shape;
  /* A plane needs two axes: extents of 1 stand in. */
  while (s.rank < 2) s.dims[s.rank++] = 1;
  find_strides(axes, &s);
  copy_planes(out, in, axes, 1, s.rank - 1, size);
}
