/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps: what is the same is computed once, and each input is read once. */
#include <string.h>

#include "base/hash.h"
#include "trace/trace_builder.h"

static sm_known_steps *known_of(sm_trace_builder *b, const sm_block *block) {
  return &b->known[b->results && block == b->results];
}

static size_t bucket_of(const sm_step *step) {
  sm_hash h = sm_hash_start();
  sm_hash_u64(&h, (uint64_t)step->kind << 32 | (uint64_t)step->kop << 16 | step->dtype);
  sm_hash_u64(&h, step->literal.bits ^ (uint64_t)step->index << 32);
  for (int k = 0; k < 3; k++) sm_hash_u64(&h, (uint64_t)step->args[k]);
  return h.lo % SM_STEP_BUCKETS;
}

void sm_trace_forget_steps(sm_trace_builder *b) {
  for (int block = 0; block < 2; block++) {
    for (size_t i = 0; i < SM_STEP_BUCKETS; i++) b->known[block].newest[i] = SM_NO_LOCAL;
    b->known[block].older.len = 0;
  }
}

/* What is spread is there for the pass after the one that made it. */
static int32_t pass_of(const sm_trace_builder *b, const sm_block *block, const sm_step *step) {
  if (step->kind == SM_STEP_REDUCED) return b->trace->tasks.items[step->index].pass;
  if (step->kind == SM_STEP_SPREAD) return b->results->steps.items[step->index].pass + 1;
  int32_t pass = 0;
  for (int k = 0; k < 3; k++) {
    int32_t own = step->args[k] == SM_NO_LOCAL ? 0 : block->steps.items[step->args[k]].pass;
    pass = own > pass ? own : pass;
  }
  return pass;
}

int32_t sm_trace_push(sm_trace_builder *b, sm_block *block, sm_step step) {
  sm_known_steps *known = known_of(b, block);
  int32_t *newest = &known->newest[bucket_of(&step)], local = (int32_t)block->steps.len;
  step.pass = pass_of(b, block, &step);
  if (!sm_vec_push(b->allocator, &block->steps, step)) return SM_NO_LOCAL;
  if (!sm_vec_push(b->allocator, &known->older, *newest)) return SM_NO_LOCAL;
  *newest = local;
  return local;
}

static bool same_step(const sm_step *a, const sm_step *b) {
  return a->kind == b->kind && a->dtype == b->dtype && a->index == b->index &&
         a->literal.bits == b->literal.bits && a->kop == b->kop &&
         memcmp(a->args, b->args, sizeof a->args) == 0;
}

/* An equal step that is there already: what is the same is computed once. It is the
 * same if it is made of the same values; scalars are never equal. What a loop has
 * computed is gone when it has ended. */
static int32_t find_step(sm_trace_builder *b, const sm_block *block, const sm_step *step) {
  const sm_known_steps *known = known_of(b, block);
  for (int32_t i = known->newest[bucket_of(step)]; i != SM_NO_LOCAL; i = known->older.items[i]) {
    const sm_step *s = &block->steps.items[i];
    bool gone = sm_step_computes(s) && block->loop.end && sm_block_in_loop(block, i);
    if (!gone && same_step(s, step)) return i;
  }
  return SM_NO_LOCAL;
}

int32_t sm_trace_share(sm_trace_builder *b, sm_block *block, sm_step step) {
  int32_t found = find_step(b, block, &step);
  return found != SM_NO_LOCAL ? found : sm_trace_push(b, block, step);
}

/* The number of a value in a list, appended if it is new; -1 without memory. */
int32_t sm_trace_number_value(sm_trace_builder *b, sm_trace_values *list, const sm_trace_value *entry) {
  for (size_t i = 0; i < list->len; i++) {
    const sm_trace_value *v = &list->items[i];
    if (v->value == entry->value && memcmp(v->map, entry->map, sizeof v->map) == 0) return (int32_t)i;
  }
  return sm_vec_push(b->allocator, list, *entry) ? (int32_t)list->len - 1 : -1;
}

/* Axes from `from` on follow those of the space, the first of them axis `to`. */
void sm_trace_follow(sm_trace_value *v, int from, int rank, int to) {
  for (int axis = from; axis < rank; axis++) v->map[axis] = (int8_t)(to + axis - from);
}

