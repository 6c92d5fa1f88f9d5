/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/device.h"

#include <string.h>

#include "base/error.h"
#include "base/observer.h"
#include "base/os.h"
#include "rt/call_driver.h"

/* --- Devices --------------------------------------------------------------------- */

static const sm_driver *find_driver(const sm_driver *const *drivers, const char *name, size_t n) {
  for (; *drivers; drivers++) {
    if (strlen((*drivers)->name) == n && memcmp((*drivers)->name, name, n) == 0) return *drivers;
  }
  return NULL;
}

static smelt_status no_such_device(const char *spec, const sm_driver *const *drivers, smelt_error *err) {
  char list[200];
  size_t n = 0;
  for (; *drivers && n + strlen((*drivers)->name) + 3 < sizeof list; drivers++) {
    const char *separator = n ? ", " : "";
    memcpy(list + n, separator, strlen(separator));
    n += strlen(separator);
    memcpy(list + n, (*drivers)->name, strlen((*drivers)->name));
    n += strlen((*drivers)->name);
  }
  list[n] = 0;
  return sm_error_set(err, SMELT_ERR_DEVICE, "no device \"%.100s\"; there are %s", spec, list);
}

smelt_status sm_device_open(sm_device *device, const char *spec, const sm_driver *const *drivers,
                            const sm_allocator *allocator, const sm_log *log, smelt_error *err) {
  size_t n = strcspn(spec, ":");
  const sm_driver *driver = find_driver(drivers, spec, n);
  if (!driver) return no_such_device(spec, drivers, err);
  memset(device, 0, sizeof *device);
  device->driver = driver;
  device->allocator = allocator;
  device->log = log;
  if (!sm_mutex_init(&device->lock, SM_LOCK_DEVICE)) return sm_error_memory(err, "a lock");
  smelt_status status = sm_call_open(device, spec[n] ? spec + n + 1 : NULL, err);
  if (status != SMELT_OK) sm_mutex_destroy(&device->lock);
  return status;
}

void sm_device_close(sm_device *device) {
  sm_call_close(device);
  for (sm_buffer *b = device->spare, *next; b; b = next) {
    next = b->next;
    sm_free(device->allocator, b, sizeof *b);
  }
  sm_mutex_destroy(&device->lock);
}

sm_launch_size sm_launch_size_of(const sm_profile *profile, int64_t chunks) {
  int threads = profile->plane;
  while (threads <= profile->max_group / 2 && threads <= chunks / 2) threads *= 2;
  return (sm_launch_size){(chunks + threads - 1) / threads, threads};
}

/* --- Buffers ----------------------------------------------------------------------- */

static sm_buffer *take_spare(sm_device *device) {
  sm_lock(&device->lock);
  sm_buffer *buffer = device->spare;
  if (buffer) device->spare = buffer->next;
  sm_unlock(&device->lock);
  return buffer;
}

static void make_spare(sm_buffer *buffer) {
  sm_device *device = buffer->device;
  sm_lock(&device->lock);
  buffer->next = device->spare;
  device->spare = buffer;
  sm_unlock(&device->lock);
}

static sm_buffer *new_buffer(sm_device *device, size_t bytes) {
  sm_buffer *buffer = take_spare(device);
  if (!buffer) buffer = sm_alloc(device->allocator, sizeof *buffer);
  if (!buffer) return NULL;
  memset(buffer, 0, sizeof *buffer);
  atomic_init(&buffer->refs, 1);
  buffer->device = device;
  buffer->bytes = bytes;
  return buffer;
}

/* Memory of buffers was allocated, or freed. */
static void count_bytes(sm_device *device, int64_t change) {
  uint64_t before = atomic_fetch_add(&device->live_bytes, (uint64_t)change);
  if (change) sm_tell(device->log, memory, .bytes = change, .live_bytes = before + (uint64_t)change);
}

smelt_status sm_buffer_create(sm_device *device, size_t bytes, sm_buffer **out, smelt_error *err) {
  *out = NULL;
  sm_buffer *buffer = new_buffer(device, bytes);
  if (!buffer) return sm_error_memory(err, "a buffer");
  buffer->data = bytes ? sm_call_alloc(device, bytes) : NULL;
  if (bytes && !buffer->data) {
    make_spare(buffer);
    return sm_error_set(err, SMELT_ERR_MEMORY, "out of memory: %zu bytes of tensor data on %s", bytes,
                        device->driver->name);
  }
  count_bytes(device, (int64_t)bytes);
  *out = buffer;
  return SMELT_OK;
}

/* Copies the user's memory. */
static smelt_status copy_in(sm_device *device, const void *data, size_t bytes, sm_buffer **out,
                            smelt_error *err) {
  SM_TRY(sm_buffer_create(device, bytes, out, err));
  smelt_status status = bytes ? sm_call_upload(device, (*out)->data, 0, data, bytes, err) : SMELT_OK;
  if (status == SMELT_OK) return SMELT_OK;
  sm_buffer_drop(*out);
  *out = NULL;
  return status;
}

