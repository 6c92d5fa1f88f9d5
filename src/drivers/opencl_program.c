/* SPDX-License-Identifier: Apache-2.0
 *
 * From kernel IR to something that the device runs: a binary from the cache, or text and
 * the device's compiler. */
#include <string.h>

#include "base/error.h"
#include "codegen/c_family.h"
#include "drivers/opencl_kernel.h"

/* What a program is made of. */
typedef struct source {
  const char *text; /* NULL: */
  const sm_object *binary;
} source;

/* --- Building --------------------------------------------------------------------------- */

static smelt_status create_program(const sm_opencl_device *ocl, const source *from, cl_program *out,
                                   smelt_error *err) {
  cl_int code = CL_SUCCESS;
  if (from->text) {
    const char *text = from->text;
    *out = ocl->cl.clCreateProgramWithSource(ocl->context, 1, &text, NULL, &code);
    if (*out) return SMELT_OK;
    return sm_opencl_fail(err, SMELT_ERR_COMPILE, "clCreateProgramWithSource", code);
  }
  const unsigned char *bytes = from->binary->data;
  *out = ocl->cl.clCreateProgramWithBinary(ocl->context, 1, &ocl->info.id, &from->binary->size, &bytes, NULL,
                                           &code);
  return *out ? SMELT_OK : sm_opencl_fail(err, SMELT_ERR_COMPILE, "clCreateProgramWithBinary", code);
}

/* With the compiler's first words. */
static smelt_status fail_to_build(const sm_opencl_device *ocl, cl_program program, cl_int code,
                                  smelt_error *err) {
  char log[4096] = "";
  if (sm_opencl_lacks_memory(code)) return sm_opencl_fail(err, SMELT_ERR_COMPILE, "clBuildProgram", code);
  (void)ocl->cl.clGetProgramBuildInfo(program, ocl->info.id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
  return sm_error_set(err, SMELT_ERR_COMPILE, "the compiler of %.60s (%d): %.360s", ocl->info.name, (int)code,
                      log[0] ? log : "no log");
}

static smelt_status build_kernel(const sm_opencl_device *ocl, cl_program program, const char *name,
                                 cl_kernel *kernel, smelt_error *err) {
  cl_int code = ocl->cl.clBuildProgram(program, 1, &ocl->info.id, ocl->options, NULL, NULL);
  if (code != CL_SUCCESS) return fail_to_build(ocl, program, code, err);
  *kernel = ocl->cl.clCreateKernel(program, name, &code);
  return *kernel ? SMELT_OK : sm_opencl_fail(err, SMELT_ERR_COMPILE, "clCreateKernel", code);
}

static smelt_status build_from(const sm_opencl_device *ocl, const source *from, const char *name,
                               cl_program *program, cl_kernel *kernel, smelt_error *err) {
  SM_TRY(create_program(ocl, from, program, err));
  smelt_status status = build_kernel(ocl, *program, name, kernel, err);
  if (status != SMELT_OK) (void)ocl->cl.clReleaseProgram(*program);
  return status;
}

smelt_status sm_opencl_build(const sm_opencl_device *ocl, const char *text, const char *name,
                             cl_program *program, cl_kernel *kernel, smelt_error *err) {
  return build_from(ocl, &(source){.text = text}, name, program, kernel, err);
}

/* --- The cache ---------------------------------------------------------------------------- */

/* A binary holds the entry's name too. */
static sm_hash key_of(const sm_opencl_device *ocl, const sm_kir_kernel *ir) {
  sm_hash key = sm_kir_hash(ir);
  sm_hash_u64(&key, ocl->identity.lo);
  sm_hash_u64(&key, ocl->identity.hi);
  sm_hash_bytes(&key, ir->name, strlen(ir->name));
  return key;
}

static void log_line(const sm_device *device, const char *name, const char *what) {
  if (!sm_log_on(device->log, SM_LOG_COMPILE)) return;
  sm_text text;
  sm_text_init(&text, device->allocator);
  sm_text_addf(&text, "[compile] %s %s", name, what);
  sm_log_text(device->log, &text);
}

static bool build_cached(sm_device *device, sm_hash key, const char *name, sm_opencl_kernel *out) {
  const sm_opencl_device *ocl = device->state;
  sm_object binary;
  if (!sm_code_cache_get(&ocl->cache, key, &binary)) return false;
  const source from = {.binary = &binary};
  smelt_status status = build_from(ocl, &from, name, &out->program, &out->kernel, NULL);
  sm_free(device->allocator, binary.data, binary.size);
  log_line(device, name, status == SMELT_OK ? "from the cache" : "is refused as it is in the cache");
  return status == SMELT_OK;
}

/* Where there is no binary or no memory for it there is nothing to keep. */
static void keep_binary(sm_device *device, sm_hash key, cl_program program) {
  const sm_opencl_device *ocl = device->state;
  sm_object binary = {.data = NULL};
  cl_int code =
      ocl->cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof binary.size, &binary.size, NULL);
  if (code != CL_SUCCESS || !binary.size) return;
  binary.data = sm_alloc(device->allocator, binary.size);
  if (!binary.data) return;
  code = ocl->cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary.data, &binary.data, NULL);
  if (code == CL_SUCCESS) sm_code_cache_put(&ocl->cache, key, ocl->info.driver, &binary);
  sm_free(device->allocator, binary.data, binary.size);
}

