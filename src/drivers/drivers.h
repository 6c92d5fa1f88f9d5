/* SPDX-License-Identifier: Apache-2.0
 *
 * The drivers of this build, in the order in which they are listed.
 *
 * `cpu` runs kernel IR on host memory. `cuda` runs it on NVIDIA's devices,
 * `opencl` on any device that OpenCL has, if there is one. `null` takes any device profile, compiles nothing
 * and records launches, so that plans and kernels of every target can be looked at on any machine; its
 * tensors read as zeros. `ref` runs operation records by naive loops, without plan, trace or kernel IR: it is
 * the judge that shares none of their code. */
#ifndef SM_DRIVERS_DRIVERS_H
#define SM_DRIVERS_DRIVERS_H

#include "ir/op.h"
#include "rt/device.h"

extern const sm_driver sm_driver_cpu;
extern const sm_driver sm_driver_cuda;
extern const sm_driver sm_driver_null;
extern const sm_driver sm_driver_opencl;
extern const sm_driver sm_driver_ref;

/* NULL-terminated. */
extern const sm_driver *const sm_drivers[];

/* What `null` takes after its colon; ends with an entry without a name. */
extern const sm_profile sm_null_profiles[];

/* Runs one record of a segment on `ref`: `buffers` has one entry a value, those
 * of the operands are there, the result's is created. */
smelt_status sm_ref_run_op(sm_device *device, const sm_segment *segment, const sm_op *op, sm_buffer **buffers,
                           smelt_error *err);

#endif
