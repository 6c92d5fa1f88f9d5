/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/reduce_keeping.h"

#include "base/arena.h"

enum {
  MEMORY_COST = 8,     /* of a store and a load */
  APART_COST = 16,     /* of loading lanes that are apart */
  MOST_COST = 1 << 20, /* costs are not told apart beyond */
};

typedef struct finder {
  const sm_trace *trace;
  const sm_block *block;
  const sm_reduce_input *inputs;
  const sm_reduce_form *form;
  sm_reduce_keeping *keeping;
  int *cost;     /* by step: of working it out from inputs */
  bool *needed;  /* by step, in the pass */
  bool *kept;    /* by step */
  bool *refused; /* by step: there is no memory for it */
  int *last_pass;
  int *free; /* by row: the first pass that may keep something else there */
} finder;

static int own_cost(const finder *f, const sm_step *step) {
  if (step->kind == SM_STEP_COMPUTE) return sm_kop_info_of(step->kop)->cost;
  if (step->kind != SM_STEP_READ) return 0;
  int64_t stride = f->inputs[step->index].strides[f->form->columns ? SM_INNER : SM_REDUCED];
  return stride == 0 || stride == 1 ? 0 : APART_COST;
}

static void find_costs(finder *f) {
  for (size_t i = 0; i < f->block->steps.len; i++) {
    const sm_step *step = &f->block->steps.items[i];
    int cost = own_cost(f, step);
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

static bool is_worth_keeping(const finder *f, size_t i) {
  const sm_step *step = &f->block->steps.items[i];
  bool varies = step->kind == SM_STEP_READ || step->kind == SM_STEP_COMPUTE;
  return f->form->threads ? varies : f->cost[i] > MEMORY_COST;
}

/* Whether step `i` is there from an earlier pass, if it is kept from now on. */
static bool keep(finder *f, size_t i, int pass) {
  if (f->keeping->first_pass[i] < 0 || f->keeping->first_pass[i] == pass) return false;
  f->kept[i] = f->form->keep > 0 && !f->refused[i] && is_worth_keeping(f, i);
  return f->kept[i];
}

/* What the pass computes; the answer is its cost. */
static int64_t find_pass(finder *f, int pass) {
  int64_t cost = 0;
  need_roots(f, pass);
  for (size_t i = f->block->steps.len; i-- > 0;) {
    if (!f->needed[i]) continue;
    f->needed[i] = false;
    f->last_pass[i] = pass;
    if (keep(f, i, pass)) continue;
    cost += own_cost(f, &f->block->steps.items[i]);
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
  for (size_t i = 0; i < f->block->steps.len; i++) {
    f->keeping->first_pass[i] = f->last_pass[i] = -1;
    f->kept[i] = false;
  }
  for (int pass = 0; pass < f->form->passes; pass++) {
    bool slow = find_pass(f, pass) > MEMORY_COST;
    if (slow && f->keeping->slow_pass < 0) f->keeping->slow_pass = pass;
  }
  if (f->keeping->slow_pass < 0) f->keeping->slow_pass = f->form->passes - 1;
}

/* --- Rows ------------------------------------------------------------------------------------- */

static int row_bytes(const finder *f, smelt_dtype dtype) {
  return f->form->keep * (int)smelt_dtype_size(dtype);
}

/* One that is free in the value's first pass, else a new one. */
static int find_row(finder *f, size_t i) {
  sm_reduce_keeping *k = f->keeping;
  smelt_dtype dtype = f->block->steps.items[i].dtype;
  int row = 0;
  while (row < k->rows && (k->dtypes[row] != dtype || f->free[row] > k->first_pass[i])) row++;
  if (row == k->rows) k->dtypes[k->rows++] = dtype;
  f->free[row] = f->last_pass[i];
  return row;
}

/* In the order of their first passes. Whether there is memory for all. */
static bool assign_rows(finder *f) {
  int64_t bytes = 0;
  f->keeping->rows = 0;
  for (size_t i = 0; i < f->block->steps.len; i++) f->keeping->row[i] = SM_REDUCE_NO_ROW;
  for (int pass = 0; pass < f->form->passes; pass++) {
    for (size_t i = 0; i < f->block->steps.len; i++) {
      if (f->kept[i] && f->keeping->first_pass[i] == pass) f->keeping->row[i] = find_row(f, i);
    }
  }
  for (int row = 0; row < f->keeping->rows; row++) bytes += row_bytes(f, f->keeping->dtypes[row]);
  return bytes <= sm_reduce_kept_bytes(f->form);
}

/* The one that is worked out again with the least effort. */
static void refuse_one(finder *f) {
  size_t cheapest = 0;
  for (size_t i = 0; i < f->block->steps.len; i++) {
    if (f->kept[i] && (!f->kept[cheapest] || f->cost[i] < f->cost[cheapest])) cheapest = i;
  }
  f->refused[cheapest] = true;
}

/* Whether step `i` can be worked out in the order of memory, and nothing below it is kept for later
 * passes; counts the inputs that are apart otherwise. */
static bool can_stage(const finder *f, int32_t i, int *apart) {
  const sm_step *step = &f->block->steps.items[i];
  if (step->kind == SM_STEP_READ) {
    const int64_t *strides = f->inputs[step->index].strides;
    bool dense = strides[SM_INNER] == f->form->across && strides[SM_REDUCED] == 1;
    *apart += dense;
    return dense || (strides[SM_INNER] == 0 && strides[SM_REDUCED] == 0);
  }
  for (int k = 0; k < 3; k++) {
    int32_t arg = step->args[k];
    if (arg != SM_NO_LOCAL && (f->kept[arg] || !can_stage(f, arg, apart))) return false;
  }
  return true;
}

/* What the first pass reduces, if that is one value. */
static int32_t find_staged(const finder *f) {
  int apart = 0;
  const sm_trace_task *tasks = f->trace->tasks.items;
  bool alone = tasks[0].pass == 0 && (f->trace->tasks.len == 1 || tasks[1].pass > 0);
  if (!f->form->across || !alone) return SM_NO_LOCAL;
  return can_stage(f, tasks[0].local, &apart) && apart ? tasks[0].local : SM_NO_LOCAL;
}

static bool allocate(finder *f, sm_arena *arena) {
  size_t n = f->block->steps.len;
  sm_reduce_keeping *k = f->keeping;
  k->row = sm_arena_alloc(arena, n * sizeof *k->row);
  k->first_pass = sm_arena_alloc(arena, n * sizeof *k->first_pass);
  f->last_pass = sm_arena_alloc(arena, n * sizeof *f->last_pass);
  k->dtypes = sm_arena_alloc(arena, n * sizeof *k->dtypes);
  f->cost = sm_arena_alloc(arena, n * sizeof *f->cost);
  f->free = sm_arena_alloc(arena, n * sizeof *f->free);
  f->needed = sm_arena_zalloc(arena, n, sizeof *f->needed);
  f->kept = sm_arena_zalloc(arena, n, sizeof *f->kept);
  f->refused = sm_arena_zalloc(arena, n, sizeof *f->refused);
  return k->row && k->first_pass && f->last_pass && k->dtypes && f->cost && f->free && f->needed && f->kept &&
         f->refused;
}

bool sm_reduce_find_kept(const sm_trace *trace, const sm_reduce_input *inputs, const sm_reduce_form *form,
                         sm_arena *arena, sm_reduce_keeping *out) {
  finder f = {
      .trace = trace, .block = &trace->blocks.items[0], .inputs = inputs, .form = form, .keeping = out};
  if (!allocate(&f, arena)) return false;
  find_costs(&f);
  for (find_passes(&f); !assign_rows(&f); find_passes(&f)) refuse_one(&f);
  out->staged = find_staged(&f);
  return true;
}
