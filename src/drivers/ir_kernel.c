/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/ir_kernel.h"

#include "base/error.h"

smelt_status sm_ir_kernel_compile(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err) {
  *out = sm_alloc(device->allocator, sizeof **out);
  if (!*out) return sm_error_memory(err, "a kernel");
  (*out)->ir = *ir;
  return SMELT_OK;
}

void sm_ir_kernel_release(sm_device *device, sm_kernel *kernel) {
  sm_kir_free(&kernel->ir);
  sm_free(device->allocator, kernel, sizeof *kernel);
}
