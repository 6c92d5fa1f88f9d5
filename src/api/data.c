/* SPDX-License-Identifier: Apache-2.0
 *
 * Data in and out. */
#include <string.h>

#include "api/context_state.h"
#include "api/reference.h"
#include "base/error.h"
#include "base/float_env.h"
#include "rt/call_driver.h"

static smelt_tensor *poisoned(const smelt_error *err) { return sm_reference_poison(sm_cause_create(err)); }

/* --- In ---------------------------------------------------------------------------------- */

/* What every source of data checks, before it has memory. */
static smelt_status check_source(const smelt_context *ctx, smelt_dtype dtype, int rank, const int64_t *dims,
                                 const void *data, sm_shape *shape, smelt_error *err) {
  if (!ctx) return sm_error_set(err, SMELT_ERR_ARGUMENT, "the context is NULL");
  SM_TRY(sm_shape_make(shape, dtype, rank, dims, err));
  if (!data && sm_shape_count(shape) > 0) return sm_error_set(err, SMELT_ERR_ARGUMENT, "data is NULL");
  return sm_stream_check_entry(err);
}

static smelt_status check_alignment(smelt_dtype dtype, const void *data, smelt_error *err) {
  if ((uintptr_t)data % smelt_dtype_size(dtype) == 0) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_ARGUMENT, "data is not aligned for %s", smelt_dtype_name(dtype));
}

/* Uploads in pieces so that bools can be made 0 and 1 on the way. */
static smelt_status upload_bools(sm_buffer *buffer, const unsigned char *data, smelt_error *err) {
  sm_device *device = buffer->device;
  unsigned char piece[4096];
  for (size_t at = 0; at < buffer->bytes; at += sizeof piece) {
    size_t n = buffer->bytes - at < sizeof piece ? buffer->bytes - at : sizeof piece;
    for (size_t i = 0; i < n; i++) piece[i] = data[at + i] != 0;
    SM_TRY(sm_call_upload(device, buffer->data, at, piece, n, err));
  }
  return SMELT_OK;
}

static smelt_status upload(sm_buffer *buffer, smelt_dtype dtype, const void *data, smelt_error *err) {
  if (dtype == SMELT_BOOL) return upload_bools(buffer, data, err);
  if (!buffer->bytes) return SMELT_OK;
  return sm_call_upload(buffer->device, buffer->data, 0, data, buffer->bytes, err);
}

static smelt_status make_input(smelt_context *ctx, smelt_dtype dtype, const sm_shape *shape,
                               sm_buffer *buffer, const char *origin, smelt_tensor **out, smelt_error *err) {
  sm_tensor *t;
  sm_stream *s = sm_context_stream(ctx, err);
  if (!s) return SMELT_ERR_MEMORY;
  SM_TRY(sm_stream_input(s, dtype, shape, buffer, origin, &t, err));
  *out = sm_reference_create((sm_target){.kind = SM_TARGET_TENSOR, .tensor = t});
  return SMELT_OK;
}

static smelt_status copy_in(smelt_context *ctx, smelt_dtype dtype, const sm_shape *shape, const void *data,
                            const char *origin, smelt_tensor **out, smelt_error *err) {
  sm_buffer *buffer;
  SM_TRY(sm_buffer_create(&ctx->device, (size_t)sm_shape_bytes(shape, dtype), &buffer, err));
  smelt_status status = upload(buffer, dtype, data, err);
  if (status == SMELT_OK) status = make_input(ctx, dtype, shape, buffer, origin, out, err);
  if (status != SMELT_OK) sm_buffer_drop(buffer);
  return status;
}

smelt_tensor *smelt_from_host(smelt_context *ctx, smelt_dtype dtype, int rank, const int64_t *dims,
                              const void *data) {
  smelt_error err;
  sm_shape shape;
  smelt_tensor *t = NULL;
  smelt_status status = check_source(ctx, dtype, rank, dims, data, &shape, &err);
  if (status == SMELT_OK) status = copy_in(ctx, dtype, &shape, data, "from_host", &t, &err);
  return status == SMELT_OK ? t : poisoned(&err);
}

smelt_tensor *smelt_wrap(smelt_context *ctx, smelt_dtype dtype, int rank, const int64_t *dims,
                         const void *data, void (*free_fn)(void *user), void *user) {
  smelt_error err;
  sm_shape shape;
  sm_buffer *buffer = NULL;
  smelt_tensor *t = NULL;
  smelt_status status = check_source(ctx, dtype, rank, dims, data, &shape, &err);
  if (status == SMELT_OK) status = check_alignment(dtype, data, &err);
  if (status == SMELT_OK) {
    size_t bytes = (size_t)sm_shape_bytes(&shape, dtype);
    status = sm_buffer_wrap(&ctx->device, data, bytes, free_fn, user, &buffer, &err);
  }
  if (status == SMELT_OK) status = make_input(ctx, dtype, &shape, buffer, "wrap", &t, &err);
  if (status == SMELT_OK) return t;
  if (buffer) sm_buffer_drop(buffer);
  else if (free_fn) free_fn(user);
  return poisoned(&err);
}

