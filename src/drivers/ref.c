/* SPDX-License-Identifier: Apache-2.0
 *
 * The op-level reference: every record by itself, in call order, by loops over
 * its elements. It shares the scalar operations with the kernels and nothing
 * else: indexing, broadcasting, order and dtypes are its own. Operations that only
 * move elements are in ref_moved.c, reductions in ref_reduce.c. */
#include <string.h>

#include "base/error.h"
#include "drivers/drivers.h"
#include "drivers/ref_moved.h"
#include "drivers/ref_reduce.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "rt/host_memory.h"

/* Elements that go through the steps together. */
enum { TILE = 32 };

typedef struct tile {
  sm_word operands[SM_MAX_OPERANDS][TILE];
  sm_word steps[SM_EXPR_STEPS][TILE];
  sm_word others[SM_EXPR_ARGS][TILE]; /* literals and the index, as a step needs them */
} tile;

/* One record with everything its loops need. */
typedef struct element_loop {
  const sm_segment *segment;
  const sm_op *op;
  sm_buffer *const *buffers; /* by value */
  const sm_shape *shape;     /* of the result */
  sm_expr expr;
} element_loop;

/* --- One tile ----------------------------------------------------------------------- */

/* The position of the result's element `index` in an operand that was
 * broadcast: axes are aligned on the right, extent 1 stays at 0. */
static int64_t operand_position(const sm_shape *result, const sm_shape *operand, int64_t index) {
  int64_t position = 0, stride = 1;
  for (int axis = result->rank - 1, k = operand->rank - 1; k >= 0; axis--, k--) {
    int64_t coordinate = index % result->dims[axis];
    index /= result->dims[axis];
    if (operand->dims[k] != 1) position += coordinate * stride;
    stride *= operand->dims[k];
  }
  return position;
}

static void load_operand(const element_loop *l, const sm_operand *o, int64_t begin, size_t n, void *to) {
  size_t size = smelt_dtype_size(o->dtype);
  const sm_value *value = o->is_scalar ? NULL : &l->segment->values.items[o->use.value];
  const char *from = o->is_scalar ? (const char *)&o->scalar : l->buffers[o->use.value]->data;
  for (size_t i = 0; i < n; i++) {
    int64_t position = value ? operand_position(l->shape, &value->shape, begin + (int64_t)i) : 0;
    memcpy((char *)to + i * size, from + (size_t)position * size, size);
  }
}

static const void *argument(const sm_expr_arg *arg, int64_t begin, size_t n, tile *t, int k) {
  size_t size = smelt_dtype_size(arg->dtype);
  char *to = (char *)t->others[k];
  switch (arg->kind) {
    case SM_ARG_OPERAND:
      return t->operands[arg->index];
    case SM_ARG_STEP:
      return t->steps[arg->index];
    case SM_ARG_INDEX:
      for (size_t i = 0; i < n; i++) memcpy(to + i * size, &(int64_t){begin + (int64_t)i}, size);
      return to;
    case SM_ARG_LITERAL:
      for (size_t i = 0; i < n; i++) memcpy(to + i * size, &arg->literal, size);
      return to;
  }
  return to;
}

static void run_steps(const sm_expr *expr, int64_t begin, size_t n, tile *t) {
  for (int s = 0; s < expr->n_steps; s++) {
    const sm_expr_step *step = &expr->steps[s];
    const void *in[SM_EXPR_ARGS];
    for (int k = 0; k < step->n_args; k++) in[k] = argument(&step->args[k], begin, n, t, k);
    smelt_dtype dtype = step->args[step->n_args - 1].dtype;
    sm_kop_eval(step->kop, dtype, step->dtype)(n, t->steps[s], in, 0);
  }
}

static void run_tiles(const element_loop *l, char *out) {
  tile t;
  size_t size = smelt_dtype_size(l->expr.result.dtype);
  int64_t count = sm_shape_count(l->shape);
  for (int64_t begin = 0; begin < count; begin += TILE) {
    size_t n = (size_t)(count - begin < TILE ? count - begin : TILE);
    for (int k = 0; k < l->op->n_operands; k++) {
      load_operand(l, &l->op->operands[k], begin, n, t.operands[k]);
    }
    run_steps(&l->expr, begin, n, &t);
    memcpy(out + (size_t)begin * size, argument(&l->expr.result, begin, n, &t, 0), n * size);
  }
}

/* --- One record -------------------------------------------------------------------------- */

static smelt_status compile(element_loop *l, smelt_error *err) {
  smelt_dtype operands[SM_MAX_OPERANDS];
  for (int k = 0; k < l->op->n_operands; k++) operands[k] = l->op->operands[k].dtype;
  return sm_expr_compile(l->op->row->expr, operands, l->op->n_operands,
                         l->segment->values.items[l->op->out].dtype, &l->expr, err);
}

smelt_status sm_ref_run_op(sm_device *device, const sm_segment *segment, const sm_op *op, sm_buffer **buffers,
                           smelt_error *err) {
  const sm_value *out = &segment->values.items[op->out];
  element_loop l = {.segment = segment, .op = op, .buffers = buffers, .shape = &out->shape};
  sm_op_class class = op->row->class;
  if (class == SM_CLASS_ELEMENTWISE) SM_TRY(compile(&l, err));
  SM_TRY(sm_buffer_create(device, (size_t)sm_shape_bytes(&out->shape, out->dtype), &buffers[op->out], err));
  if (class == SM_CLASS_ELEMENTWISE) run_tiles(&l, buffers[op->out]->data);
  else if (class == SM_CLASS_REDUCE) sm_ref_reduce(segment, op, buffers);
  else sm_ref_move(segment, op, buffers);
  return SMELT_OK;
}

/* --- The driver -------------------------------------------------------------------------------- */

static const sm_profile profile = {.name = "ref", .max_bindings = 0};

static smelt_status open_ref(sm_device *device, const char *arg, smelt_error *err) {
  if (arg) return sm_error_set(err, SMELT_ERR_DEVICE, "device ref takes no argument, not \"%.60s\"", arg);
  device->profile = &profile;
  return SMELT_OK;
}

static void close_ref(sm_device *device) { (void)device; }

const sm_driver sm_driver_ref = {
    .name = "ref",
    .host_memory = true,
    .runs_opaque = true,
    .open = open_ref,
    .close = close_ref,
    .alloc = sm_host_alloc,
    .free = sm_host_free,
    .upload = sm_host_upload,
    .download = sm_host_download,
};
