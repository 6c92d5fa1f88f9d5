/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/dense_copy.h"

#include <string.h>

#include "base/error.h"
#include "launch/enter_driver.h"

void sm_copy_kernels_init(sm_copy_kernels *kernels, const sm_allocator *allocator) {
  for (int i = 0; i < SM_COPY_SIZES; i++) sm_launch_cache_init(&kernels->by_size[i], allocator);
}

void sm_copy_kernels_free(sm_copy_kernels *kernels) {
  for (int i = 0; i < SM_COPY_SIZES; i++) sm_launch_cache_free(&kernels->by_size[i]);
}

/* --- The trace ------------------------------------------------------------------------- */

/* Elements of 1, 2, 4 and 8 bytes. */
static int size_class(smelt_dtype dtype) { return __builtin_ctzll(smelt_dtype_size(dtype)); }

static smelt_dtype bits_of(smelt_dtype dtype) {
  static const smelt_dtype bits[SM_COPY_SIZES] = {SMELT_U8, SMELT_U16, SMELT_U32, SMELT_U64};
  return bits[size_class(dtype)];
}

static const sm_op_row unnamed = {.name = "copy", .log = "Copy"};

enum { FROM, TO, VALUES };

/* A segment of one record, which makes value TO of value FROM, and its trace. */
typedef struct copy_trace {
  sm_operand operand;
  sm_op op;
  sm_value values[VALUES];
  sm_segment segment;
  uint32_t record;
  sm_step steps[2];
  sm_block block;
  sm_trace_value from, to;
  sm_trace trace;
  sm_buffer view;
  sm_buffer *buffers[VALUES];
  sm_block_run on;
} copy_trace;

static void make_segment(copy_trace *t, const sm_dense_copy *copy) {
  smelt_dtype dtype = bits_of(copy->dtype);
  t->operand = (sm_operand){.use = {FROM, SM_READ_ONLY}, .dtype = dtype};
  t->op =
      (sm_op){.row = copy->row ? copy->row : &unnamed, .n_operands = 1, .out = TO, .operands = &t->operand};
  for (int v = 0; v < VALUES; v++)
    t->values[v] =
        (sm_value){.dtype = dtype, .shape = copy->layout->shape, .producer = v == TO ? 0 : SM_NO_OP};
  t->segment.ops.items = &t->op;
  t->segment.values.items = t->values;
  t->segment.ops.len = 1;
  t->segment.values.len = VALUES;
}

static void make_block(copy_trace *t, smelt_dtype dtype) {
  const int32_t none = SM_NO_LOCAL;
  t->steps[0] = (sm_step){.kind = SM_STEP_READ, .dtype = dtype, .args = {none, none, none}};
  t->steps[1] = (sm_step){.kind = SM_STEP_WRITE, .dtype = dtype, .args = {0, none, none}};
  t->block.space = TO;
  t->block.steps.items = t->steps;
  t->block.steps.len = 2;
}

static void make_trace(copy_trace *t, smelt_dtype dtype) {
  make_block(t, dtype);
  t->from = (sm_trace_value){.value = FROM, .dtype = dtype, .gathered = SM_NO_AXIS};
  t->to = (sm_trace_value){.value = TO, .dtype = dtype, .gathered = SM_NO_AXIS};
  for (int8_t axis = 0; axis < SMELT_MAX_RANK; axis++) t->from.map[axis] = axis;
  t->trace.ops = &t->record;
  t->trace.n_ops = 1;
  t->trace.blocks.items = &t->block;
  t->trace.inputs.items = &t->from;
  t->trace.outputs.items = &t->to;
  t->trace.blocks.len = t->trace.inputs.len = t->trace.outputs.len = 1;
}

/* --- The copy -------------------------------------------------------------------------- */

/* A result that is there already is written in row-major order, whatever lies how. */
static smelt_status bind(copy_trace *t, const sm_launch_env *env, const sm_dense_copy *copy,
                         smelt_error *err) {
  size_t bytes = (size_t)sm_shape_bytes(&copy->layout->shape, copy->dtype);
  t->view.borrowed = true;
  t->view.device = env->device;
  t->view.data = copy->from->data;
  t->view.bytes = copy->from->bytes;
  t->view.layout = copy->layout;
  t->buffers[FROM] = &t->view;
  t->on = (sm_block_run){.fuser = copy->fuser, .segment = &t->segment, .buffers = t->buffers};
  return sm_buffer_create(env->device, bytes, &t->buffers[TO], err);
}

smelt_status sm_prepare_dense_copy(const sm_launch_env *env, const sm_dense_copy *copy, sm_buffer **out,
                                   sm_prepared_launch *launch, smelt_error *err) {
  copy_trace *t = sm_arena_zalloc(env->scratch, 1, sizeof *t);
  *out = NULL;
  if (!t) return sm_error_memory(err, "a copy");
  make_segment(t, copy);
  make_trace(t, bits_of(copy->dtype));
  SM_TRY(bind(t, env, copy, err));
  sm_trace_run run = {&t->trace, &env->copies->by_size[size_class(copy->dtype)], &t->on};
  SM_TRY(sm_prepare_elementwise(env, &run, launch, err));
  *out = t->buffers[TO];
  launch->helps = !copy->row;
  return SMELT_OK;
}

smelt_status sm_run_dense_copy(const sm_launch_env *env, const sm_dense_copy *copy, sm_buffer **out,
                               smelt_error *err) {
  sm_prepared_launch prepared;
  SM_TRY(sm_prepare_dense_copy(env, copy, out, &prepared, err));
  smelt_status status = sm_enter_driver(env, copy->fuser->name, &prepared, 1, err);
  if (status == SMELT_OK) return SMELT_OK;
  sm_buffer_drop(*out);
  *out = NULL;
  return status;
}
