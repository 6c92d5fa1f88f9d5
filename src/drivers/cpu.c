/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU driver. A compiled kernel is its IR; a launch evaluates it. */
#include "base/error.h"
#include "drivers/drivers.h"
#include "drivers/ir_kernel.h"
#include "rt/host_memory.h"

/* Vectors of the evaluator are only a way to run several elements per step. */
static const sm_profile profile = {
    .name = "cpu-evaluator",
    .vector_bytes = 64,
    .widths = {16, 8, 4, 2, 1},
    .max_bindings = 128,
    .chunked = true,
};

static smelt_status open_cpu(sm_device *device, const char *argument, smelt_error *err) {
  if (argument) {
    return sm_error_set(err, SMELT_ERR_DEVICE, "device cpu takes no argument, not \"%.60s\"", argument);
  }
  device->profile = &profile;
  return SMELT_OK;
}

static void close_cpu(sm_device *device) { (void)device; }

const sm_driver sm_driver_cpu = {
    .name = "cpu",
    .detail = "evaluator",
    .runs_kernels = true,
    .open = open_cpu,
    .close = close_cpu,
    .alloc = sm_host_alloc,
    .free = sm_host_free,
    .upload = sm_host_copy,
    .download = sm_host_copy,
    .compile = sm_ir_kernel_compile,
    .release = sm_ir_kernel_release,
    .launch = sm_ir_kernel_evaluate,
};
