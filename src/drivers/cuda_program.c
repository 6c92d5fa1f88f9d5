/* SPDX-License-Identifier: Apache-2.0
 *
 * From kernel IR to code of the device: from the cache, or by NVRTC. */
#include <string.h>

#include "base/error.h"
#include "codegen/c_family.h"
#include "drivers/cuda_state.h"

static void log_line(const sm_device *device, const char *name, const char *what) {
  if (!sm_log_on(device->log, SM_LOG_COMPILE)) return;
  sm_text text;
  sm_text_init(&text, device->allocator);
  sm_text_addf(&text, "[compile] %s %s", name, what);
  sm_log_text(device->log, &text);
}

/* --- Compiling ----------------------------------------------------------------------------- */

/* With the compiler's first words. */
static smelt_status fail_to_compile(const sm_nvrtc *nvrtc, nvrtcProgram program,
                                    const sm_allocator *allocator, smelt_error *err) {
  size_t size = 0;
  (void)nvrtc->nvrtcGetProgramLogSize(program, &size);
  char *log = size ? sm_alloc(allocator, size) : NULL;
  bool has_log = log && nvrtc->nvrtcGetProgramLog(program, log) == 0;
  smelt_status status =
      sm_error_set(err, SMELT_ERR_COMPILE, "%s: %.380s", nvrtc->version, has_log ? log : "no log");
  sm_free(allocator, log, size);
  return status;
}

static smelt_status take_code(const sm_nvrtc *nvrtc, nvrtcProgram program, const sm_allocator *allocator,
                              sm_object *out, smelt_error *err) {
  *out = (sm_object){.data = NULL};
  if (nvrtc->nvrtcGetCUBINSize(program, &out->size) != 0 || out->size == 0)
    return sm_error_set(err, SMELT_ERR_COMPILE, "%s gives no code", nvrtc->version);
  out->data = sm_alloc(allocator, out->size);
  if (!out->data) return sm_error_memory(err, "a kernel's code");
  if (nvrtc->nvrtcGetCUBIN(program, out->data) == 0) return SMELT_OK;
  sm_free(allocator, out->data, out->size);
  return sm_error_set(err, SMELT_ERR_COMPILE, "%s gives no code", nvrtc->version);
}

/* Contraction is off; everything else is exact by default. */
static smelt_status compile_text(const sm_cuda_device *d, const char *text, const sm_allocator *allocator,
                                 sm_object *out, smelt_error *err) {
  const char *const options[] = {d->architecture, "--fmad=false"};
  nvrtcProgram program;
  if (d->nvrtc.nvrtcCreateProgram(&program, text, "kernel.cu", 0, NULL, NULL) != 0)
    return sm_error_set(err, SMELT_ERR_COMPILE, "%s makes no program", d->nvrtc.version);
  bool compiled = d->nvrtc.nvrtcCompileProgram(program, sizeof options / sizeof options[0], options) == 0;
  smelt_status status = compiled ? take_code(&d->nvrtc, program, allocator, out, err)
                                 : fail_to_compile(&d->nvrtc, program, allocator, err);
  (void)d->nvrtc.nvrtcDestroyProgram(&program);
  return status;
}

/* NVRTC is opened for the first kernel that is not in the cache. One at a time: not every
 * version lets threads compile side by side. */
static smelt_status open_and_compile(sm_cuda_device *d, const char *text, const sm_allocator *allocator,
                                     sm_object *out, smelt_error *err) {
  sm_lock(&d->compiling);
  smelt_status status = d->nvrtc.handle ? SMELT_OK : sm_nvrtc_open(&d->nvrtc, err);
  if (status == SMELT_OK) status = compile_text(d, text, allocator, out, err);
  sm_unlock(&d->compiling);
  return status;
}

