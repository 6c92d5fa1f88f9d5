/* SPDX-License-Identifier: Apache-2.0
 *
 * Each connected part of the cluster becomes a block of its own; its records are
 * lowered in order, and where they repeat once for all trips. */
#include <string.h>

#include "trace/trace_builder.h"

/* --- Parts ------------------------------------------------------------------------- */

int32_t sm_trace_position_of(const sm_trace_builder *b, uint32_t v) {
  int32_t producer = b->segment->values.items[v].producer;
  if (producer == SM_NO_OP) return -1;
  int32_t low = 0, high = b->trace->n_ops - 1;
  while (low < high) {
    int32_t middle = (low + high) / 2;
    if (b->trace->ops[middle] < (uint32_t)producer) low = middle + 1;
    else high = middle;
  }
  return b->trace->ops[low] == (uint32_t)producer ? low : -1;
}

static int32_t find_part(sm_trace_builder *b, int32_t i) {
  while (b->part[i] != i) i = b->part[i] = b->part[b->part[i]];
  return i;
}

static void connect_parts(sm_trace_builder *b) {
  for (int32_t i = 0; i < b->trace->n_ops; i++) {
    const sm_op *op = sm_trace_record_at(b, i);
    b->part[i] = i;
    for (int k = 0; k < op->n_operands; k++) {
      if (op->operands[k].is_scalar) continue;
      int32_t from = sm_trace_position_of(b, op->operands[k].use.value);
      if (from < 0) continue;
      int32_t x = find_part(b, from), y = find_part(b, i);
      if (x < y) b->part[y] = x;
      else b->part[x] = y;
    }
  }
}

/* --- The trace ------------------------------------------------------------------------- */

/* The records of the part that begins at position `root`. */
static int list_part(sm_trace_builder *b, int32_t root) {
  int n = 0;
  for (int32_t i = root; i < b->trace->n_ops; i++) {
    if (find_part(b, i) == root) b->part_ops[n++] = b->trace->ops[i];
  }
  return n;
}

static smelt_status lower_part(sm_trace_builder *b, sm_block *block, int n, smelt_error *err) {
  sm_roll roll = {0};
  if (b->written && !sm_roll_find(b->segment, b->part_ops, n, b->written, b->scratch, &roll))
    return sm_error_memory(err, "a trace");
  for (int i = 0; i < n; i++) {
    if (roll.trips && i == roll.first) {
      sm_trace_rolling r = {.b = b, .block = block, .ops = b->part_ops, .roll = roll, .carry = b->carry};
      SM_TRY(sm_trace_lower_roll(&r, err));
      i += roll.trips * roll.period - 1;
    } else {
      SM_TRY(sm_trace_lower_record(b, block, &b->segment->ops.items[b->part_ops[i]], err));
    }
  }
  return SMELT_OK;
}

static smelt_status build(sm_trace_builder *b, smelt_error *err) {
  connect_parts(b);
  for (int32_t i = 0; i < b->trace->n_ops; i++) {
    if (find_part(b, i) != i) continue;
    sm_trace_forget_steps(b);
    int n = list_part(b, i);
    /* The last record is no guest, whose shape may be another. */
    sm_block block = {.space = b->segment->ops.items[b->part_ops[n - 1]].out};
    if (!sm_vec_push(b->allocator, &b->trace->blocks, block)) return sm_error_memory(err, "a trace");
    SM_TRY(lower_part(b, &b->trace->blocks.items[b->trace->blocks.len - 1], n, err));
  }
  if (b->mode == SMELT_MODE_FAST) sm_trace_contract(b->trace);
  bool found = sm_trace_find_reuses(b->trace, b->allocator) && sm_trace_find_chains(b->trace, b->allocator);
  return found ? SMELT_OK : sm_error_memory(err, "a trace");
}

static bool allocate(sm_trace_builder *b) {
  size_t n_ops = (size_t)b->trace->n_ops;
  b->part = sm_arena_zalloc(b->scratch, n_ops, sizeof *b->part);
  b->part_ops = sm_arena_zalloc(b->scratch, n_ops, sizeof *b->part_ops);
  b->carry = sm_arena_zalloc(b->scratch, n_ops, sizeof *b->carry);
  b->local_of = sm_arena_zalloc(b->scratch, b->segment->values.len, sizeof *b->local_of);
  return b->part && b->part_ops && b->carry && b->local_of;
}

/* --- Parts of concatenations ---------------------------------------------------------------- */

