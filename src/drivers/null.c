/* SPDX-License-Identifier: Apache-2.0
 *
 * The null driver: every profile, no machine. Kernels are kept as IR and never
 * run; what a kernel writes reads as zeros. */
#include <string.h>

#include "base/error.h"
#include "drivers/drivers.h"
#include "drivers/ir_kernel.h"
#include "rt/host_memory.h"

/* One list of profiles. Bindings count buffers and the metadata every kernel
 * has. Metal: the limit that wgpu leaves of the 31 buffers of a stage, and the largest
 * plane that its adapters report. */
/* A row a line. */
// clang-format off
const sm_profile sm_null_profiles[] = {
    {.name = "cpu-avx512", .vector_bytes = 64, .widths = {16, 8, 4, 2, 1}, .max_bindings = 128, .chunked = true},
    {.name = "cpu-avx2", .vector_bytes = 32, .widths = {8, 4, 2, 1}, .max_bindings = 128, .chunked = true},
    {.name = "cpu-neon", .vector_bytes = 16, .widths = {4, 2, 1}, .max_bindings = 128, .chunked = true},
    {.name = "metal", .vector_bytes = 16, .widths = {4, 2, 1}, .max_bindings = 28, .plane = 64, .max_group = 256},
    {.name = "cuda-sm90", .vector_bytes = 16, .widths = {4, 2, 1}, .max_bindings = 128, .plane = 32, .max_group = 256},
    {.name = "opencl12", .vector_bytes = 16, .widths = {4, 2, 1}, .max_bindings = 64, .plane = 32, .max_group = 256},
    {.name = NULL},
};
// clang-format on

static smelt_status open_null(sm_device *device, const char *argument, smelt_error *err) {
  for (int i = 0; sm_null_profiles[i].name; i++) {
    if (!argument || strcmp(sm_null_profiles[i].name, argument) == 0) {
      device->profile = &sm_null_profiles[i];
      return SMELT_OK;
    }
  }
  return sm_error_set(
      err, SMELT_ERR_DEVICE,
      "no profile \"%.60s\"; there are cpu-avx512, cpu-avx2, cpu-neon, metal, cuda-sm90, opencl12", argument);
}

static void close_null(sm_device *device) { (void)device; }

static void *alloc_zeroed(sm_device *device, size_t bytes) {
  void *data = sm_host_alloc(device, bytes);
  if (data) memset(data, 0, bytes);
  return data;
}

static smelt_status launch(sm_device *device, sm_kernel *kernel, const sm_launch *l, smelt_error *err) {
  (void)device, (void)kernel, (void)l, (void)err;
  return SMELT_OK;
}

const sm_driver sm_driver_null = {
    .name = "null",
    .runs_kernels = true,
    .host_memory = true,
    .open = open_null,
    .close = close_null,
    .alloc = alloc_zeroed,
    .free = sm_host_free,
    .upload = sm_host_copy,
    .download = sm_host_copy,
    .compile = sm_ir_kernel_compile,
    .release = sm_ir_kernel_release,
    .launch = launch,
};
