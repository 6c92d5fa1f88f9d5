/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/ir_kernel.h"

#include "base/error.h"
#include "rt/padded_tail.h"

smelt_status sm_ir_kernel_compile(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err) {
  *out = sm_alloc(device->allocator, sizeof **out);
  if (!*out) return sm_error_memory(err, "a kernel");
  **out = (sm_kernel){.ir = *ir};
  return SMELT_OK;
}

void sm_ir_kernel_release(sm_device *device, sm_kernel *kernel) {
  sm_kir_free(&kernel->ir);
  sm_free(device->allocator, kernel, sizeof *kernel);
}

bool sm_ir_kernel_from_cache(const sm_kernel *kernel) { return kernel->from_cache; }

typedef struct evaluation {
  const sm_kir_kernel *ir;
  const sm_launch *launch;
} evaluation;

static smelt_status evaluate(void *user, const sm_kir_span *buffers, int64_t begin, int64_t end,
                             smelt_error *err) {
  const evaluation *e = user;
  sm_kir_call call = {.buffers = buffers,
                      .sizes = e->launch->sizes,
                      .scalars = e->launch->scalars,
                      .n_table = (int64_t)e->launch->n_table,
                      .begin = begin,
                      .end = end};
  return sm_kir_eval(e->ir, &call, err);
}

static smelt_status evaluate_single(sm_device *device, const sm_kir_kernel *ir, const sm_launch *launch,
                                    smelt_error *err) {
  evaluation e = {ir, launch};
  int64_t items = launch->work_items, grain = launch->grain;
  for (int64_t begin = 0; ir->threads && begin < items; begin += grain) /* group by group */
    SM_TRY(evaluate(&e, launch->buffers, begin, items - begin < grain ? items : begin + grain, err));
  if (ir->threads) return SMELT_OK;
  int64_t end = launch->padded ? sm_launch_whole(launch) : launch->work_items;
  SM_TRY(evaluate(&e, launch->buffers, 0, end, err));
  return launch->padded ? sm_run_padded_tail(device, ir, launch, evaluate, &e, err) : SMELT_OK;
}

smelt_status sm_ir_kernel_evaluate(sm_device *device, sm_kernel *kernel, const sm_launch *launch,
                                   smelt_error *err) {
  for (size_t run = 0; run <= launch->repeats; run++) {
    sm_launch single = sm_launch_single(launch, run);
    SM_TRY(evaluate_single(device, &kernel->ir, &single, err));
  }
  return launch->next ? sm_ir_kernel_evaluate(device, launch->next_kernel, launch->next, err) : SMELT_OK;
}
