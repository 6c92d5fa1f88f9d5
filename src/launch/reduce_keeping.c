/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/reduce_keeping.h"

#include "base/arena.h"

enum {
  MEMORY_COST = 8,          /* of a store and a load */
  MOST_COST = 1 << 20,      /* costs are not told apart beyond */
  SCRATCH_BYTES = 32 * 1024 /* of all rows, which lie on the thread's stack */
};

typedef struct finder {
  const sm_trace *trace;
  const sm_block *block;
  const sm_reduce_form *form;
  sm_reduce_keeping *keeping;
  int *cost;    /* by step: of working it out from inputs */
  bool *needed; /* by step, in the pass */
  int bytes;    /* of scratch memory that are left */
} finder;

static int own_cost(const sm_step *step) {
  return step->kind == SM_STEP_COMPUTE ? sm_kop_info_of(step->kop)->cost : 0;
}

static void find_costs(finder *f) {
  for (size_t i = 0; i < f->block->steps.len; i++) {
    const sm_step *step = &f->block->steps.items[i];
    int cost = own_cost(step);
    for (int k = 0; k < 3; k++) cost += step->args[k] == SM_NO_LOCAL ? 0 : f->cost[step->args[k]];
    f->cost[i] = cost < MOST_COST ? cost : MOST_COST;
  }
}

static void need_roots(finder *f, int pass) {
  for (size_t t = 0; t < f->trace->tasks.len; t++) {
    const sm_trace_task *task = &f->trace->tasks.items[t];
    if (task->pass == pass) f->needed[task->local] = true;
  }
  for (size_t i = 0; i < f->block->steps.len && pass == f->form->passes - 1; i++) {
    const sm_step *step = &f->block->steps.items[i];
    if (step->kind == SM_STEP_WRITE) f->needed[step->args[0]] = true;
  }
}

/* Whether step `i` is there from an earlier pass, if it is kept from now on. */
static bool keep(finder *f, size_t i, int pass) {
  int bytes = f->form->keep * (int)smelt_dtype_size(f->block->steps.items[i].dtype);
  if (f->keeping->first_pass[i] < 0 || f->keeping->first_pass[i] == pass) return false;
  if (f->keeping->kept[i]) return true;
  if (f->form->keep == 0 || f->cost[i] <= MEMORY_COST || bytes > f->bytes) return false;
  f->bytes -= bytes;
  f->keeping->kept[i] = true;
  return true;
}

/* What the pass computes; the answer is its cost. */
static int64_t find_pass(finder *f, int pass) {
  int64_t cost = 0;
  need_roots(f, pass);
  for (size_t i = f->block->steps.len; i-- > 0;) {
    if (!f->needed[i]) continue;
    f->needed[i] = false;
    if (keep(f, i, pass)) continue;
    cost += own_cost(&f->block->steps.items[i]);
    if (f->keeping->first_pass[i] < 0) f->keeping->first_pass[i] = pass;
    for (int k = 0; k < 3; k++) {
      int32_t arg = f->block->steps.items[i].args[k];
      if (arg != SM_NO_LOCAL) f->needed[arg] = true;
    }
  }
  return cost;
}

static void find_passes(finder *f) {
  f->keeping->slow_pass = -1;
  for (int pass = 0; pass < f->form->passes; pass++) {
    bool slow = find_pass(f, pass) > MEMORY_COST;
    if (slow && f->keeping->slow_pass < 0) f->keeping->slow_pass = pass;
  }
  if (f->keeping->slow_pass < 0) f->keeping->slow_pass = f->form->passes - 1;
}

bool sm_reduce_find_kept(const sm_trace *trace, const sm_reduce_form *form, sm_arena *arena,
                         sm_reduce_keeping *out) {
  const sm_block *block = &trace->blocks.items[0];
  size_t n = block->steps.len;
  finder f = {.trace = trace, .block = block, .form = form, .keeping = out, .bytes = SCRATCH_BYTES};
  out->kept = sm_arena_zalloc(arena, n, sizeof *out->kept);
  out->first_pass = sm_arena_alloc(arena, n * sizeof *out->first_pass);
  f.cost = sm_arena_alloc(arena, n * sizeof *f.cost);
  f.needed = sm_arena_zalloc(arena, n, sizeof *f.needed);
  if (!out->kept || !out->first_pass || !f.cost || !f.needed) return false;
  for (size_t i = 0; i < n; i++) out->first_pass[i] = -1;
  find_costs(&f);
  find_passes(&f);
  return true;
}
