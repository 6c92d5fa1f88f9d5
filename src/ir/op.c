/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/op.h"

#include <stdalign.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "ir/expr.h"
#include "ir/infer.h"

static const sm_op_row rows[SM_OP_COUNT] = {
#define OP(id, ...) [SM_OP_##id] = {.code = SM_OP_##id, __VA_ARGS__},
#include "ir/ops.def"
#undef OP
};

const sm_op_row *sm_op_row_of(sm_opcode code) { return &rows[code]; }

const sm_attr_row *sm_attr_row_of(char letter) {
  static const sm_attr_row attr_rows[] = {
#define ATTR(...) {__VA_ARGS__},
#include "ir/attrs.def"
#undef ATTR
  };
  const sm_attr_row *row = attr_rows;
  while (row->letter != letter) row++;
  return row;
}

sm_opcode sm_op_find(const char *name) {
  for (int i = 0; name && i < SM_OP_COUNT; i++) {
    if (strcmp(rows[i].name, name) == 0) return (sm_opcode)i;
  }
  return SM_OP_COUNT;
}

int sm_op_given(const sm_op *op) { return op->n_operands - (op->row->random ? SM_RANDOM_SCALARS : 0); }

smelt_attrs sm_op_call_attrs(const sm_op *op, const sm_value *out) {
  smelt_attrs a = {.size = sizeof a, .dtype = out->dtype, .rank = out->shape.rank, .dims = out->shape.dims};
  if (!op->attrs) return a;
  if (strchr(op->row->attrs, 'r')) {
    a.ranges = op->attrs->ranges;
    a.n_ranges = (size_t)op->attrs->n;
  } else {
    a.axes = op->attrs->axes;
    a.n_axes = (size_t)op->attrs->n;
    a.keepdims = op->attrs->keepdims;
  }
  return a;
}

/* --- Segments ----------------------------------------------------------------- */

void sm_segment_init(sm_segment *seg, const sm_allocator *allocator) {
  memset(seg, 0, sizeof *seg);
  sm_arena_init(&seg->arena, allocator);
}

void sm_segment_free(sm_segment *seg) {
  const sm_allocator *allocator = seg->arena.allocator;
  sm_vec_free(allocator, &seg->ops);
  sm_vec_free(allocator, &seg->values);
  sm_arena_free(&seg->arena);
}

void sm_segment_reset(sm_segment *seg) {
  seg->ops.len = 0;
  seg->values.len = 0;
  sm_arena_reset(&seg->arena);
}

bool sm_segment_reserve(sm_segment *seg, int n) {
  const sm_allocator *allocator = seg->arena.allocator;
  size_t operands = (size_t)n, padding = alignof(max_align_t);
  size_t conversions = operands * (sizeof(sm_operand) + padding);
  size_t call = (operands + SM_RANDOM_SCALARS) * sizeof(sm_operand) + sizeof(sm_attrs) + 2 * padding;
  return sm_vec_reserve(allocator, &seg->ops, operands + 1) &&
         sm_vec_reserve(allocator, &seg->values, 2 * operands + 1) &&
         sm_arena_reserve(&seg->arena, conversions + call);
}

bool sm_segment_add_source(sm_segment *seg, const sm_value *like, uint32_t *out) {
  if (!sm_vec_push(seg->arena.allocator, &seg->values, *like)) return false;
  *out = (uint32_t)(seg->values.len - 1);
  seg->values.items[*out].producer = SM_NO_OP;
  return true;
}

bool sm_segment_append_with(sm_segment *seg, const sm_op_row *row, const sm_operand *operands, int n,
                            const sm_attrs *attrs, const sm_value *out, uint32_t *out_value) {
  const sm_allocator *allocator = seg->arena.allocator;
  if (!sm_vec_reserve(allocator, &seg->ops, 1) || !sm_vec_reserve(allocator, &seg->values, 1)) return false;
  sm_operand *copy = sm_arena_copy(&seg->arena, operands, (size_t)n * sizeof *operands);
  const sm_attrs *kept = attrs ? sm_arena_copy(&seg->arena, attrs, sizeof *attrs) : NULL;
  if (!copy || (attrs && !kept)) return false;
  *out_value = (uint32_t)seg->values.len;
  seg->values.items[seg->values.len] = *out;
  seg->values.items[seg->values.len++].producer = (int32_t)seg->ops.len;
  seg->ops.items[seg->ops.len++] =
      (sm_op){.row = row, .n_operands = (uint8_t)n, .out = *out_value, .operands = copy, .attrs = kept};
  return true;
}