/* Looks at the user's memory. */
static smelt_status borrow(sm_device *device, const void *data, size_t bytes, sm_buffer **out,
                           smelt_error *err) {
  *out = new_buffer(device, bytes);
  if (!*out) return sm_error_memory(err, "a buffer");
  /* `borrowed` keeps every writer away, so dropping const is safe. */
  (*out)->data = (void *)(uintptr_t)data;
  (*out)->borrowed = true;
  return SMELT_OK;
}

smelt_status sm_buffer_wrap(sm_device *device, const void *data, size_t bytes, void (*free_fn)(void *),
                            void *user, sm_buffer **out, smelt_error *err) {
  SM_TRY((device->driver->host_memory ? borrow : copy_in)(device, data, bytes, out, err));
  (*out)->free_fn = free_fn;
  (*out)->user = user;
  return SMELT_OK;
}

/* --- Views --------------------------------------------------------------------------- */

/* A view and its layout are one block. */
typedef struct view {
  sm_buffer buffer;
  sm_layout layout;
} view;

static bool is_whole(const sm_buffer *base, smelt_dtype dtype, const sm_layout *layout) {
  return !base->layout && layout->offset == 0 && sm_layout_is_dense(layout) &&
         (size_t)sm_shape_bytes(&layout->shape, dtype) == base->bytes;
}

smelt_status sm_buffer_view(sm_buffer *base, smelt_dtype dtype, const sm_layout *layout, sm_buffer **out,
                            smelt_error *err) {
  *out = NULL;
  if (is_whole(base, dtype, layout)) {
    *out = sm_buffer_ref(base);
    return SMELT_OK;
  }
  view *v = sm_calloc(base->device->allocator, 1, sizeof *v);
  if (!v) return sm_error_memory(err, "a view");
  sm_buffer *root = base->base ? base->base : base;
  v->layout = *layout;
  v->buffer = (sm_buffer){.borrowed = true,
                          .device = root->device,
                          .data = root->data,
                          .bytes = root->bytes,
                          .base = sm_buffer_ref(root),
                          .layout = &v->layout};
  atomic_init(&v->buffer.refs, 1);
  *out = &v->buffer;
  return SMELT_OK;
}

void sm_buffer_layout(const sm_buffer *buffer, const sm_shape *shape, sm_layout *out) {
  if (buffer->layout) *out = *buffer->layout;
  else sm_layout_dense(shape, out);
}

/* Through a copy of the memory that the elements lie in. */
static smelt_status read_by_copy(const sm_buffer *buffer, size_t size, const sm_layout *layout, void *to,
                                 smelt_error *err) {
  sm_device *device = buffer->device;
  sm_layout in_copy = *layout;
  int64_t begin, end;
  sm_layout_bounds(layout, &begin, &end);
  size_t bytes = (size_t)(end - begin) * size;
  void *copy = sm_alloc(device->allocator, bytes);
  if (!copy) return sm_error_memory(err, "a copy of a view");
  in_copy.offset -= begin;
  smelt_status status = sm_call_download(device, buffer->data, (size_t)begin * size, copy, bytes, err);
  if (status == SMELT_OK) sm_layout_gather(&in_copy, size, copy, to);
  sm_free(device->allocator, copy, bytes);
  return status;
}

smelt_status sm_buffer_read(const sm_buffer *buffer, smelt_dtype dtype, const sm_shape *shape, void *to,
                            smelt_error *err) {
  sm_device *device = buffer->device;
  size_t size = smelt_dtype_size(dtype), bytes = (size_t)sm_shape_bytes(shape, dtype);
  sm_layout layout;
  sm_buffer_layout(buffer, shape, &layout);
  if (bytes == 0) return SMELT_OK;
  if (sm_layout_is_dense(&layout)) {
    return sm_call_download(device, buffer->data, (size_t)layout.offset * size, to, bytes, err);
  }
  if (!device->driver->host_memory) return read_by_copy(buffer, size, &layout, to, err);
  sm_layout_gather(&layout, size, buffer->data, to);
  return SMELT_OK;
}

/* --- References ------------------------------------------------------------------------ */

sm_buffer *sm_buffer_ref(sm_buffer *buffer) {
  atomic_fetch_add(&buffer->refs, 1);
  return buffer;
}

static void free_data(sm_buffer *buffer) {
  if (buffer->free_fn) buffer->free_fn(buffer->user);
  if (buffer->borrowed) return;
  sm_device *device = buffer->device;
  if (buffer->data) sm_call_free(device, buffer->data, buffer->bytes);
  count_bytes(device, -(int64_t)buffer->bytes);
}

void sm_buffer_drop(sm_buffer *buffer) {
  if (atomic_fetch_sub(&buffer->refs, 1) != 1) return;
  sm_buffer *base = buffer->base;
  if (base) {
    sm_free(buffer->device->allocator, buffer, sizeof(view));
    sm_buffer_drop(base);
  } else {
    free_data(buffer);
    make_spare(buffer);
  }
}
