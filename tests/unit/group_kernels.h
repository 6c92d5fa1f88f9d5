/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel for groups of threads: each adds up a chunk of its own, each thread every fourth
 * element, then half of the threads what the others have, until there is one. */
#ifndef TESTS_GROUP_KERNELS_H
#define TESTS_GROUP_KERNELS_H

#include <stdio.h>
#include <string.h>

#include "drivers/drivers.h"
#include "kir/kir.h"

#include "harness.h"

enum { THREADS = 4, CHUNK = 24, GROUPS = 3, NONE = SM_KIR_NONE };

static inline int32_t op(sm_kir_kernel *k, sm_kop kop, int32_t a, int32_t b) {
  return sm_kir_kop(k, kop, a, b, NONE, SMELT_DTYPE_NONE);
}

static inline sm_kir_kernel start(void) {
  sm_kir_kernel k;
  sm_kir_init(&k, &sm_malloc_allocator);
  (void)snprintf(k.name, sizeof k.name, "group_sum");
  k.threads = THREADS;
  sm_kir_add_buffer(&k, SMELT_F32, false);
  sm_kir_add_buffer(&k, SMELT_F32, true);
  return k;
}

/* shared[member] += shared[member + half], by those below `half`. */
static inline void add_half(sm_kir_kernel *k, int shared, int32_t member, int64_t half) {
  int32_t zero = sm_kir_i64(k, 0), below = op(k, SM_KOP_LT, member, sm_kir_i64(k, half));
  sm_kir_barrier(k);
  sm_kir_for(k, zero, sm_kir_kop(k, SM_KOP_CAST, below, NONE, NONE, SMELT_I64), 1);
  int32_t other = sm_kir_load(k, shared, op(k, SM_KOP_ADD, member, sm_kir_i64(k, half)), NONE, 1);
  int32_t sum = op(k, SM_KOP_ADD, sm_kir_load(k, shared, member, NONE, 1), other);
  sm_kir_store(k, shared, member, NONE, sum);
  sm_kir_end(k);
}

static inline sm_kir_kernel build_sum(void) {
  sm_kir_kernel k = start();
  int shared = sm_kir_add_shared(&k, SMELT_F32, THREADS);
  int32_t begin = sm_kir_chunk_begin(&k), end = sm_kir_chunk_end(&k), member = sm_kir_member(&k);
  int32_t zero = sm_kir_const(&k, SMELT_F32, (sm_word){.F32 = 0}), first = op(&k, SM_KOP_ADD, begin, member);
  sm_kir_for(&k, first, end, THREADS);
  int32_t sum = sm_kir_carry(&k, zero), at = sum - 1;
  sm_kir_next(&k, sum, op(&k, SM_KOP_ADD, sum, sm_kir_load(&k, 0, at, NONE, 1)));
  sm_kir_end(&k);
  sm_kir_store(&k, shared, member, NONE, sm_kir_result(&k, sum));
  for (int64_t half = THREADS / 2; half; half /= 2) add_half(&k, shared, member, half);
  sm_kir_barrier(&k);
  int32_t group = op(&k, SM_KOP_TRUNC_DIV, begin, sm_kir_i64(&k, CHUNK));
  sm_kir_store(&k, 1, group, NONE, sm_kir_load(&k, shared, sm_kir_i64(&k, 0), NONE, 1));
  return k;
}

/* The sums of all groups, by a driver. */
static inline void run_on_device(sm_device *device, const float *in, float *out) {
  const size_t in_bytes = sizeof *in * GROUPS * CHUNK, out_bytes = sizeof *out * GROUPS;
  smelt_error err = {0};
  sm_kir_kernel ir = build_sum();
  sm_kernel *kernel;
  CHECK_OK(device->driver->compile(device, &ir, &kernel, &err), err);
  sm_kir_span spans[] = {{device->driver->alloc(device, in_bytes), in_bytes},
                         {device->driver->alloc(device, out_bytes), out_bytes}};
  sm_launch launch = {.buffers = spans, .n_buffers = 2, .work_items = GROUPS * CHUNK, .grain = CHUNK};
  CHECK_OK(device->driver->upload(device, spans[0].data, 0, in, in_bytes, &err), err);
  CHECK_OK(device->driver->launch(device, kernel, &launch, &err), err);
  CHECK_OK(device->driver->download(device, spans[1].data, 0, out, out_bytes, &err), err);
  for (int i = 0; i < 2; i++) device->driver->free(device, spans[i].data, spans[i].bytes);
  device->driver->release(device, kernel);
}

/* Skipped where there is no such device. */
static inline void try_groups_on(const char *name) {
  static const sm_log no_log = {.enabled = 0};
  float in[GROUPS * CHUNK], out[GROUPS];
  smelt_error err = {0};
  sm_device device;
  smelt_status status = sm_device_open(&device, name, sm_drivers, &sm_malloc_allocator, &no_log, &err);
  if (status == SMELT_ERR_DEVICE) TEST_SKIP(err.text);
  CHECK_OK(status, err);
  for (int i = 0; i < GROUPS * CHUNK; i++) in[i] = (float)i;
  run_on_device(&device, in, out);
  for (int g = 0; g < GROUPS; g++) CHECK_I64(out[g], CHUNK * CHUNK * g + CHUNK * (CHUNK - 1) / 2);
  sm_device_close(&device);
}

#endif