/* By way of host memory. */
static smelt_status copy_across(sm_tensor *t, smelt_context *ctx, smelt_tensor **out, smelt_error *err) {
  size_t bytes = (size_t)sm_shape_bytes(&t->shape, t->dtype);
  SM_TRY(sm_stream_resolve(t, err));
  void *elements = sm_alloc(&ctx->allocator, bytes);
  if (!elements) return sm_error_memory(err, "a copy of a tensor");
  smelt_status status = sm_buffer_read(t->buffer, t->dtype, &t->shape, elements, err);
  if (status == SMELT_OK) status = copy_in(ctx, t->dtype, &t->shape, elements, "to_device", out, err);
  sm_free(&ctx->allocator, elements, bytes);
  return status;
}

smelt_tensor *smelt_to_device(smelt_tensor *t, smelt_context *ctx) {
  smelt_error err;
  smelt_tensor *copy = NULL;
  sm_target target = sm_reference_take(t, "to_device");
  bool foreign = target.kind == SM_TARGET_TENSOR && target.tensor->stream->set->owner != ctx;
  if (target.kind == SM_TARGET_POISON || (ctx && !foreign)) return sm_reference_create(target);
  smelt_status status = ctx ? copy_across(target.tensor, ctx, &copy, &err)
                            : sm_error_set(&err, SMELT_ERR_ARGUMENT, "to_device: the context is NULL");
  sm_target_release(target);
  return status == SMELT_OK ? copy : poisoned(&err);
}

static smelt_tensor *weak(sm_scalar s) {
  return sm_reference_create((sm_target){.kind = SM_TARGET_SCALAR, .scalar = s});
}

smelt_tensor *smelt_scalar_f64(double value) { return weak((sm_scalar){SM_KIND_FLOAT, {.f64 = value}}); }
smelt_tensor *smelt_scalar_i64(int64_t value) { return weak((sm_scalar){SM_KIND_SINT, {.i64 = value}}); }
smelt_tensor *smelt_scalar_bool(bool value) { return weak((sm_scalar){SM_KIND_BOOL, {.b = value}}); }

/* Only values beyond i64 need the unsigned kind; i64 meets more dtypes. */
smelt_tensor *smelt_scalar_u64(uint64_t value) {
  if (value <= INT64_MAX) return smelt_scalar_i64((int64_t)value);
  return weak((sm_scalar){SM_KIND_UINT, {.u64 = value}});
}

/* --- Out ---------------------------------------------------------------------------------- */

static smelt_status check_room(const char *user, smelt_dtype own, size_t own_bytes, smelt_dtype dtype,
                               const void *buf, size_t bytes, smelt_error *err) {
  if (dtype != own) {
    return sm_error_set(err, SMELT_ERR_DTYPE, "smelt_%s: the tensor is %s, not %s", user,
                        smelt_dtype_name(own), smelt_dtype_name(dtype));
  }
  if (bytes != own_bytes) {
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_%s: the tensor has %zu bytes, the buffer %zu", user,
                        own_bytes, bytes);
  }
  if (bytes && !buf) return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_%s: the buffer is NULL", user);
  return SMELT_OK;
}

static smelt_status read_scalar(const char *user, sm_scalar s, smelt_dtype dtype, void *buf, size_t bytes,
                                smelt_error *err) {
  smelt_dtype own = sm_scalar_dtype(s);
  SM_TRY(check_room(user, own, smelt_dtype_size(own), dtype, buf, bytes, err));
  sm_word word;
  sm_float_env host = sm_float_env_enter();
  smelt_status status = sm_scalar_convert(s, own, &word, err);
  sm_float_env_leave(&host);
  SM_TRY(status);
  memcpy(buf, &word, bytes);
  return SMELT_OK;
}

static smelt_status read_tensor(const char *user, sm_tensor *t, smelt_dtype dtype, void *buf, size_t bytes,
                                smelt_error *err) {
  SM_TRY(check_room(user, t->dtype, (size_t)sm_shape_bytes(&t->shape, t->dtype), dtype, buf, bytes, err));
  SM_TRY(sm_stream_resolve(t, err));
  return sm_buffer_read(t->buffer, dtype, &t->shape, buf, err);
}

static smelt_status tell_cause(const sm_cause *cause, smelt_error *err) {
  if (err) *err = cause->error;
  return cause->error.code;
}

static smelt_status read_target(const char *user, const sm_target *target, smelt_dtype dtype, void *buf,
                                size_t bytes, smelt_error *err) {
  if (target->kind == SM_TARGET_SCALAR) return read_scalar(user, target->scalar, dtype, buf, bytes, err);
  if (target->kind == SM_TARGET_TENSOR) {
    SM_TRY(sm_stream_check(target->tensor, err));
    return read_tensor(user, target->tensor, dtype, buf, bytes, err);
  }
  return tell_cause(target->cause, err);
}

