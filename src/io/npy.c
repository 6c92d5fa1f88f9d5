/* SPDX-License-Identifier: Apache-2.0 */
#include "smelt/io.h"

#include <string.h>

#include "base/error.h"
#include "io/file.h"
#include "io/npy_header.h"
#include "io/npy_layout.h"

/* Host memory for one file at a time. */
static const sm_allocator *const memory = &sm_malloc_allocator;

/* The path in front of what went wrong with the file; only its end if it is so
 * long that it would push the reason out of the message. */
static smelt_status with_path(smelt_error *err, const char *path, const smelt_error *cause) {
  enum { SHOWN = 240 };
  size_t n = strlen(path);
  bool cut = n > SHOWN;
  return sm_error_set(err, cause->code, "%s%s: %s", cut ? "..." : "", path + (cut ? n - SHOWN : 0),
                      cause->text);
}

/* --- Loading ------------------------------------------------------------------- */

static smelt_status read_prefix(const sm_file *file, sm_npy_prefix *prefix, smelt_error *err) {
  unsigned char bytes[SM_NPY_PREFIX];
  size_t n = file->size < sizeof bytes ? file->size : sizeof bytes;
  SM_TRY(sm_file_read(file, 0, bytes, n, err));
  SM_TRY(sm_npy_prefix_parse(bytes, n, prefix, err));
  size_t end = prefix->header_at + prefix->header_len;
  if (end <= file->size) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_FORMAT, "truncated: the header ends at offset %zu, the file at %zu", end,
                      file->size);
}

static smelt_status read_header(const sm_file *file, const sm_npy_prefix *prefix, sm_npy_header *header,
                                smelt_error *err) {
  char *text = sm_alloc(memory, prefix->header_len);
  if (!text) return sm_error_memory(err, "header");
  smelt_status status = sm_file_read(file, prefix->header_at, text, prefix->header_len, err);
  if (status == SMELT_OK) {
    status = sm_npy_header_parse(text, prefix->header_len, prefix->header_at, header, err);
  }
  sm_free(memory, text, prefix->header_len);
  return status;
}

/* Before memory is allocated for what a damaged header may claim. Bytes after
 * the data are ignored, as NumPy does: several arrays may share a file. */
static smelt_status check_length(const sm_npy_header *header, size_t need, size_t have, smelt_error *err) {
  if (need <= have) return SMELT_OK;
  char text[SM_SHAPE_TEXT];
  return sm_error_set(err, SMELT_ERR_FORMAT, "truncated: %s needs %zu bytes of data, %zu are there",
                      sm_shape_text(text, header->dtype, &header->shape), need, have);
}

/* A new tensor from data in C order, or the reason that it is poisoned. */
static smelt_status make_tensor(smelt_context *ctx, const sm_npy_header *header, const void *data,
                                smelt_tensor **out, smelt_error *err) {
  smelt_tensor *t = smelt_from_host(ctx, header->dtype, header->shape.rank, header->shape.dims, data);
  smelt_status status = smelt_check(t, err);
  if (status == SMELT_OK) *out = t;
  else smelt_drop(t);
  return status;
}

static smelt_status make_reordered(smelt_context *ctx, const sm_npy_header *header, const void *data,
                                   size_t bytes, smelt_tensor **out, smelt_error *err) {
  if (!header->fortran || header->shape.rank < 2) return make_tensor(ctx, header, data, out, err);
  void *rows = sm_alloc(memory, bytes);
  if (!rows) return sm_error_memory(err, "data in C order");
  sm_npy_to_c_order(rows, data, &header->shape, smelt_dtype_size(header->dtype));
  smelt_status status = make_tensor(ctx, header, rows, out, err);
  sm_free(memory, rows, bytes);
  return status;
}

static smelt_status read_tensor(smelt_context *ctx, const sm_file *file, size_t at,
                                const sm_npy_header *header, smelt_tensor **out, smelt_error *err) {
  size_t bytes = (size_t)sm_shape_bytes(&header->shape, header->dtype);
  SM_TRY(check_length(header, bytes, file->size - at, err));
  void *data = sm_alloc(memory, bytes);
  if (!data) return sm_error_memory(err, "data");
  smelt_status status = sm_file_read(file, at, data, bytes, err);
  if (status == SMELT_OK) {
    size_t size = smelt_dtype_size(header->dtype);
    bool foreign = header->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    if (foreign) sm_npy_swap_bytes(data, bytes / size, size);
    status = make_reordered(ctx, header, data, bytes, out, err);
  }
  sm_free(memory, data, bytes);
  return status;
}

static smelt_status load(smelt_context *ctx, const sm_file *file, smelt_tensor **out, smelt_error *err) {
  sm_npy_prefix prefix;
  sm_npy_header header;
  SM_TRY(read_prefix(file, &prefix, err));
  SM_TRY(read_header(file, &prefix, &header, err));
  return read_tensor(ctx, file, prefix.header_at + prefix.header_len, &header, out, err);
}

smelt_status smelt_npy_load(smelt_context *ctx, const char *path, smelt_tensor **out, smelt_error *err) {
  if (out) *out = NULL;
  if (!ctx || !path || !out) {
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_npy_load: %s is NULL",
                        !ctx    ? "ctx"
                        : !path ? "path"
                                : "out");
  }
  sm_file file;
  smelt_error cause;
  smelt_status status = sm_file_open(&file, path, &cause);
  if (status == SMELT_OK) {
    status = load(ctx, &file, out, &cause);
    sm_file_close(&file);
  }
  return status == SMELT_OK ? SMELT_OK : with_path(err, path, &cause);
}

/* --- Saving -------------------------------------------------------------------- */

static smelt_status write_file(const char *path, smelt_dtype dtype, const sm_shape *shape, void *data,
                               smelt_error *err) {
  sm_text header;
  sm_text_init(&header, memory);
  sm_npy_header_print(&header, dtype, shape);
  struct iovec pieces[] = {{header.data, header.len}, {data, (size_t)sm_shape_bytes(shape, dtype)}};
  smelt_error cause;
  smelt_status status =
      header.failed ? sm_error_memory(&cause, "header") : sm_file_write(path, pieces, 2, &cause);
  sm_text_free(&header);
  return status == SMELT_OK ? SMELT_OK : with_path(err, path, &cause);
}

smelt_status smelt_npy_save(const smelt_tensor *t, const char *path, smelt_error *err) {
  if (!path) return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_npy_save: path is NULL");
  SM_TRY(smelt_check(t, err));
  smelt_dtype dtype = smelt_dtype_of(t);
  if (!sm_dtype_info_of(dtype)->npy) {
    return sm_error_set(err, SMELT_ERR_DTYPE, "%s: .npy has no element type for %s; convert with astype",
                        path, smelt_dtype_name(dtype));
  }
  sm_shape shape;
  shape.rank = smelt_dims(t, shape.dims);
  size_t bytes = (size_t)sm_shape_bytes(&shape, dtype);
  void *data = sm_alloc(memory, bytes);
  if (!data) return sm_error_memory(err, "data to save");
  smelt_status status = smelt_read(t, dtype, data, bytes, err);
  if (status == SMELT_OK) status = write_file(path, dtype, &shape, data, err);
  sm_free(memory, data, bytes);
  return status;
}
