/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/run_opaque.h"

#include "base/error.h"

void sm_opaque_describe(smelt_array *out, smelt_dtype dtype, const sm_shape *shape, void *data) {
  *out = (smelt_array){.dtype = dtype, .rank = shape->rank, .data = data};
  memcpy(out->dims, shape->dims, sizeof shape->dims[0] * (size_t)shape->rank);
}

smelt_status sm_opaque_fail(const char *name, smelt_status status, smelt_error *said, smelt_error *err) {
  said->text[sizeof said->text - 1] = '\0';
  const char *text = said->text[0] ? said->text : smelt_status_text(status);
  return sm_error_set(err, status, "%s: %s", name, text);
}

/* A call of the function, with copies of operands whose elements do not lie in order. */
typedef struct call {
  const sm_segment *segment;
  const sm_op *op;
  smelt_array operands[SM_MAX_OPERANDS], result;
  sm_buffer *copies[SM_MAX_OPERANDS];
} call;

static const sm_value *value_at(const call *c, uint32_t v) { return &c->segment->values.items[v]; }

static smelt_status open_operand(call *c, int k, const sm_buffer *buffer, smelt_error *err) {
  const sm_value *value = value_at(c, c->op->operands[k].use.value);
  sm_layout layout;
  sm_buffer_layout(buffer, &value->shape, &layout);
  char *data = buffer->data;
  if (sm_shape_count(&value->shape) == 0) {
    data = NULL;
  } else if (sm_layout_is_dense(&layout)) {
    data += (size_t)layout.offset * smelt_dtype_size(value->dtype);
  } else {
    size_t bytes = (size_t)sm_shape_bytes(&value->shape, value->dtype);
    SM_TRY(sm_buffer_create(buffer->device, bytes, &c->copies[k], err));
    SM_TRY(sm_buffer_read(buffer, value->dtype, &value->shape, c->copies[k]->data, err));
    data = c->copies[k]->data;
  }
  sm_opaque_describe(&c->operands[k], value->dtype, &value->shape, data);
  return SMELT_OK;
}

static smelt_status open_operands(call *c, sm_buffer *const *buffers, smelt_error *err) {
  for (int k = 0; k < c->op->n_operands; k++)
    SM_TRY(open_operand(c, k, buffers[c->op->operands[k].use.value], err));
  return SMELT_OK;
}

/* Kernels rely on bools that are 0 or 1. */
static void normalise_bools(unsigned char *data, size_t n) {
  for (size_t i = 0; i < n; i++) data[i] = data[i] != 0;
}

static smelt_status call_kernel(call *c, sm_buffer *result, smelt_error *err) {
  smelt_error said = {.code = SMELT_OK};
  const sm_value *out = value_at(c, c->op->out);
  const sm_opaque *opaque = c->op->row->opaque;
  if (result->bytes == 0) return SMELT_OK;
  sm_opaque_describe(&c->result, out->dtype, &out->shape, result->data);
  smelt_status status = opaque->kernel(opaque->user, c->operands, c->op->n_operands, &c->result, &said);
  if (status != SMELT_OK) return sm_opaque_fail(c->op->row->name, status, &said, err);
  if (out->dtype == SMELT_BOOL) normalise_bools(result->data, result->bytes);
  return SMELT_OK;
}

static smelt_status run(call *c, sm_device *device, sm_buffer **buffers, smelt_error *err) {
  const sm_value *out = value_at(c, c->op->out);
  sm_buffer *result;
  SM_TRY(open_operands(c, buffers, err));
  SM_TRY(sm_buffer_create(device, (size_t)sm_shape_bytes(&out->shape, out->dtype), &result, err));
  smelt_status status = call_kernel(c, result, err);
  if (status == SMELT_OK) buffers[c->op->out] = result;
  else sm_buffer_drop(result);
  return status;
}

smelt_status sm_run_opaque(sm_device *device, const sm_segment *segment, const sm_op *op, sm_buffer **buffers,
                           smelt_error *err) {
  call c = {.segment = segment, .op = op};
  smelt_status status = run(&c, device, buffers, err);
  for (int k = 0; k < op->n_operands; k++) {
    if (c.copies[k]) sm_buffer_drop(c.copies[k]);
  }
  return status;
}
