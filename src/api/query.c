/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries: they run nothing. */
#include "api/record.h"
#include "api/reference.h"
#include "base/error.h"
#include "ir/op.h"

smelt_status smelt_check(const smelt_tensor *t, smelt_error *err) {
  sm_target target;
  SM_TRY(sm_reference_peek(t, "check", &target, err));
  if (target.kind == SM_TARGET_TENSOR) return sm_stream_check(target.tensor, err);
  if (target.kind == SM_TARGET_SCALAR) return SMELT_OK;
  if (err) *err = target.cause->error;
  return target.cause->error.code;
}

/* Dtype and shape of what is not poisoned. */
static bool look(const smelt_tensor *t, const char *user, smelt_dtype *dtype, sm_shape *shape) {
  sm_target target;
  if (sm_reference_peek(t, user, &target, NULL) != SMELT_OK) return false;
  *shape = (sm_shape){.rank = 0};
  *dtype = sm_scalar_dtype(target.scalar);
  if (target.kind != SM_TARGET_TENSOR) return target.kind == SM_TARGET_SCALAR;
  *dtype = target.tensor->dtype;
  *shape = target.tensor->shape;
  return sm_stream_check(target.tensor, NULL) == SMELT_OK;
}

smelt_dtype smelt_dtype_of(const smelt_tensor *t) {
  smelt_dtype dtype;
  sm_shape shape;
  return look(t, "dtype_of", &dtype, &shape) ? dtype : SMELT_DTYPE_NONE;
}

int smelt_rank(const smelt_tensor *t) {
  smelt_dtype dtype;
  sm_shape shape;
  return look(t, "rank", &dtype, &shape) ? shape.rank : -1;
}

int smelt_dims(const smelt_tensor *t, int64_t *dims) {
  smelt_dtype dtype;
  sm_shape shape;
  if (!look(t, "dims", &dtype, &shape)) return -1;
  for (int i = 0; dims && i < shape.rank; i++) dims[i] = shape.dims[i];
  return shape.rank;
}

int64_t smelt_count(const smelt_tensor *t) {
  smelt_dtype dtype;
  sm_shape shape;
  return look(t, "count", &dtype, &shape) ? sm_shape_count(&shape) : -1;
}

/* --- The operation table ------------------------------------------------------------------- */

size_t smelt_op_count(void) { return SM_OP_COUNT; }

const smelt_op_info *smelt_op_at(size_t i) { return i < SM_OP_COUNT ? &sm_op_infos[i] : NULL; }

const smelt_op_info *smelt_op_find(const char *name) {
  sm_opcode code = sm_op_find(name);
  return code < SM_OP_COUNT ? &sm_op_infos[code] : NULL;
}