bool sm_op_is_cheap(const sm_op *op) {
  static const char *const exprs[] = {"0", "1", "x", "cast(x)"};
  const char *expr = op->row->expr;
  for (size_t i = 0; expr && i < sizeof exprs / sizeof exprs[0]; i++) {
    if (strcmp(expr, exprs[i]) == 0) return true;
  }
  return false;
}

bool sm_op_is_pointwise(const sm_op *op) {
  const sm_op_row *row = op->row;
  return row->class == SM_CLASS_ELEMENTWISE && !strstr(row->expr, "index");
}

/* --- Verification --------------------------------------------------------------- */

/* Who defines value `v` knows of it. */
static smelt_status verify_value(const sm_segment *seg, size_t v, smelt_error *err) {
  int32_t producer = seg->values.items[v].producer;
  if (producer == SM_NO_OP) return SMELT_OK;
  if (producer >= 0 && (size_t)producer < seg->ops.len && seg->ops.items[producer].out == v) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_INTERNAL, "value %zu is not defined by operation %d", v, producer);
}

static smelt_status verify_use(const sm_segment *seg, size_t op_index, const sm_operand *operand,
                               smelt_error *err) {
  if (operand->use.value >= seg->values.len) {
    return sm_error_set(err, SMELT_ERR_INTERNAL, "operation %zu uses value %u of %zu", op_index,
                        operand->use.value, seg->values.len);
  }
  const sm_value *value = &seg->values.items[operand->use.value];
  if (value->producer >= (int32_t)op_index) {
    return sm_error_set(err, SMELT_ERR_INTERNAL, "operation %zu uses a value that operation %d defines",
                        op_index, value->producer);
  }
  if (operand->dtype != value->dtype) {
    return sm_error_set(err, SMELT_ERR_INTERNAL, "operation %zu uses a %s value as %s", op_index,
                        smelt_dtype_name(value->dtype), smelt_dtype_name(operand->dtype));
  }
  if (operand->use.status != SM_READ_ONLY && operand->use.status != SM_READ_WRITE) {
    return sm_error_set(err, SMELT_ERR_INTERNAL, "operation %zu uses a value with status %d", op_index,
                        operand->use.status);
  }
  if (operand->use.status == SM_READ_WRITE && value->live) {
    return sm_error_set(err, SMELT_ERR_INTERNAL, "operation %zu is the last use of a value that lives on",
                        op_index);
  }
  return SMELT_OK;
}

/* The element expression compiles for exactly the dtypes that are right. */
static smelt_status verify_dtypes(const sm_segment *seg, const sm_op *op, smelt_error *err) {
  const sm_op_row *row = op->row;
  smelt_dtype dtypes[UINT8_MAX];
  sm_expr expr;
  for (int k = 0; k < op->n_operands; k++) dtypes[k] = op->operands[k].dtype;
  return sm_expr_compile(row->expr, dtypes, op->n_operands, seg->values.items[op->out].dtype, &expr, err);
}

static smelt_status verify_shape(const sm_segment *seg, size_t op_index, smelt_error *err) {
  const sm_op *op = &seg->ops.items[op_index];
  if (op->row->shape != SM_SHAPE_BROADCAST) return SMELT_OK;
  sm_shape shape = {.rank = 0};
  bool fits = true;
  for (int k = 0; k < op->n_operands; k++) {
    const sm_operand *o = &op->operands[k];
    if (!o->is_scalar) fits = fits && sm_shape_broadcast(&shape, &seg->values.items[o->use.value].shape);
  }
  if (fits && sm_shape_equal(&shape, &seg->values.items[op->out].shape)) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_INTERNAL, "operation %zu has a result of another shape", op_index);
}

static bool same_attrs(const sm_op_row *row, const sm_attrs *a, const sm_attrs *b) {
  if (!a) return true;
  size_t item = strchr(row->attrs, 'r') ? sizeof a->ranges[0] : sizeof a->axes[0];
  return a->n == b->n && a->keepdims == b->keepdims && memcmp(&a->axes, &b->axes, (size_t)a->n * item) == 0;
}

