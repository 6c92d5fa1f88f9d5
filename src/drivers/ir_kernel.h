/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that stay kernel IR: for drivers that evaluate it or only keep it. */
#ifndef SM_DRIVERS_IR_KERNEL_H
#define SM_DRIVERS_IR_KERNEL_H

#include "rt/device.h"

struct sm_kernel {
  sm_kir_kernel ir;
  bool from_cache; /* its code, where a driver has some */
};

/* Entries `compile`, `release` and `from_cache` of a driver's table. */
smelt_status sm_ir_kernel_compile(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err);
void sm_ir_kernel_release(sm_device *device, sm_kernel *kernel);
bool sm_ir_kernel_from_cache(const sm_kernel *kernel);
/* An entry `launch`: evaluates the kernel on the calling thread. */
smelt_status sm_ir_kernel_evaluate(sm_device *device, sm_kernel *kernel, const sm_launch *launch,
                                   smelt_error *err);

#endif
