/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory functions for drivers whose tensors lie in host memory: the entries
 * alloc, free, upload and download of their tables. */
#ifndef SM_RT_HOST_MEMORY_H
#define SM_RT_HOST_MEMORY_H

#include "rt/device.h"

void *sm_host_alloc(sm_device *device, size_t bytes);
void sm_host_free(sm_device *device, void *data, size_t bytes);
/* Upload and download alike. */
smelt_status sm_host_copy(sm_device *device, void *to, const void *from, size_t bytes, smelt_error *err);

#endif
