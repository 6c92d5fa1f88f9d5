/* SPDX-License-Identifier: Apache-2.0
 *
 * From kernel IR to code that runs: the cache first, then libLLVM. */
#include "base/error.h"
#include "drivers/cpu_state.h"

static void log_line(const sm_device *device, const char *format, const char *a, const char *b) {
  if (!sm_log_on(device->log, SM_LOG_COMPILE)) return;
  sm_text text;
  sm_text_init(&text, device->allocator);
  sm_text_add(&text, "[compile] ");
  sm_text_addf(&text, format, a, b);
  sm_log_text(device->log, &text);
}

static smelt_status need_level(const sm_device *device, smelt_error *err) {
  const sm_cpu_device *cpu = device->state;
  if (cpu->level > SM_CPU_BASELINE) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_UNSUPPORTED, "no code is generated for this processor's vectors");
}

/* Opens libLLVM at the first call: true if that is this one, and fails. The lock is held. */
static bool fail_to_open_llvm(sm_cpu_device *cpu) {
  if (cpu->llvm_tried) return false;
  cpu->llvm_tried = true;
  return sm_llvm_open(&cpu->llvm, cpu->llvm_file.data, &cpu->refusal) != SMELT_OK;
}

/* What code is generated from. */
static smelt_status simplify(const sm_kir_kernel *ir, sm_kir_kernel *out, smelt_error *err) {
  sm_kir_kernel primitive;
  SM_TRY(sm_kir_expand(ir, &primitive, err));
  smelt_status status = sm_kir_fold(&primitive, out, err);
  sm_kir_free(&primitive);
  return status;
}

static smelt_status generate(sm_device *device, const sm_kir_kernel *ir, sm_object *out, smelt_error *err) {
  sm_cpu_device *cpu = device->state;
  sm_kir_kernel simple;
  sm_text text;
  bool wanted = sm_log_on(device->log, SM_LOG_SOURCE);
  SM_TRY(simplify(ir, &simple, err));
  sm_text_init(&text, device->allocator);
  smelt_status status =
      sm_llvm_compile(&cpu->llvm, &simple, cpu->level, device->allocator, out, wanted ? &text : NULL, err);
  if (wanted && status == SMELT_OK) sm_log_text(device->log, &text);
  else sm_text_free(&text);
  sm_kir_free(&simple);
  return status;
}

/* What it finds out does not change any more. */
static smelt_status need_llvm(sm_device *device, smelt_error *err) {
  sm_cpu_device *cpu = device->state;
  sm_lock(&cpu->lock);
  bool refused_now = fail_to_open_llvm(cpu);
  sm_unlock(&cpu->lock);
  if (refused_now) log_line(device, "interpreter: %s%s", cpu->refusal.text, "");
  if (cpu->llvm.handle) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_UNSUPPORTED, "%s", cpu->refusal.text);
}

static smelt_status compile(sm_device *device, const sm_kir_kernel *ir, sm_object *out, smelt_error *err) {
  SM_TRY(need_level(device, err));
  SM_TRY(need_llvm(device, err));
  return generate(device, ir, out, err);
}

static smelt_status load(const sm_device *device, const char *name, sm_object *object, sm_code *out,
                         smelt_error *err) {
  const sm_cpu_device *cpu = device->state;
  smelt_status status = sm_code_load(object->data, object->size, SM_OBJECT_ENTRY, out, err);
  sm_free(device->allocator, object->data, object->size);
  if (status == SMELT_OK) sm_profiler_add(cpu->profiler, out, name);
  return status;
}

smelt_status sm_cpu_code(sm_device *device, const sm_kir_kernel *ir, sm_code *out, bool *from_cache,
                         smelt_error *err) {
  sm_cpu_device *cpu = device->state;
  sm_object object;
  sm_hash key = sm_kir_hash(ir);
  *from_cache = sm_code_cache_get(&cpu->cache, key, &object);
  if (*from_cache) {
    log_line(device, "%s from the cache%s", ir->name, "");
    if (load(device, ir->name, &object, out, err) == SMELT_OK) return SMELT_OK;
    *from_cache = false;
  }
  smelt_status status = compile(device, ir, &object, err);
  if (status != SMELT_OK) {
    log_line(device, "%s is interpreted: %s", ir->name, err->text);
    return status;
  }
  sm_code_cache_put(&cpu->cache, key, cpu->llvm.name, &object);
  return load(device, ir->name, &object, out, err);
}

void sm_cpu_describe(sm_device *device, sm_text *text) {
  const sm_cpu_device *cpu = device->state;
  smelt_error why;
  sm_text_addf(text, "%s, %d thread(s), ", sm_cpu_level_name(cpu->level), sm_pool_threads(cpu->pool));
  if (need_level(device, &why) == SMELT_OK && need_llvm(device, &why) == SMELT_OK) {
    sm_text_addf(text, "code by %s", cpu->llvm.name);
  } else {
    sm_text_addf(text, "interpreter: %s", why.text);
  }
}