/* --- Kernels -------------------------------------------------------------------------------- */

/* For groups of any size, and any number of elements. */
static smelt_status print_source(const sm_kir_kernel *ir, sm_text *text, smelt_error *err) {
  SM_TRY(sm_c_family_text(ir, &sm_dialect_opencl, (sm_text_form){.narrow = false}, text, err));
  return text->failed ? sm_error_memory(err, "a kernel's text") : SMELT_OK;
}

static smelt_status build_text(sm_device *device, const sm_kir_kernel *ir, sm_hash key, sm_opencl_kernel *out,
                               smelt_error *err) {
  const sm_opencl_device *ocl = device->state;
  sm_text text;
  sm_text_init(&text, device->allocator);
  smelt_status status = print_source(ir, &text, err);
  if (status == SMELT_OK && sm_log_on(device->log, SM_LOG_SOURCE)) sm_log_line(device->log, text.data);
  if (status == SMELT_OK)
    status = sm_opencl_build(ocl, text.data, ir->name, &out->program, &out->kernel, err);
  if (status == SMELT_OK) keep_binary(device, key, out->program);
  sm_text_free(&text);
  return status;
}

smelt_status sm_opencl_compile(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err) {
  const sm_opencl_device *ocl = device->state;
  SM_TRY(sm_opencl_check(ocl, err));
  sm_hash key = key_of(ocl, ir);
  sm_opencl_kernel *kernel = sm_calloc(device->allocator, 1, sizeof *kernel);
  if (!kernel) return sm_error_memory(err, "a kernel");
  kernel->by_value = sm_c_family_by_value(ir, &sm_dialect_opencl);
  kernel->has_table = sm_c_family_has_table(ir);
  kernel->base.from_cache = build_cached(device, key, ir->name, kernel);
  if (!kernel->base.from_cache) {
    smelt_status status = build_text(device, ir, key, kernel, err);
    if (status != SMELT_OK) {
      sm_free(device->allocator, kernel, sizeof *kernel);
      return status;
    }
  }
  kernel->base.ir = *ir;
  *out = &kernel->base;
  return SMELT_OK;
}

void sm_opencl_release(sm_device *device, sm_kernel *kernel) {
  const sm_opencl_device *ocl = device->state;
  sm_opencl_kernel *k = (sm_opencl_kernel *)kernel;
  if (sm_opencl_check(ocl, NULL) == SMELT_OK) {
    (void)ocl->cl.clReleaseKernel(k->kernel);
    (void)ocl->cl.clReleaseProgram(k->program);
  }
  sm_kir_free(&k->base.ir);
  sm_free(device->allocator, k, sizeof *k);
}
