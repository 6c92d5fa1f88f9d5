/* SPDX-License-Identifier: Apache-2.0
 *
 * Views of buffers: what they keep alive, and reading through layouts, also of
 * memory that the host cannot see, and through the public interface. */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "api/context_state.h"
#include "api/reference.h"
#include "api_fixture.h"
#include "drivers/drivers.h"
#include "rt/host_memory.h"
#include "smelt/io.h"

/* --- A device far away ------------------------------------------------------------------------ */

static int downloads;
static size_t downloaded;

static smelt_status open_far(sm_device *device, const char *argument, smelt_error *err) {
  (void)device, (void)argument, (void)err;
  return SMELT_OK;
}
static void close_far(sm_device *device) { (void)device; }
static void *alloc_far(sm_device *device, size_t bytes) {
  (void)device;
  return malloc(bytes);
}
static void free_far(sm_device *device, void *data, size_t bytes) {
  (void)device, (void)bytes;
  free(data);
}
static smelt_status download_far(sm_device *device, const void *data, size_t offset, void *to, size_t bytes,
                                 smelt_error *err) {
  (void)device, (void)err;
  memcpy(to, (const char *)data + offset, bytes);
  downloads++;
  downloaded += bytes;
  return SMELT_OK;
}

static const sm_driver far_driver = {.name = "far",
                                     .open = open_far,
                                     .close = close_far,
                                     .alloc = alloc_far,
                                     .free = free_far,
                                     .upload = sm_host_upload,
                                     .download = download_far};
static const sm_driver *const drivers[] = {&sm_driver_ref, &far_driver, NULL};

static int allocations_left;

static void *allocate(void *user, void *ptr, size_t old, size_t size) {
  (void)user;
  if (size > 0 && allocations_left-- <= 0) return NULL;
  return sm_malloc_allocator.fn(NULL, ptr, old, size);
}
static const sm_allocator allocator = {allocate, NULL};
static const sm_log quiet = {.enabled = 0};

static void open_it(sm_device *device, const char *name) {
  smelt_error err = {0};
  allocations_left = 1000;
  CHECK_OK(sm_device_open(device, name, drivers, &allocator, &quiet, &err), err);
}

/* 0, 1, 2, ... */
static sm_buffer *count_up(sm_device *device, int32_t n) {
  smelt_error err = {0};
  sm_buffer *b;
  CHECK_OK(sm_buffer_create(device, (size_t)n * sizeof(int32_t), &b, &err), err);
  for (int32_t i = 0; i < n; i++) ((int32_t *)b->data)[i] = i;
  return b;
}

static const sm_shape matrix = {2, {3, 4}}, turned = {2, {4, 3}};

/* The matrix of twelve numbers, transposed and upside down. */
static void draw_layout(sm_layout *l) {
  sm_layout_dense(&matrix, l);
  sm_layout_permute(l, (int[]){1, 0}, l);
  sm_layout_flip(l, (int[]){0}, 1, l);
}

static void check_turned(const sm_buffer *b) {
  int32_t items[12];
  smelt_error err = {0};
  CHECK_OK(sm_buffer_read(b, SMELT_I32, &turned, items, &err), err);
  for (int i = 0; i < 12; i++) CHECK_I64(items[i], 3 - i / 3 + i % 3 * 4);
}

/* --- Life ----------------------------------------------------------------------------------------- */

TEST(a_view_keeps_its_base) {
  sm_device device;
  open_it(&device, "ref");
  smelt_error err = {0};
  sm_buffer *base = count_up(&device, 12), *view, *second;
  sm_layout l;
  draw_layout(&l);
  CHECK_OK(sm_buffer_view(base, SMELT_I32, &l, &view, &err), err);
  CHECK(view != base && view->base == base && view->borrowed && view->data == base->data);
  CHECK_OK(sm_buffer_view(view, SMELT_I32, &l, &second, &err), err);
  CHECK(second->base == base); /* not the view */
  sm_buffer_drop(base);
  sm_buffer_drop(view);
  check_turned(second);
  CHECK_I64(atomic_load(&device.live_bytes), 48);
  sm_buffer_drop(second);
  CHECK_I64(atomic_load(&device.live_bytes), 0);
  sm_device_close(&device);
}

TEST(the_same_in_the_same_order_is_the_base) {
  sm_device device;
  open_it(&device, "ref");
  smelt_error err = {0};
  sm_buffer *base = count_up(&device, 12), *view;
  sm_layout l;
  sm_layout_dense(&matrix, &l);
  CHECK_OK(sm_buffer_view(base, SMELT_I32, &l, &view, &err), err);
  CHECK(view == base);
  sm_buffer_drop(view);
  sm_layout_slice(&l, (smelt_range[]){{0, 2, 1}, {0, 4, 1}}, &(sm_shape){2, {2, 4}}, &l);
  CHECK(sm_layout_is_dense(&l) && l.offset == 0);
  CHECK_OK(sm_buffer_view(base, SMELT_I32, &l, &view, &err), err);
  CHECK(view != base); /* a part of it */
  sm_layout found;
  sm_buffer_layout(view, &l.shape, &found);
  CHECK(sm_layout_equal(&found, &l));
  sm_buffer_layout(base, &matrix, &found);
  sm_layout_dense(&matrix, &l);
  CHECK(sm_layout_equal(&found, &l));
  sm_buffer_drop(view);
  sm_buffer_drop(base);
  sm_device_close(&device);
}

