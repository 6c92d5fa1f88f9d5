/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/text_kernel.h"

#include <string.h>

#include "base/error.h"

static void log_line(const sm_device *device, const char *name, const char *what) {
  if (!sm_log_on(device->log, SM_LOG_COMPILE)) return;
  sm_text text;
  sm_text_init(&text, device->allocator);
  sm_text_addf(&text, "[compile] %s %s", name, what);
  sm_log_text(device->log, &text);
}

/* Code holds the entry's name too. */
static sm_hash key_of(const sm_kernel_maker *maker, const sm_kir_kernel *ir) {
  sm_hash key = sm_kir_hash(ir);
  sm_hash_u64(&key, maker->identity.lo);
  sm_hash_u64(&key, maker->identity.hi);
  sm_hash_bytes(&key, ir->name, strlen(ir->name));
  return key;
}

static bool load_cached(sm_device *device, const sm_kernel_maker *maker, sm_hash key, const char *name,
                        sm_text_kernel *out) {
  sm_object code;
  if (!sm_code_cache_get(&maker->cache, key, &code)) return false;
  smelt_status status = maker->load(device, &code, name, out, NULL);
  sm_free(device->allocator, code.data, code.size);
  log_line(device, name, status == SMELT_OK ? "from the cache" : "is refused as it is in the cache");
  return status == SMELT_OK;
}

static smelt_status build_new(sm_device *device, const sm_kernel_maker *maker, sm_hash key,
                              const sm_kir_kernel *ir, sm_text_kernel *out, smelt_error *err) {
  sm_text text;
  sm_made_code code = {.compiler = ""};
  sm_text_init(&text, device->allocator);
  smelt_status status = sm_c_family_text(ir, maker->dialect, maker->form, &text, err);
  if (status == SMELT_OK && sm_log_on(device->log, SM_LOG_SOURCE)) sm_log_line(device->log, text.data);
  if (status == SMELT_OK) status = maker->build(device, text.data, ir->name, out, &code, err);
  if (status == SMELT_OK && code.object.data)
    sm_code_cache_put(&maker->cache, key, code.compiler, &code.object);
  sm_free(device->allocator, code.object.data, code.object.size);
  sm_text_free(&text);
  return status;
}

smelt_status sm_text_kernel_make(sm_device *device, const sm_kernel_maker *maker, sm_kir_kernel *ir,
                                 sm_kernel **out, smelt_error *err) {
  sm_hash key = key_of(maker, ir);
  sm_text_kernel *kernel = sm_calloc(device->allocator, 1, maker->kernel_size);
  if (!kernel) return sm_error_memory(err, "a kernel");
  kernel->by_value = sm_c_family_by_value(ir, maker->dialect);
  kernel->has_table = sm_c_family_has_table(ir);
  kernel->given_shared = sm_c_family_given_shared(ir, maker->dialect);
  kernel->base.from_cache = load_cached(device, maker, key, ir->name, kernel);
  smelt_status status = kernel->base.from_cache ? SMELT_OK : build_new(device, maker, key, ir, kernel, err);
  if (status != SMELT_OK) {
    sm_free(device->allocator, kernel, maker->kernel_size);
    return status;
  }
  kernel->base.ir = *ir;
  *out = &kernel->base;
  return SMELT_OK;
}

void sm_text_kernel_free(sm_device *device, const sm_kernel_maker *maker, sm_text_kernel *kernel) {
  sm_kir_free(&kernel->base.ir);
  sm_free(device->allocator, kernel, maker->kernel_size);
}