/* Of what is not elementwise: inferring again gives the same. */
static smelt_status verify_again(const sm_segment *seg, size_t op_index, smelt_error *err) {
  const sm_op *op = &seg->ops.items[op_index];
  const sm_op_row *row = op->row;
  const sm_value *out = &seg->values.items[op->out];
  sm_call_operand operands[SM_MAX_OPERANDS];
  sm_inferred inferred;
  smelt_error cause;
  for (int k = 0; k < op->n_operands; k++) {
    const sm_operand *o = &op->operands[k];
    operands[k] = (sm_call_operand){.is_scalar = o->is_scalar, .dtype = o->dtype};
    if (!o->is_scalar) operands[k].shape = &seg->values.items[o->use.value].shape;
  }
  if (sm_op_has_attrs(row) != (op->attrs != NULL)) {
    return sm_error_set(err, SMELT_ERR_INTERNAL, "operation %zu lacks or has attributes", op_index);
  }
  smelt_attrs attrs = sm_op_call_attrs(op, out);
  if (sm_infer(row, operands, op->n_operands, &attrs, &inferred, &cause) != SMELT_OK) {
    return sm_error_set(err, SMELT_ERR_INTERNAL, "operation %zu: %s", op_index, cause.text);
  }
  if (!same_attrs(row, op->attrs, &inferred.attrs)) {
    return sm_error_set(err, SMELT_ERR_INTERNAL, "operation %zu has attributes that are not canonical",
                        op_index);
  }
  if (inferred.dtype == out->dtype && sm_shape_equal(&inferred.shape, &out->shape)) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_INTERNAL, "operation %zu has a result of another shape or dtype",
                      op_index);
}

static smelt_status verify_op(const sm_segment *seg, size_t op_index, smelt_error *err) {
  const sm_op *op = &seg->ops.items[op_index];
  if (op->out >= seg->values.len || seg->values.items[op->out].producer != (int32_t)op_index) {
    return sm_error_set(err, SMELT_ERR_INTERNAL, "operation %zu does not define its value", op_index);
  }
  const sm_op_row *row = op->row;
  if (!sm_op_takes(row, sm_op_given(op))) {
    return sm_error_set(err, SMELT_ERR_INTERNAL, "operation %zu has %d operands", op_index, op->n_operands);
  }
  for (int k = 0; k < op->n_operands; k++) {
    if (!op->operands[k].is_scalar) SM_TRY(verify_use(seg, op_index, &op->operands[k], err));
  }
  if (row->class == SM_CLASS_COMPOSITE) {
    return sm_error_set(err, SMELT_ERR_INTERNAL, "operation %zu is a composite", op_index);
  }
  if (row->class != SM_CLASS_ELEMENTWISE) return verify_again(seg, op_index, err);
  SM_TRY(verify_dtypes(seg, op, err));
  return verify_shape(seg, op_index, err);
}

/* No operand may follow a READ_WRITE use of its value. */
static smelt_status verify_last_uses(const sm_segment *seg, bool *gone, smelt_error *err) {
  for (size_t i = 0; i < seg->ops.len; i++) {
    const sm_op *op = &seg->ops.items[i];
    for (int k = 0; k < op->n_operands; k++) {
      if (op->operands[k].is_scalar) continue;
      sm_use use = op->operands[k].use;
      if (gone[use.value]) {
        return sm_error_set(err, SMELT_ERR_INTERNAL, "operation %zu uses a value after its last use", i);
      }
      gone[use.value] = use.status == SM_READ_WRITE;
    }
  }
  return SMELT_OK;
}

smelt_status sm_segment_verify(const sm_segment *seg, smelt_error *err) {
  for (size_t v = 0; v < seg->values.len; v++) SM_TRY(verify_value(seg, v, err));
  for (size_t i = 0; i < seg->ops.len; i++) SM_TRY(verify_op(seg, i, err));
  const sm_allocator *allocator = seg->arena.allocator;
  bool *gone = sm_calloc(allocator, seg->values.len, sizeof *gone);
  if (!gone) return sm_error_memory(err, "segment verification");
  smelt_status status = verify_last_uses(seg, gone, err);
  sm_free(allocator, gone, seg->values.len * sizeof *gone);
  return status;
}
