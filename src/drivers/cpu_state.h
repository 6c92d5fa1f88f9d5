/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU device: threads, memory, and where kernels' code comes from.
 *
 * A kernel is code, from the disk cache or from libLLVM, which is opened when
 * the first kernel has to be compiled. Where code cannot be had (no libLLVM, an
 * older processor, memory that may not become executable) it is interpreted: the
 * evaluator runs it with vectors of a whole tile. `refusal` says why, once, for people. */
#ifndef SM_DRIVERS_CPU_STATE_H
#define SM_DRIVERS_CPU_STATE_H

#include "base/thread.h"
#include "codegen/llvm_library.h"
#include "core/cpu_level.h"
#include "rt/code_cache.h"
#include "rt/host_memory.h"
#include "rt/object_loader.h"
#include "rt/pool.h"
#include "rt/profiler.h"

enum { SM_CPU_MAX_BINDINGS = 128 };

typedef struct sm_cpu_device {
  sm_cpu_level level;
  sm_profile profile;
  sm_pool *pool;
  sm_host_pool *memory;
  sm_code_cache cache;
  const sm_profiler *profiler;
  sm_text llvm_file; /* SMELT_LLVM */
  sm_mutex lock;     /* guards what follows */
  bool llvm_tried;
  sm_llvm llvm;        /* opened if handle is set */
  smelt_error refusal; /* why libLLVM is not there */
} sm_cpu_device;

/* The code of a kernel (cpu_code.c). ERR_UNSUPPORTED if it has to be
 * interpreted; ERR_MEMORY, ERR_COMPILE. `ir` stays the caller's. */
smelt_status sm_cpu_code(sm_device *device, const sm_kir_kernel *ir, sm_code *out, bool *from_cache,
                         smelt_error *err);

/* sm_driver.describe: processor level, threads, and what runs kernels. Opens libLLVM to
 * find out. */
void sm_cpu_describe(sm_device *device, sm_text *text);

#endif