sm_trace_value sm_trace_bound_value(const sm_segment *segment, uint32_t v) {
  sm_trace_value bound = {.value = v, .dtype = segment->values.items[v].dtype, .gathered = SM_NO_AXIS};
  memset(bound.map, SM_NO_AXIS, sizeof bound.map);
  return bound;
}

/* Operand k as the record reads it; a guest's own shape may have a lower rank than the
 * space. */
static sm_trace_value bound_operand(const sm_segment *segment, const sm_block *block, const sm_op *op,
                                    int k) {
  sm_trace_value bound = sm_trace_bound_value(segment, op->operands[k].use.value);
  int rank = segment->values.items[bound.value].shape.rank;
  int space = sm_block_shape(segment, block)->rank;
  if (!sm_trace_selects(op)) {
    sm_trace_follow(&bound, 0, rank, space - rank);
    return bound;
  }
  int at = op->attrs->axes[0];
  bool takes = op->row->shape == SM_SHAPE_TAKE;
  if (k == 0) {
    bound.gathered = (int8_t)at;
    sm_trace_follow(&bound, 0, at, 0);
    sm_trace_follow(&bound, at + 1, rank, space - rank + at + 1);
  } else {
    sm_trace_follow(&bound, 0, rank, takes ? at : 0);
  }
  return bound;
}

/* Whether the record at that position makes results, which this block spreads. */
static bool is_spread(const sm_trace_builder *b, const sm_block *block, int32_t from) {
  return b->results && block != b->results && b->spaces[from] != SM_SPACE_ELEMENTS;
}

static int32_t spread(sm_trace_builder *b, sm_block *block, uint32_t v) {
  int32_t local = b->local_of[v];
  return sm_trace_share(b, block,
                        sm_trace_make_leaf(SM_STEP_SPREAD, sm_trace_dtype_of(b->results, local), local));
}

/* An operand of results follows axes of the elements. */
static void follow_elements(const sm_trace_builder *b, const sm_op *op, sm_trace_value *bound) {
  int rank = b->segment->values.items[bound->value].shape.rank;
  int space = b->segment->values.items[op->out].shape.rank;
  for (int axis = 0; axis < rank; axis++) {
    if (axis != bound->gathered)
      bound->map[axis] = (int8_t)sm_reduce_element_axis(&b->records, space, space - rank + axis);
  }
}

/* Of what a selection selects from, the extent of the axis. */
int32_t sm_trace_read_tensor(sm_trace_builder *b, sm_block *block, const sm_op *op, int k) {
  uint32_t v = op->operands[k].use.value;
  int32_t from = sm_trace_position_of(b, v);
  if (from >= 0) return is_spread(b, block, from) ? spread(b, block, v) : b->local_of[v];
  sm_trace_value bound = bound_operand(b->segment, block, op, k);
  if (b->results && block == b->results) follow_elements(b, op, &bound);
  int32_t input = sm_trace_number_value(b, &b->trace->inputs, &bound);
  if (input < 0) return SM_NO_LOCAL;
  bool gathered = bound.gathered != SM_NO_AXIS;
  return sm_trace_share(b, block,
                        gathered ? sm_trace_make_leaf(SM_STEP_EXTENT, SMELT_I64, input)
                                 : sm_trace_make_leaf(SM_STEP_READ, bound.dtype, input));
}

int32_t sm_trace_read_scalar(sm_trace_builder *b, sm_block *block, const sm_op *op, int k) {
  const sm_operand *o = &op->operands[k];
  sm_trace_scalar scalar = {(uint32_t)(op - b->segment->ops.items), k, o->dtype};
  if (!sm_vec_push(b->allocator, &b->trace->scalars, scalar)) return SM_NO_LOCAL;
  int32_t index = (int32_t)b->trace->scalars.len - 1;
  return sm_trace_push(b, block, sm_trace_make_leaf(SM_STEP_SCALAR, o->dtype, index));
}

int32_t sm_trace_cast(sm_trace_builder *b, sm_block *block, int32_t local, smelt_dtype to) {
  return sm_trace_share(b, block,
                        (sm_step){.kind = SM_STEP_COMPUTE,
                                  .kop = SM_KOP_CAST,
                                  .dtype = to,
                                  .args = {local, SM_NO_LOCAL, SM_NO_LOCAL}});
}