static smelt_status generate(sm_device *device, const sm_kir_kernel *ir, sm_object *out, smelt_error *err) {
  sm_cuda_device *d = device->state;
  sm_text text;
  sm_text_init(&text, device->allocator);
  sm_text_form form = {.group = d->profile.max_group};
  smelt_status status = sm_c_family_text(ir, &sm_dialect_cuda, form, &text, err);
  if (status == SMELT_OK) status = open_and_compile(d, text.data, device->allocator, out, err);
  if (status == SMELT_OK && sm_log_on(device->log, SM_LOG_SOURCE)) sm_log_text(device->log, &text);
  else sm_text_free(&text);
  return status;
}

/* --- Kernels ------------------------------------------------------------------------------------ */

static smelt_status load(const sm_cuda_device *d, const sm_object *code, const char *name,
                         sm_cuda_kernel *out, smelt_error *err) {
  SM_TRY(sm_cuda_enter(d, err));
  CUresult result = d->cuda.cuModuleLoadData(&out->module, code->data);
  const char *function = "cuModuleLoadData";
  if (result == CUDA_SUCCESS) {
    function = "cuModuleGetFunction";
    result = d->cuda.cuModuleGetFunction(&out->function, out->module, name);
    if (result != CUDA_SUCCESS) (void)d->cuda.cuModuleUnload(out->module);
  }
  sm_cuda_leave(d);
  return result == CUDA_SUCCESS ? SMELT_OK : sm_cuda_fail(err, SMELT_ERR_COMPILE, function, result);
}

/* Code holds the entry's name, and is for one architecture. */
static sm_hash key_of(const sm_cuda_device *d, const sm_kir_kernel *ir) {
  sm_hash key = sm_kir_hash(ir);
  sm_hash_bytes(&key, d->architecture, strlen(d->architecture));
  sm_hash_bytes(&key, ir->name, strlen(ir->name));
  return key;
}

static bool load_cached(sm_device *device, sm_hash key, const char *name, sm_cuda_kernel *out) {
  const sm_cuda_device *d = device->state;
  sm_object code;
  if (!sm_code_cache_get(&d->cache, key, &code)) return false;
  smelt_status status = load(d, &code, name, out, NULL);
  sm_free(device->allocator, code.data, code.size);
  log_line(device, name, status == SMELT_OK ? "from the cache" : "is refused as it is in the cache");
  return status == SMELT_OK;
}

static smelt_status load_new(sm_device *device, sm_hash key, const sm_kir_kernel *ir, sm_cuda_kernel *out,
                             smelt_error *err) {
  const sm_cuda_device *d = device->state;
  sm_object code;
  SM_TRY(generate(device, ir, &code, err));
  smelt_status status = load(d, &code, ir->name, out, err);
  if (status == SMELT_OK) sm_code_cache_put(&d->cache, key, d->nvrtc.version, &code);
  sm_free(device->allocator, code.data, code.size);
  return status;
}

smelt_status sm_cuda_compile(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err) {
  sm_hash key = key_of(device->state, ir);
  sm_cuda_kernel *kernel = sm_calloc(device->allocator, 1, sizeof *kernel);
  if (!kernel) return sm_error_memory(err, "a kernel");
  kernel->by_value = sm_c_family_by_value(ir, &sm_dialect_cuda);
  kernel->has_table = sm_c_family_has_table(ir);
  kernel->base.from_cache = load_cached(device, key, ir->name, kernel);
  smelt_status status = kernel->base.from_cache ? SMELT_OK : load_new(device, key, ir, kernel, err);
  if (status != SMELT_OK) {
    sm_free(device->allocator, kernel, sizeof *kernel);
    return status;
  }
  kernel->base.ir = *ir;
  *out = &kernel->base;
  return SMELT_OK;
}

void sm_cuda_release(sm_device *device, sm_kernel *kernel) {
  const sm_cuda_device *d = device->state;
  sm_cuda_kernel *k = (sm_cuda_kernel *)kernel;
  if (sm_cuda_enter(d, NULL) == SMELT_OK) {
    (void)d->cuda.cuModuleUnload(k->module);
    sm_cuda_leave(d);
  }
  sm_kir_free(&k->base.ir);
  sm_free(device->allocator, k, sizeof *k);
}
