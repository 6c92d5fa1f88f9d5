/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops: what repeats is lowered once for all trips. */
#include "trace/trace_builder.h"

static const sm_op *record_of(const sm_trace_rolling *r, int trip, int place) {
  return &r->b->segment->ops.items[r->ops[r->roll.first + trip * r->roll.period + place]];
}

/* The place of the record that defines `v` in this trip, or -1. */
static int place_of(const sm_trace_rolling *r, int trip, uint32_t v) {
  for (int place = 0; place < r->roll.period; place++) {
    if (record_of(r, trip, place)->out == v) return place;
  }
  return -1;
}

/* Half values stay f32 from trip to trip where they would between records. */
static int32_t widen_carried(sm_trace_rolling *r, int32_t local) {
  bool widens = local != SM_NO_LOCAL && sm_dtype_is_half(sm_trace_dtype_of(r->block, local)) &&
                r->b->mode != SMELT_MODE_STRICT;
  return widens ? sm_trace_cast(r->b, r->block, local, SMELT_F32) : local;
}

/* The local that `place`'s carried result has before the first trip is put where its CARRY
 * will be. */
static bool start_carried(sm_trace_rolling *r, int place) {
  const sm_op *first = record_of(r, 0, place), *second = record_of(r, 1, place);
  for (int k = 0; k < second->n_operands; k++) {
    if (second->operands[k].is_scalar) continue;
    int carried = place_of(r, 0, second->operands[k].use.value);
    if (carried < 0 || r->carry[carried] != SM_NO_LOCAL) continue;
    r->carry[carried] = widen_carried(r, sm_trace_read_tensor(r->b, r->block, first, k));
    if (r->carry[carried] == SM_NO_LOCAL) return false;
  }
  return true;
}

static bool begin_loop(sm_trace_rolling *r) {
  for (int place = 0; place < r->roll.period; place++) {
    if (!start_carried(r, place)) return false;
  }
  int32_t begin = sm_trace_push(r->b, r->block, sm_trace_make_leaf(SM_STEP_LOOP, SMELT_I64, 0));
  r->block->loop =
      (sm_trace_loop){.begin = begin, .trips = r->roll.trips, .row = (int32_t)r->b->trace->table.len};
  for (int place = 0; place < r->roll.period && begin != SM_NO_LOCAL; place++) {
    int32_t start = r->carry[place];
    if (start == SM_NO_LOCAL) continue;
    r->carry[place] = sm_trace_push(
        r->b, r->block,
        sm_trace_make_step(SM_STEP_CARRY, sm_trace_dtype_of(r->block, start), start, SM_NO_LOCAL));
    if (r->carry[place] == SM_NO_LOCAL) return false;
  }
  return begin != SM_NO_LOCAL;
}

/* An operand of the loop's body, as the second trip has it. */
static int32_t loop_operand(sm_trace_rolling *r, const sm_op *op, int k) {
  const sm_operand *o = &op->operands[k];
  if (o->is_scalar)
    return sm_trace_push(r->b, r->block,
                         sm_trace_make_leaf(SM_STEP_TABLE, o->dtype, r->block->loop.columns++));
  int place = place_of(r, 0, o->use.value);
  return place >= 0 ? r->carry[place] : sm_trace_read_tensor(r->b, r->block, op, k);
}

static smelt_status lower_body(sm_trace_rolling *r, smelt_error *err) {
  for (int place = 0; place < r->roll.period; place++) {
    sm_trace_lowering l = {.b = r->b, .block = r->block, .op = record_of(r, 1, place)};
    for (int k = 0; k < l.op->n_operands; k++) {
      l.operands[k] = loop_operand(r, l.op, k);
      if (l.operands[k] == SM_NO_LOCAL) return sm_error_memory(err, "a trace");
    }
    SM_TRY(sm_trace_lower_operation(&l, err));
  }
  return SMELT_OK;
}

static bool fill_table(sm_trace_rolling *r) {
  for (int trip = 0; trip < r->roll.trips; trip++) {
    for (int place = 0; place < r->roll.period; place++) {
      const sm_op *op = record_of(r, trip, place);
      for (int k = 0; k < op->n_operands; k++) {
        sm_trace_scalar scalar = {(uint32_t)(op - r->b->segment->ops.items), k, op->operands[k].dtype};
        if (op->operands[k].is_scalar && !sm_vec_push(r->b->allocator, &r->b->trace->table, scalar))
          return false;
      }
    }
  }
  return true;
}

static bool end_loop(sm_trace_rolling *r) {
  int last = r->roll.trips - 1;
  for (int place = 0; place < r->roll.period; place++) {
    if (r->carry[place] == SM_NO_LOCAL) continue;
    int32_t value = widen_carried(r, r->b->local_of[record_of(r, 1, place)->out]);
    sm_step next = sm_trace_make_step(SM_STEP_NEXT, SMELT_I64, r->carry[place], value);
    if (value == SM_NO_LOCAL || sm_trace_push(r->b, r->block, next) == SM_NO_LOCAL) return false;
  }
  r->block->loop.end = sm_trace_push(r->b, r->block, sm_trace_make_leaf(SM_STEP_END, SMELT_I64, 0));
  for (int place = 0; place < r->roll.period && r->block->loop.end != SM_NO_LOCAL; place++) {
    if (r->carry[place] == SM_NO_LOCAL) continue;
    smelt_dtype dtype = sm_trace_dtype_of(r->block, r->carry[place]);
    int32_t result = sm_trace_push(r->b, r->block,
                                   sm_trace_make_step(SM_STEP_RESULT, dtype, r->carry[place], SM_NO_LOCAL));
    r->b->local_of[record_of(r, last, place)->out] = result;
    if (result == SM_NO_LOCAL) return false;
  }
  return r->block->loop.end != SM_NO_LOCAL;
}

/* Only results of the last trip can be wanted, and only carried ones. */
static bool write_results(sm_trace_rolling *r) {
  for (int place = 0; place < r->roll.period; place++) {
    bool carried = r->carry[place] != SM_NO_LOCAL;
    if (carried && !sm_trace_write_result(r->b, r->block, record_of(r, r->roll.trips - 1, place)->out))
      return false;
  }
  return true;
}

smelt_status sm_trace_lower_roll(sm_trace_rolling *r, smelt_error *err) {
  for (int place = 0; place < r->roll.period; place++) r->carry[place] = SM_NO_LOCAL;
  if (!begin_loop(r)) return sm_error_memory(err, "a trace");
  SM_TRY(lower_body(r, err));
  if (!fill_table(r) || !end_loop(r) || !write_results(r)) return sm_error_memory(err, "a trace");
  return SMELT_OK;
}
