/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors as text. */
#include <stdio.h>

#include "api/reference.h"
#include "base/error.h"
#include "base/float_env.h"
#include "core/array_text.h"

/* The elements of a tensor or weak scalar, read into `data` (`bytes` long). */
static smelt_status format(const smelt_tensor *t, smelt_dtype dtype, const sm_shape *shape, void *data,
                           size_t bytes, sm_text *text, smelt_error *err) {
  SM_TRY(smelt_read(t, dtype, data, bytes, err));
  sm_float_env host = sm_float_env_enter(); /* of digits too, rounding is ours */
  sm_array_print(text, dtype, shape, data);
  sm_float_env_leave(&host);
  return text->failed ? sm_error_memory(err, "the text of a tensor") : SMELT_OK;
}

/* On success `text` is the caller's to free; it is empty on failure. */
static smelt_status text_of(const smelt_tensor *t, sm_text *text, smelt_error *err) {
  sm_text_init(text, &sm_malloc_allocator);
  SM_TRY(smelt_check(t, err));
  smelt_dtype dtype = smelt_dtype_of(t);
  sm_shape shape;
  shape.rank = smelt_dims(t, shape.dims);
  size_t bytes = (size_t)sm_shape_bytes(&shape, dtype);
  void *data = sm_alloc(&sm_malloc_allocator, bytes);
  if (!data) return sm_error_memory(err, "the elements of a tensor");
  smelt_status status = format(t, dtype, &shape, data, bytes, text, err);
  sm_free(&sm_malloc_allocator, data, bytes);
  if (status != SMELT_OK) sm_text_free(text);
  return status;
}

smelt_status smelt_format(const smelt_tensor *t, char *buf, size_t size, size_t *needed, smelt_error *err) {
  sm_text text;
  if (size && !buf) return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_format: the buffer is NULL");
  SM_TRY(text_of(t, &text, err));
  sm_text_copy(&text, buf, size, needed);
  sm_text_free(&text);
  return SMELT_OK;
}

smelt_status smelt_print(const smelt_tensor *t, smelt_error *err) {
  sm_text text;
  SM_TRY(text_of(t, &text, err));
  sm_text_add(&text, "\n");
  bool written = !text.failed && fwrite(text.data, 1, text.len, stdout) == text.len && fflush(stdout) == 0;
  sm_text_free(&text);
  return written ? SMELT_OK : sm_error_set(err, SMELT_ERR_IO, "standard output could not be written");
}
