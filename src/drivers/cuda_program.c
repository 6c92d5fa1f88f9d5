/* SPDX-License-Identifier: Apache-2.0
 *
 * From texts to code of the device by NVRTC, and from code to kernels. */
#include "base/error.h"
#include "drivers/cuda_state.h"

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
  *out = (sm_object){.data = NULL};
  return sm_error_set(err, SMELT_ERR_COMPILE, "%s gives no code", nvrtc->version);
}

/* Contraction is off; everything else is exact by default. Compilers that know how to be quick are asked
 * to: they leave out what a kernel does not use of C++ and CUDA, and optimizations that take longest. */
static nvrtcResult run_compiler(const sm_cuda_device *d, nvrtcProgram program) {
  enum { EXACT = 2, QUICK = 4, NVRTC_ERROR_INVALID_OPTION = 5 };
  const char *const options[QUICK] = {d->architecture, "--fmad=false", "--minimal", "--Ofast-compile=min"};
  nvrtcResult result = d->nvrtc.nvrtcCompileProgram(program, QUICK, options);
  if (result != NVRTC_ERROR_INVALID_OPTION) return result;
  return d->nvrtc.nvrtcCompileProgram(program, EXACT, options);
}

static smelt_status compile_text(const sm_cuda_device *d, const char *text, const sm_allocator *allocator,
                                 sm_object *out, smelt_error *err) {
  nvrtcProgram program;
  if (d->nvrtc.nvrtcCreateProgram(&program, text, "kernel.cu", 0, NULL, NULL) != 0)
    return sm_error_set(err, SMELT_ERR_COMPILE, "%s makes no program", d->nvrtc.version);
  bool compiled = run_compiler(d, program) == 0;
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

/* --- Kernels ------------------------------------------------------------------------------------ */

/* `called` becomes what was called last. */
static CUresult take_function(const sm_cuda_device *d, sm_cuda_kernel *k, const char *name,
                              const char **called) {
  int shared = (int)k->base.given_shared;
  *called = "cuModuleGetFunction";
  CUresult result = d->cuda.cuModuleGetFunction(&k->function, k->module, name);
  if (result != CUDA_SUCCESS || shared == 0) return result;
  *called = "cuFuncSetAttribute";
  return d->cuda.cuFuncSetAttribute(k->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared);
}

smelt_status sm_cuda_load(sm_device *device, const sm_object *code, const char *name, sm_text_kernel *out,
                          smelt_error *err) {
  const sm_cuda_device *d = device->state;
  sm_cuda_kernel *k = (sm_cuda_kernel *)out;
  SM_TRY(sm_cuda_enter(d, err));
  CUresult result = d->cuda.cuModuleLoadData(&k->module, code->data);
  const char *function = "cuModuleLoadData";
  if (result == CUDA_SUCCESS) {
    result = take_function(d, k, name, &function);
    if (result != CUDA_SUCCESS) (void)d->cuda.cuModuleUnload(k->module);
  }
  sm_cuda_leave(d);
  return result == CUDA_SUCCESS ? SMELT_OK : sm_cuda_fail(err, SMELT_ERR_COMPILE, function, result);
}

smelt_status sm_cuda_build(sm_device *device, const char *text, const char *name, sm_text_kernel *out,
                           sm_made_code *code, smelt_error *err) {
  sm_cuda_device *d = device->state;
  SM_TRY(open_and_compile(d, text, device->allocator, &code->object, err));
  code->compiler = d->nvrtc.version;
  return sm_cuda_load(device, &code->object, name, out, err);
}

smelt_status sm_cuda_compile(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err) {
  const sm_cuda_device *d = device->state;
  return sm_text_kernel_make(device, &d->maker, ir, out, err);
}

void sm_cuda_release(sm_device *device, sm_kernel *kernel) {
  const sm_cuda_device *d = device->state;
  sm_cuda_kernel *k = (sm_cuda_kernel *)kernel;
  if (sm_cuda_enter(d, NULL) == SMELT_OK) {
    (void)d->cuda.cuModuleUnload(k->module);
    sm_cuda_leave(d);
  }
  sm_text_kernel_free(device, &d->maker, &k->base);
}
