/* SPDX-License-Identifier: Apache-2.0
 *
 * Which form an elementwise kernel takes. The numbers were measured on AVX-512
 * hardware (see docs/cpu.md); costs are those of kops.def. */
#include <limits.h>

#include "launch/elementwise_skeleton.h"

enum {
  ONE_LOOP_COST = 40,  /* up to here rounds overlap by themselves */
  TILE = 768,          /* elements; inputs and slots stay in the first-level cache */
  SEGMENT_COST = 28,   /* of segments that have expensive steps */
  CHEAP_STEP_COST = 4, /* a chain of such steps waits for latency, not for throughput; */
  CHEAP_SEGMENT = 16,  /* it is cut more finely, because */
  UNROLL = 16,         /* so many vectors side by side hide the latency, */
  LIVE_VECTORS = 28,   /* as far as they fit into 32 registers */
};

typedef struct trace_facts {
  int cost;      /* of the most expensive block */
  int max_step;  /* cost of its most expensive step */
  int live;      /* values alive at once */
  bool one_axis; /* every block has one axis, along which inputs stand or step by 1 */
} trace_facts;

static int step_cost(const sm_step *step) {
  return step->kind == SM_STEP_COMPUTE ? sm_kop_info_of(step->kop)->cost : 0;
}

static bool in_register(const sm_step *step) {
  return step->kind == SM_STEP_COMPUTE || step->kind == SM_STEP_READ;
}

/* For every step, how many values of registers are used there for the last time. */
static void count_deaths(const sm_block *block, int32_t *last_use, int *deaths) {
  for (size_t i = 0; i < block->steps.len; i++) {
    for (int k = 0; k < 3; k++) {
      int32_t arg = block->steps.items[i].args[k];
      if (arg != SM_NO_LOCAL) last_use[arg] = (int32_t)i;
    }
  }
  for (size_t i = 0; i < block->steps.len; i++) {
    if (in_register(&block->steps.items[i]) && last_use[i] > 0) deaths[last_use[i]]++;
  }
}

/* The most computed or read values alive between two steps; INT_MAX without
 * memory. Scalars and literals fold into the instructions that use them. */
static int live_values(const sm_block *block, sm_arena *arena) {
  int32_t *last_use = sm_arena_zalloc(arena, block->steps.len, sizeof *last_use);
  int *deaths = sm_arena_zalloc(arena, block->steps.len, sizeof *deaths);
  if (!last_use || !deaths) return INT_MAX;
  count_deaths(block, last_use, deaths);
  int live = 0, most = 0;
  for (size_t i = 0; i < block->steps.len; i++) {
    live += (in_register(&block->steps.items[i]) && last_use[i] > 0) - deaths[i];
    if (live > most) most = live;
  }
  return most;
}

static void gather_block(trace_facts *f, const sm_block *block) {
  int cost = 0;
  for (size_t i = 0; i < block->steps.len; i++) {
    int step = step_cost(&block->steps.items[i]);
    cost += step;
    if (step > f->max_step) f->max_step = step;
  }
  if (cost > f->cost) f->cost = cost;
}

static trace_facts gather(const sm_trace *trace, const sm_launch_plan *plan) {
  trace_facts f = {.one_axis = true};
  for (size_t b = 0; b < trace->blocks.len; b++) {
    gather_block(&f, &trace->blocks.items[b]);
    f.one_axis = f.one_axis && plan->blocks[b].rank == 1;
    for (size_t i = 0; i < trace->inputs.len && f.one_axis; i++) {
      int64_t stride = sm_block_plan_strides(&plan->blocks[b], (int32_t)i)[0];
      f.one_axis = stride == 0 || stride == 1;
    }
  }
  return f;
}

/* Only long chains of cheap steps are looked at more closely. */
static int choose_unroll(const sm_trace *trace, trace_facts *f, sm_arena *arena) {
  if (!f->one_axis || trace->blocks.len != 1 || f->max_step > CHEAP_STEP_COST) return 1;
  f->live = live_values(&trace->blocks.items[0], arena);
  int unroll = UNROLL;
  while (unroll > 1 && f->live > LIVE_VECTORS / unroll) unroll /= 2;
  return unroll;
}

static void choose_tiles(const sm_trace *trace, trace_facts *f, sm_arena *arena, sm_elementwise_form *form) {
  form->tile = TILE;
  form->unroll = choose_unroll(trace, f, arena);
  form->segment = form->unroll > 1 ? CHEAP_SEGMENT : SEGMENT_COST;
}

/* Memory at about 20 bytes a nanosecond, or steps at about 0.01 ns an element and cost
 * unit; ten times that when they are interpreted. */
int64_t sm_elementwise_ns(const sm_elementwise_form *form, int64_t work_items, uint64_t bytes) {
  if (form->interpreted) return 1 + work_items * form->cost / 10;
  int64_t memory = (int64_t)(bytes / 20), compute = work_items / 100 * form->cost;
  return 1 + (memory > compute ? memory : compute);
}

sm_elementwise_form sm_elementwise_choose(const sm_trace *trace, const sm_launch_plan *plan,
                                          const sm_profile *profile, bool streaming, sm_arena *arena) {
  trace_facts f = gather(trace, plan);
  sm_elementwise_form form = {.width = profile->widths[0], .unroll = 1, .padded = f.one_axis, .cost = f.cost};
  if (f.cost > ONE_LOOP_COST) choose_tiles(trace, &f, arena, &form);
  form.streaming = f.one_axis && streaming;
  return form;
}

sm_elementwise_form sm_elementwise_interpreted(const sm_trace *trace, const sm_launch_plan *plan,
                                               const sm_profile *profile) {
  trace_facts f = gather(trace, plan);
  return (sm_elementwise_form){.width = profile->interpreter_width,
                               .unroll = 1,
                               .padded = f.one_axis,
                               .interpreted = true,
                               .cost = f.cost};
}
