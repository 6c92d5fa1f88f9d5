/* SPDX-License-Identifier: Apache-2.0
 *
 * The null driver: every profile, no machine. Kernels are kept as IR and never
 * run; what a kernel writes reads as zeros. They are written as text where the profile
 * has a dialect: what a device cannot express fails here too. */
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
    {.name = "cpu-avx512", .vector_bytes = 64, .max_bindings = 128, .chunked = true},
    {.name = "cpu-avx2", .vector_bytes = 32, .max_bindings = 128, .chunked = true},
    {.name = "cpu-neon", .vector_bytes = 16, .max_bindings = 128, .chunked = true},
    {.name = "metal", .vector_bytes = 16, .max_bindings = 28, .plane = 64, .shuffle = 32, .max_group = 256, .shared_bytes = 32 * 1024, .dialect = &sm_dialect_msl},
    {.name = "cuda-sm90", .vector_bytes = 16, .max_bindings = 128, .plane = 32, .shuffle = 32, .max_group = 256, .shared_bytes = 227 * 1024, .dialect = &sm_dialect_cuda},
    {.name = "hip-gfx942", .vector_bytes = 16, .max_bindings = 128, .plane = 64, .shuffle = 64, .max_group = 256, .shared_bytes = 64 * 1024, .dialect = &sm_dialect_hip},
    {.name = "opencl12", .vector_bytes = 16, .max_bindings = 64, .plane = 32, .max_group = 256, .shared_bytes = 32 * 1024, .dialect = &sm_dialect_opencl},
    {.name = "c", .vector_bytes = 16, .max_bindings = 128, .chunked = true, .dialect = &sm_dialect_c},
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
  return sm_error_set(err, SMELT_ERR_DEVICE,
                      "no profile \"%.60s\"; there are cpu-avx512, cpu-avx2, cpu-neon, metal, cuda-sm90, "
                      "hip-gfx942, opencl12, c",
                      argument);
}

static void close_null(sm_device *device) { (void)device; }

static void *alloc_zeroed(sm_device *device, size_t bytes) {
  void *data = sm_host_alloc(device, bytes);
  if (data) memset(data, 0, bytes);
  return data;
}

static smelt_status compile(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err) {
  const sm_profile *profile = device->profile;
  sm_text text;
  sm_text_init(&text, device->allocator);
  sm_text_form form = {.group = profile->max_group};
  smelt_status status =
      profile->dialect ? sm_c_family_text(ir, profile->dialect, form, &text, err) : SMELT_OK;
  if (status == SMELT_OK && text.len && sm_log_on(device->log, SM_LOG_SOURCE))
    sm_log_text(device->log, &text);
  else sm_text_free(&text);
  return status == SMELT_OK ? sm_ir_kernel_compile(device, ir, out, err) : status;
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
    .upload = sm_host_upload,
    .download = sm_host_download,
    .compile = compile,
    .release = sm_ir_kernel_release,
    .launch = launch,
};
