/* SPDX-License-Identifier: Apache-2.0
 *
 * Which form an elementwise kernel takes. The numbers were measured on AVX-512
 * hardware (see docs/cpu.md); costs are those of kops.def. */
#include <limits.h>

#include "launch/elementwise_skeleton.h"
#include "launch/segments.h"

enum {
  ONE_LOOP_COST = 640, /* up to here rounds overlap by themselves */
  TILE = 768,          /* elements; inputs and slots stay in the first-level cache */
  SEGMENT_COST = 28,   /* of segments that have expensive steps */
  CHEAP_STEP_COST = 4, /* a chain of such steps waits for latency, not for throughput; */
  CHEAP_SEGMENT = 16,  /* it is cut more finely, because */
  UNROLL = 16,         /* so many vectors side by side hide the latency, */
  LIVE_VECTORS = 28,   /* as far as they fit into 32 registers */
  LOOP_COST = 320,     /* of all vectors side by side in a block's own loop */
  MOST_LANES = 16,     /* of a thread: OpenCL has no longer vectors */
};

typedef struct trace_facts {
  int cost;      /* of the most expensive block, loops once */
  int64_t work;  /* of all blocks, all trips of loops */
  int max_step;  /* cost of its most expensive step */
  bool loops;    /* some block has one */
  bool one_axis; /* every block has one axis, along which inputs stand or step by 1 and outputs are dense */
} trace_facts;

static bool in_register(const sm_step *step) { return sm_step_computes(step) || step->kind == SM_STEP_READ; }

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

/* Of a block's steps, loops once. */
static int block_cost(const sm_block *block) {
  int cost = 0;
  for (size_t i = 0; i < block->steps.len; i++) cost += sm_step_cost(&block->steps.items[i]);
  return cost;
}

static void gather_block(trace_facts *f, const sm_block *block) {
  int cost = block_cost(block);
  int64_t work = 0;
  for (int32_t i = 0; i < (int32_t)block->steps.len; i++) {
    int step = sm_step_cost(&block->steps.items[i]);
    work += sm_block_in_loop(block, i) ? (int64_t)step * block->loop.trips : step;
    if (step > f->max_step) f->max_step = step;
  }
  if (cost > f->cost) f->cost = cost;
  f->work += work;
}

/* What is gathered stands as a whole. */
static bool has_one_axis(const sm_trace *trace, const sm_launch_plan *plan, const sm_block_plan *block) {
  bool one = block->rank == 1;
  for (size_t i = 0; i < trace->inputs.len && one; i++) {
    int64_t stride = sm_block_plan_strides(block, (int32_t)i)[0];
    one = stride == 0 || (stride == 1 && !plan->gathered[i].extent);
  }
  for (size_t i = 0; i < trace->outputs.len && one; i++)
    one = !sm_block_plan_strided(block, (int32_t)(trace->inputs.len + i));
  return one;
}

static bool has_loop(const sm_trace *trace) {
  for (size_t b = 0; b < trace->blocks.len; b++) {
    if (trace->blocks.items[b].loop.trips) return true;
  }
  return false;
}

static trace_facts gather(const sm_trace *trace, const sm_launch_plan *plan) {
  trace_facts f = {.one_axis = true, .loops = has_loop(trace)};
  for (size_t b = 0; b < trace->blocks.len; b++) {
    gather_block(&f, &trace->blocks.items[b]);
    f.one_axis = f.one_axis && has_one_axis(trace, plan, &plan->blocks[b]);
  }
  return f;
}

/* As many vectors as the registers hold, and a loop's body of which costs at most
 * `most`. */
static int fit_unroll(const sm_block *block, int cost, int most, sm_arena *arena) {
  int unroll = UNROLL, live = live_values(block, arena);
  while (unroll > 1 && (live > LIVE_VECTORS / unroll || cost > most / unroll)) unroll /= 2;
  return unroll;
}

static int loop_cost(const sm_block *block) {
  int cost = 0;
  for (int32_t i = block->loop.begin; i < block->loop.end; i++) cost += sm_step_cost(&block->steps.items[i]);
  return cost;
}

/* What is right for every loop. */
static int loop_unroll(const sm_trace *trace, sm_arena *arena) {
  int unroll = UNROLL;
  for (size_t b = 0; b < trace->blocks.len; b++) {
    const sm_block *block = &trace->blocks.items[b];
    int own = block->loop.trips ? fit_unroll(block, loop_cost(block), LOOP_COST, arena) : unroll;
    if (own < unroll) unroll = own;
  }
  return unroll;
}