static int freed;
static void count_free(void *user) {
  (void)user;
  freed++;
}

TEST(borrowed_memory_is_given_back_after_its_views) {
  sm_device device;
  open_it(&device, "ref");
  smelt_error err = {0};
  int32_t data[12];
  for (int i = 0; i < 12; i++) data[i] = i;
  sm_buffer *base, *view;
  sm_layout l;
  draw_layout(&l);
  CHECK_OK(sm_buffer_wrap(&device, data, sizeof data, count_free, NULL, &base, &err), err);
  CHECK_OK(sm_buffer_view(base, SMELT_I32, &l, &view, &err), err);
  sm_buffer_drop(base);
  CHECK_I64(freed, 0);
  check_turned(view);
  sm_buffer_drop(sm_buffer_ref(view));
  CHECK_I64(freed, 0);
  sm_buffer_drop(view);
  CHECK_I64(freed, 1);
  sm_device_close(&device);
}

/* --- Reading ------------------------------------------------------------------------------------------ */

TEST(far_memory_comes_in_one_piece) {
  sm_device device;
  open_it(&device, "far");
  smelt_error err = {0};
  sm_buffer *base = count_up(&device, 12), *view;
  sm_layout l, part;
  draw_layout(&l);
  CHECK_OK(sm_buffer_view(base, SMELT_I32, &l, &view, &err), err);
  check_turned(view);
  CHECK(downloads == 1 && downloaded == 48);
  sm_buffer_drop(view);
  sm_shape column = {1, {2}};
  sm_layout_dense(&(sm_shape){1, {12}}, &part);
  sm_layout_slice(&part, (smelt_range[]){{9, 4, -4}}, &column, &part);
  CHECK_OK(sm_buffer_view(base, SMELT_I32, &part, &view, &err), err);
  int32_t items[2] = {0};
  downloaded = 0;
  CHECK_OK(sm_buffer_read(view, SMELT_I32, &column, items, &err), err);
  CHECK(items[0] == 9 && items[1] == 5 && downloaded == 5 * sizeof(int32_t));
  allocations_left = 0;
  CHECK_STATUS(sm_buffer_read(view, SMELT_I32, &column, items, &err), SMELT_ERR_MEMORY);
  sm_buffer *none = view;
  CHECK_STATUS(sm_buffer_view(base, SMELT_I32, &l, &none, &err), SMELT_ERR_MEMORY);
  CHECK(none == NULL && atomic_load(&base->refs) == 2);
  sm_buffer_drop(view);
  sm_buffer_drop(base);
  sm_device_close(&device);
}

/* A tensor whose buffer is a view, as an executor may leave it. */
static smelt_tensor *turned_tensor(smelt_context *ctx) {
  smelt_error err = {0};
  sm_buffer *base, *view;
  sm_layout l;
  draw_layout(&l);
  CHECK_OK(sm_buffer_create(&ctx->device, 12 * sizeof(int32_t), &base, &err), err);
  for (int32_t i = 0; i < 12; i++) ((int32_t *)base->data)[i] = i;
  CHECK_OK(sm_buffer_view(base, SMELT_I32, &l, &view, &err), err);
  sm_buffer_drop(base);
  sm_stream *stream = sm_context_stream(ctx, &err);
  CHECK_OK(stream ? SMELT_OK : err.code, err);
  sm_tensor *t;
  CHECK_OK(sm_stream_input(stream, SMELT_I32, &turned, view, "view", &t, &err), err);
  return sm_reference_create((sm_target){.kind = SM_TARGET_TENSOR, .tensor = t});
}

TEST(read_through_the_public_interface) {
  static const int32_t expected[] = {3, 7, 11, 2, 6, 10, 1, 5, 9, 0, 4, 8};
  smelt_context *ctx = open_device("cpu");
  smelt_tensor *t = turned_tensor(ctx);
  int32_t items[12];
  char text[80], path[] = "/tmp/smelt-view-XXXXXX";
  smelt_error err = {0};
  CHECK_OK(smelt_read(t, SMELT_I32, items, sizeof items, &err), err);
  CHECK(memcmp(items, expected, sizeof items) == 0);
  CHECK_OK(smelt_format(t, text, sizeof text, NULL, &err), err);
  CHECK_STR(text, "[[ 3  7 11]\n [ 2  6 10]\n [ 1  5  9]\n [ 0  4  8]]");
  CHECK(close(mkstemp(path)) == 0);
  CHECK_OK(smelt_npy_save(t, path, &err), err);
  CHECK_OK(smelt_into_host(t, SMELT_I32, items, sizeof items, &err), err);
  CHECK_OK(smelt_npy_load(ctx, path, &t, &err), err);
  memset(items, 0, sizeof items);
  CHECK_OK(smelt_into_host(t, SMELT_I32, items, sizeof items, &err), err);
  CHECK(memcmp(items, expected, sizeof items) == 0);
  CHECK(unlink(path) == 0);
  close_context(ctx);
}

TEST_MAIN(CASE(a_view_keeps_its_base), CASE(the_same_in_the_same_order_is_the_base),
          CASE(borrowed_memory_is_given_back_after_its_views), CASE(far_memory_comes_in_one_piece),
          CASE(read_through_the_public_interface))
