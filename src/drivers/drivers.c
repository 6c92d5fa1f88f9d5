/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/drivers.h"

const sm_driver *const sm_drivers[] = {&sm_driver_cpu, &sm_driver_cuda, &sm_driver_opencl,
                                       &sm_driver_ref, &sm_driver_null, NULL};
