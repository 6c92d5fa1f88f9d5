/* SPDX-License-Identifier: Apache-2.0
 *
 * What the OpenCL driver makes of kernel IR. */
#ifndef SM_DRIVERS_OPENCL_KERNEL_H
#define SM_DRIVERS_OPENCL_KERNEL_H

#include "drivers/ir_kernel.h"
#include "drivers/opencl_state.h"

typedef struct sm_opencl_kernel {
  struct sm_kernel base;
  cl_program program;
  cl_kernel kernel;
  bool by_value, has_table; /* how arguments are passed: codegen/c_family.h */
} sm_opencl_kernel;

#endif