smelt_status smelt_read(const smelt_tensor *t, smelt_dtype dtype, void *buf, size_t bytes, smelt_error *err) {
  sm_target target;
  SM_TRY(sm_reference_peek(t, "read", &target, err));
  return read_target("read", &target, dtype, buf, bytes, err);
}

smelt_status smelt_into_host(smelt_tensor *t, smelt_dtype dtype, void *buf, size_t bytes, smelt_error *err) {
  sm_target target = sm_reference_take(t, "into_host");
  smelt_status status = read_target("into_host", &target, dtype, buf, bytes, err);
  sm_target_release(target);
  return status;
}

/* --- Single elements ------------------------------------------------------------------------- */

static smelt_status read_element(const char *user, sm_tensor *t, sm_scalar *out, smelt_error *err) {
  sm_word word;
  SM_TRY(sm_stream_check(t, err));
  if (sm_shape_count(&t->shape) != 1) {
    char shape[SM_SHAPE_TEXT];
    return sm_error_set(err, SMELT_ERR_SHAPE, "smelt_%s: %s does not have one element", user,
                        sm_shape_text(shape, t->dtype, &t->shape));
  }
  SM_TRY(read_tensor(user, t, t->dtype, &word, smelt_dtype_size(t->dtype), err));
  sm_float_env host = sm_float_env_enter();
  *out = sm_scalar_of(t->dtype, &word);
  sm_float_env_leave(&host);
  return SMELT_OK;
}

static smelt_status read_item(const smelt_tensor *t, const char *user, sm_scalar *out, smelt_error *err) {
  sm_target target;
  SM_TRY(sm_reference_peek(t, user, &target, err));
  if (target.kind == SM_TARGET_TENSOR) return read_element(user, target.tensor, out, err);
  *out = target.scalar;
  return target.kind == SM_TARGET_SCALAR ? SMELT_OK : tell_cause(target.cause, err);
}

static smelt_status check_out(const char *user, const void *out, smelt_error *err) {
  return out ? SMELT_OK : sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_%s: out is NULL", user);
}

/* Not inlined, so that the conversion stays where the host's rounding is off. */
__attribute__((noinline)) static double number_of(sm_scalar s) {
  if (s.kind == SM_KIND_FLOAT) return s.as.f64;
  return s.kind == SM_KIND_SINT ? (double)s.as.i64 : (double)s.as.u64;
}

smelt_status smelt_item_f64(const smelt_tensor *t, double *out, smelt_error *err) {
  sm_scalar s;
  SM_TRY(check_out("item_f64", out, err));
  SM_TRY(read_item(t, "item_f64", &s, err));
  if (s.kind == SM_KIND_BOOL) return sm_error_set(err, SMELT_ERR_DTYPE, "smelt_item_f64: the tensor is bool");
  sm_float_env host = sm_float_env_enter();
  *out = number_of(s);
  sm_float_env_leave(&host);
  return SMELT_OK;
}

smelt_status smelt_item_i64(const smelt_tensor *t, int64_t *out, smelt_error *err) {
  sm_scalar s;
  SM_TRY(check_out("item_i64", out, err));
  SM_TRY(read_item(t, "item_i64", &s, err));
  bool integer = s.kind == SM_KIND_SINT || (s.kind == SM_KIND_UINT && s.as.u64 <= INT64_MAX);
  if (!integer) {
    return sm_error_set(err, SMELT_ERR_DTYPE, "smelt_item_i64: the element is not an integer that fits i64");
  }
  *out = s.as.i64;
  return SMELT_OK;
}

smelt_status smelt_item_bool(const smelt_tensor *t, bool *out, smelt_error *err) {
  sm_scalar s;
  SM_TRY(check_out("item_bool", out, err));
  SM_TRY(read_item(t, "item_bool", &s, err));
  /* Of floats the bits but for the sign: a comparison takes denormal numbers for zero if the host flushes. */
  *out = s.kind == SM_KIND_FLOAT ? s.as.u64 << 1 != 0 : s.kind == SM_KIND_BOOL ? s.as.b : s.as.u64 != 0;
  return SMELT_OK;
}

static smelt_status eval_one(const smelt_tensor *t, const char *user, smelt_error *err) {
  sm_target target;
  SM_TRY(sm_reference_peek(t, user, &target, err));
  if (target.kind == SM_TARGET_TENSOR) return sm_stream_resolve(target.tensor, err);
  return target.kind == SM_TARGET_SCALAR ? SMELT_OK : tell_cause(target.cause, err);
}

smelt_status smelt_eval(const smelt_tensor *const *list, size_t n, smelt_error *err) {
  smelt_status first = SMELT_OK;
  if (n && !list) return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_eval: the list is NULL");
  for (size_t i = 0; i < n; i++) {
    smelt_status status = eval_one(list[i], "eval", first == SMELT_OK ? err : NULL);
    if (first == SMELT_OK) first = status;
  }
  return first;
}

smelt_status smelt_share(const smelt_tensor *t, smelt_error *err) { return eval_one(t, "share", err); }
