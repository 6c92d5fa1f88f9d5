/* SPDX-License-Identifier: Apache-2.0
 *
 * From a text, or a binary that has been kept, to something that the device runs. */
#include "base/error.h"
#include "drivers/opencl_state.h"

/* What a program is made of. */
typedef struct source {
  const char *text; /* unless there is: */
  const sm_object *binary;
} source;

/* --- Building --------------------------------------------------------------------------- */

static smelt_status create_program(const sm_opencl_device *ocl, const source *from, cl_program *out,
                                   smelt_error *err) {
  cl_int code = CL_SUCCESS;
  if (!from->binary) {
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

/* --- Kernels -------------------------------------------------------------------------------- */

/* Where there is no binary or no memory for it there is nothing to keep. */
static sm_object take_binary(const sm_opencl_device *ocl, cl_program program, const sm_allocator *allocator) {
  sm_object binary = {.data = NULL};
  cl_int code =
      ocl->cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof binary.size, &binary.size, NULL);
  if (code == CL_SUCCESS && binary.size) binary.data = sm_alloc(allocator, binary.size);
  if (!binary.data) return binary;
  code = ocl->cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary.data, &binary.data, NULL);
  if (code == CL_SUCCESS) return binary;
  sm_free(allocator, binary.data, binary.size);
  return (sm_object){.data = NULL};
}

smelt_status sm_opencl_build_text(sm_device *device, const char *text, const char *name, sm_text_kernel *out,
                                  sm_made_code *code, smelt_error *err) {
  const sm_opencl_device *ocl = device->state;
  sm_opencl_kernel *k = (sm_opencl_kernel *)out;
  SM_TRY(sm_opencl_build(ocl, text, name, &k->program, &k->kernel, err));
  *code = (sm_made_code){take_binary(ocl, k->program, device->allocator), ocl->info.driver};
  return SMELT_OK;
}

smelt_status sm_opencl_load(sm_device *device, const sm_object *code, const char *name, sm_text_kernel *out,
                            smelt_error *err) {
  sm_opencl_kernel *k = (sm_opencl_kernel *)out;
  return build_from(device->state, &(source){.binary = code}, name, &k->program, &k->kernel, err);
}

smelt_status sm_opencl_compile(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err) {
  const sm_opencl_device *ocl = device->state;
  SM_TRY(sm_opencl_check(ocl, err));
  return sm_text_kernel_make(device, &ocl->maker, ir, out, err);
}

void sm_opencl_release(sm_device *device, sm_kernel *kernel) {
  const sm_opencl_device *ocl = device->state;
  sm_opencl_kernel *k = (sm_opencl_kernel *)kernel;
  if (sm_opencl_check(ocl, NULL) == SMELT_OK) {
    (void)ocl->cl.clReleaseKernel(k->kernel);
    (void)ocl->cl.clReleaseProgram(k->program);
  }
  sm_text_kernel_free(device, &ocl->maker, &k->base);
}