/* Only long chains of cheap steps, and loops, wait for themselves. */
static int choose_unroll(const sm_trace *trace, const trace_facts *f, sm_arena *arena) {
  if (f->loops) return loop_unroll(trace, arena);
  if (!f->one_axis || trace->blocks.len != 1 || f->max_step > CHEAP_STEP_COST) return 1;
  return fit_unroll(&trace->blocks.items[0], 0, 0, arena);
}

static void choose_tiles(const sm_trace *trace, const trace_facts *f, sm_arena *arena,
                         sm_elementwise_form *form) {
  form->tile = f->cost > ONE_LOOP_COST ? TILE : 0;
  form->unroll = choose_unroll(trace, f, arena);
  if (form->tile) form->segment = form->unroll > 1 && !f->loops ? CHEAP_SEGMENT : SEGMENT_COST;
}

/* Memory at about 20 bytes a nanosecond, or steps at about 0.01 ns an element and cost
 * unit; ten times that when they are interpreted. */
int64_t sm_elementwise_ns(const sm_elementwise_form *form, int64_t work_items, uint64_t bytes) {
  if (form->interpreted) return 1 + work_items * form->work / 10;
  int64_t memory = (int64_t)(bytes / 20), compute = work_items / 100 * form->work;
  return 1 + (memory > compute ? memory : compute);
}

/* --- Width ------------------------------------------------------------- */

static bool divides_rows(const sm_trace *trace, const sm_launch_plan *plan, int width) {
  for (size_t b = 0; b < trace->blocks.len; b++) {
    const sm_block_plan *block = &plan->blocks[b];
    if (block->dims[block->rank - 1] % width != 0) return false;
  }
  return true;
}

/* Bytes of an element of the results, or of an input that walks along the rows in some block: those that
 * stand or jump are read lane by lane. */
static int moved_bytes(const sm_trace *trace, const sm_launch_plan *plan, int32_t buffer) {
  int32_t n_in = (int32_t)trace->inputs.len;
  if (buffer >= n_in) return (int)smelt_dtype_size(trace->outputs.items[buffer - n_in].dtype);
  for (size_t b = 0; b < trace->blocks.len; b++) {
    const sm_block_plan *block = &plan->blocks[b];
    if (sm_block_plan_strides(block, buffer)[block->rank - 1] == 1)
      return (int)smelt_dtype_size(trace->inputs.items[buffer].dtype);
  }
  return 1;
}

/* Lanes of which the widest operand has one vector: narrower ones have a part of theirs, as a thread that
 * stored several vectors would not store them beside each other. */
static int thread_lanes(const sm_trace *trace, const sm_launch_plan *plan, const sm_profile *profile) {
  int widest = 1, n = (int)(trace->inputs.len + trace->outputs.len);
  for (int32_t i = 0; i < n; i++) {
    int bytes = moved_bytes(trace, plan, i);
    if (bytes > widest) widest = bytes;
  }
  int lanes = profile->vector_bytes / widest;
  return lanes < MOST_LANES ? lanes : MOST_LANES;
}

/* A chunk has vectors of f32, and runs what they leave over by narrower ones or padded. A thread takes
 * one vector: the width divides the rows. */
int sm_elementwise_width(const sm_trace *trace, const sm_launch_plan *plan, const sm_profile *profile) {
  if (plan->scalar) return 1;
  if (profile->chunked) return profile->vector_bytes / (int)sizeof(float);
  int width = thread_lanes(trace, plan, profile);
  while (!divides_rows(trace, plan, width)) width /= 2;
  return width;
}

/* --- The form ------------------------------------------------------------------------------ */

sm_elementwise_form sm_elementwise_choose(const sm_trace *trace, const sm_launch_plan *plan,
                                          const sm_profile *profile, bool streaming, sm_arena *arena) {
  trace_facts f = gather(trace, plan);
  int width = sm_elementwise_width(trace, plan, profile);
  if (!profile->chunked)
    return (sm_elementwise_form){
        .width = width, .unroll = 1, .threads = true, .streaming = f.one_axis && streaming, .work = f.work};
  sm_elementwise_form form = {
      .width = width, .unroll = 1, .loops = f.loops, .padded = f.one_axis, .work = f.work};
  if (f.cost > ONE_LOOP_COST || f.loops) choose_tiles(trace, &f, arena, &form);
  form.streaming = f.one_axis && streaming && !plan->scalar;
  return form;
}

sm_elementwise_form sm_elementwise_interpreted(const sm_trace *trace, const sm_launch_plan *plan,
                                               const sm_profile *profile) {
  trace_facts f = gather(trace, plan);
  return (sm_elementwise_form){.width = profile->interpreter_width,
                               .unroll = 1,
                               .loops = f.loops,
                               .padded = f.one_axis,
                               .interpreted = true,
                               .work = f.work};
}