/* The result is the operand. */
static smelt_status lower_concat(sm_trace_builder *b, const sm_op *op, smelt_error *err) {
  sm_block *block = &b->trace->blocks.items[0];
  b->local_of[op->out] = sm_trace_read_tensor(b, block, op, b->part_operand);
  bool ok = b->local_of[op->out] != SM_NO_LOCAL && sm_trace_write_result(b, block, op->out);
  return ok ? SMELT_OK : sm_error_memory(err, "a trace");
}

static bool add_part_block(sm_trace_builder *b) {
  int32_t i = 0;
  while (!sm_trace_concatenates(sm_trace_record_at(b, i))) i++;
  sm_block block = {.space = sm_trace_record_at(b, i)->operands[b->part_operand].use.value};
  return sm_vec_push(b->allocator, &b->trace->blocks, block);
}

static smelt_status build_part(sm_trace_builder *b, smelt_error *err) {
  if (!add_part_block(b)) return sm_error_memory(err, "a trace");
  sm_trace_forget_steps(b);
  for (int32_t i = 0; i < b->trace->n_ops; i++) {
    const sm_op *op = sm_trace_record_at(b, i);
    SM_TRY(sm_trace_concatenates(op) ? lower_concat(b, op, err)
                                     : sm_trace_lower_record(b, &b->trace->blocks.items[0], op, err));
  }
  return SMELT_OK;
}

typedef smelt_status build_fn(sm_trace_builder *b, smelt_error *err);

static smelt_status build_with(build_fn *function, const sm_segment *segment, const uint32_t *ops, int n_ops,
                               int part, const bool *written, smelt_mode mode, const sm_allocator *allocator,
                               sm_trace *out, smelt_error *err) {
  memset(out, 0, sizeof *out);
  out->ops = ops;
  out->n_ops = n_ops;
  sm_arena scratch;
  sm_arena_init(&scratch, allocator);
  sm_trace_builder b = {.segment = segment,
                        .allocator = allocator,
                        .scratch = &scratch,
                        .trace = out,
                        .written = written,
                        .mode = mode,
                        .part_operand = part};
  smelt_status status = allocate(&b) ? function(&b, err) : sm_error_memory(err, "a trace");
  for (int block = 0; block < 2; block++) sm_vec_free(allocator, &b.known[block].older);
  sm_arena_free(&scratch);
  return status;
}

smelt_status sm_trace_build(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *written,
                            smelt_mode mode, const sm_allocator *allocator, sm_trace *out, smelt_error *err) {
  return build_with(build, segment, ops, n_ops, 0, written, mode, allocator, out, err);
}

smelt_status sm_trace_build_reduce(const sm_segment *segment, const uint32_t *ops, int n_ops,
                                   const bool *written, smelt_mode mode, const sm_allocator *allocator,
                                   sm_trace *out, smelt_error *err) {
  return build_with(sm_trace_lower_reductions, segment, ops, n_ops, 0, written, mode, allocator, out, err);
}

static smelt_status lower_centered(sm_trace_builder *b, smelt_error *err) {
  b->centers = true;
  return sm_trace_lower_reductions(b, err);
}

smelt_status sm_trace_build_centered(const sm_segment *segment, const uint32_t *ops, int n_ops,
                                     const bool *written, const sm_allocator *allocator, sm_trace *out,
                                     smelt_error *err) {
  return build_with(lower_centered, segment, ops, n_ops, 0, written, SMELT_MODE_FAST, allocator, out, err);
}

smelt_status sm_trace_build_part(const sm_segment *segment, const uint32_t *ops, int n_ops, int k,
                                 const bool *written, smelt_mode mode, const sm_allocator *allocator,
                                 sm_trace *out, smelt_error *err) {
  return build_with(build_part, segment, ops, n_ops, k, written, mode, allocator, out, err);
}

void sm_trace_free(sm_trace *trace, const sm_allocator *allocator) {
  for (size_t i = 0; i < trace->blocks.len; i++) sm_vec_free(allocator, &trace->blocks.items[i].steps);
  sm_vec_free(allocator, &trace->blocks);
  sm_vec_free(allocator, &trace->inputs);
  sm_vec_free(allocator, &trace->outputs);
  sm_vec_free(allocator, &trace->scalars);
  sm_vec_free(allocator, &trace->table);
  sm_vec_free(allocator, &trace->tasks);
  sm_vec_free(allocator, &trace->reuses);
  sm_vec_free(allocator, &trace->chains.buffers);
}
