/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "drivers/drivers.h"
#include "drivers/opencl_state.h"

/* Groups of 64 are best on PoCL: more of them than threads, and longer than it takes to begin one. */
enum {
  MOST_GROUP = 256,
  MOST_GROUP_NO_GPU = 64,
  PLANE = 32,
  LEAST_VECTOR = 16,
  MOST_VECTOR = 64,
  ARGUMENT_BYTES = 32
};

smelt_status sm_opencl_check(const sm_opencl_device *ocl, smelt_error *err) {
  if (ocl->process == sm_thread_process()) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_FORKED, "%.60s was opened before the process was forked",
                      ocl->info.name);
}

/* --- Properties ------------------------------------------------------------------------ */

/* f32 vectors of 16 bytes, as far as possible of the registers' size. Half of the bytes that
 * arguments may have are for buffers. A processor runs the threads of a group one after another,
 * from barrier to barrier: what they have in common costs it more than it saves (softmax of
 * columns by PoCL takes four times as long). */
static void fill_profile(sm_opencl_device *ocl) {
  uint64_t lanes = sm_opencl_number(&ocl->cl, ocl->info.id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT),
           group = sm_opencl_number(&ocl->cl, ocl->info.id, CL_DEVICE_MAX_WORK_GROUP_SIZE),
           shared = sm_opencl_number(&ocl->cl, ocl->info.id, CL_DEVICE_LOCAL_MEM_SIZE),
           bytes = sm_opencl_number(&ocl->cl, ocl->info.id, CL_DEVICE_MAX_PARAMETER_SIZE),
           cache = sm_opencl_number(&ocl->cl, ocl->info.id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  uint64_t vector = lanes * 4 < LEAST_VECTOR  ? LEAST_VECTOR
                    : lanes * 4 > MOST_VECTOR ? MOST_VECTOR
                                              : lanes * 4;
  uint64_t most = ocl->info.gpu ? MOST_GROUP : MOST_GROUP_NO_GPU;
  ocl->profile = (sm_profile){.name = "opencl",
                              .vector_bytes = (uint16_t)vector,
                              .max_bindings = (int)(bytes / ARGUMENT_BYTES),
                              .cache_bytes = ocl->info.gpu ? 0 : cache,
                              .plane = group < PLANE ? 1 : PLANE,
                              .max_group = (int)(group < most ? group : most),
                              .shared_bytes = ocl->info.gpu ? (uint32_t)shared : 0};
}

/* Contraction is off in the text; quotients and roots are rounded where the device can. */
static void choose_options(sm_opencl_device *ocl) {
  uint64_t config = sm_opencl_number(&ocl->cl, ocl->info.id, CL_DEVICE_SINGLE_FP_CONFIG);
  bool rounded = config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
  (void)snprintf(ocl->options, sizeof ocl->options, "-cl-std=CL1.2 -w%s",
                 rounded ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
}

static void fill_maker(sm_device *device, sm_opencl_device *ocl) {
  const char *const parts[] = {ocl->info.name, ocl->info.platform, ocl->info.version, ocl->info.driver,
                               ocl->options};
  ocl->maker = (sm_kernel_maker){.dialect = &sm_dialect_opencl,
                                 .identity = sm_hash_start(),
                                 .kernel_size = sizeof(sm_opencl_kernel),
                                 .build = sm_opencl_build_text,
                                 .load = sm_opencl_load};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    sm_hash_bytes(&ocl->maker.identity, parts[i], strlen(parts[i]));
  sm_code_cache_open(&ocl->maker.cache, SM_CPU_BASELINE, device->allocator, device->log);
}

/* --- Opening --------------------------------------------------------------------------------- */

static smelt_status create_queue(sm_opencl_device *ocl, smelt_error *err) {
  cl_int code = CL_SUCCESS;
  ocl->context = ocl->cl.clCreateContext(NULL, 1, &ocl->info.id, NULL, NULL, &code);
  if (!ocl->context) return sm_opencl_fail(err, SMELT_ERR_DEVICE, "clCreateContext", code);
  ocl->queue = ocl->cl.clCreateCommandQueue(ocl->context, ocl->info.id, 0, &code);
  if (!ocl->queue) return sm_opencl_fail(err, SMELT_ERR_DEVICE, "clCreateCommandQueue", code);
  return SMELT_OK;
}

static bool init_locks(sm_opencl_device *ocl) {
  if (!sm_mutex_init(&ocl->launching, SM_LOCK_DRIVER)) return false;
  if (sm_kept_init(&ocl->kept, sm_opencl_give_back, ocl)) return true;
  sm_mutex_destroy(&ocl->launching);
  return false;
}

static smelt_status open_parts(sm_opencl_device *ocl, const char *wanted, smelt_error *err) {
  SM_TRY(sm_opencl_open(&ocl->cl, err));
  SM_TRY(sm_opencl_choose(&ocl->cl, wanted, &ocl->info, err));
  uint64_t bytes = sm_opencl_number(&ocl->cl, ocl->info.id, CL_DEVICE_GLOBAL_MEM_SIZE);
  SM_TRY(sm_kept_limit(&ocl->kept, bytes, err));
  return create_queue(ocl, err);
}

/* Of whatever there is, but the locks are. */
static void free_parts(const sm_device *device, sm_opencl_device *ocl) {
  if (ocl->queue) (void)ocl->cl.clReleaseCommandQueue(ocl->queue);
  if (ocl->context) (void)ocl->cl.clReleaseContext(ocl->context);
  sm_opencl_close(&ocl->cl);
  sm_kept_close(&ocl->kept);
  sm_mutex_destroy(&ocl->launching);
  sm_free(device->allocator, ocl, sizeof *ocl);
}

static smelt_status open_opencl(sm_device *device, const char *argument, smelt_error *err) {
  sm_opencl_device *ocl = sm_calloc(device->allocator, 1, sizeof *ocl);
  if (!ocl || !init_locks(ocl)) {
    sm_free(device->allocator, ocl, sizeof *ocl);
    return sm_error_memory(err, "a device");
  }
  ocl->process = sm_thread_process();
  smelt_status status = open_parts(ocl, argument, err);
  if (status != SMELT_OK) {
    free_parts(device, ocl);
    return status;
  }
  fill_profile(ocl);
  choose_options(ocl);
  fill_maker(device, ocl);
  device->profile = &ocl->profile;
  device->detail = ocl->info.name;
  device->state = ocl;
  return SMELT_OK;
}

static void close_opencl(sm_device *device) {
  sm_opencl_device *ocl = device->state;
  if (sm_opencl_check(ocl, NULL) != SMELT_OK) ocl->queue = NULL, ocl->context = NULL;
  if (ocl->queue) {
    (void)ocl->cl.clFinish(ocl->queue);
    sm_kept_trim(&ocl->kept);
  }
  sm_code_cache_close(&ocl->maker.cache);
  free_parts(device, ocl);
}

static smelt_status wait_for_all(sm_device *device, smelt_error *err) {
  const sm_opencl_device *ocl = device->state;
  SM_TRY(sm_opencl_check(ocl, err));
  cl_int code = ocl->cl.clFinish(ocl->queue);
  return code == CL_SUCCESS ? SMELT_OK : sm_opencl_fail(err, SMELT_ERR_LAUNCH, "clFinish", code);
}

/* --- For people ------------------------------------------------------------------------------- */

static void describe_devices(const sm_opencl *cl, sm_text *text) {
  sm_opencl_info infos[SM_OPENCL_DEVICES];
  int n = sm_opencl_list(cl, infos);
  for (int i = 0; i < n; i++) {
    bool has_f64 = sm_opencl_number(cl, infos[i].id, CL_DEVICE_DOUBLE_FP_CONFIG);
    sm_text_addf(text, "opencl:%-9d %s, %s, %d unit(s)%s\n", i, infos[i].name, infos[i].platform,
                 (int)sm_opencl_number(cl, infos[i].id, CL_DEVICE_MAX_COMPUTE_UNITS),
                 has_f64 ? "" : ", no f64");
  }
  if (n == 0) sm_text_add(text, "opencl           none: libOpenCL knows no device\n");
}

void sm_opencl_describe(sm_text *text) {
  sm_opencl cl;
  smelt_error err;
  if (sm_opencl_open(&cl, &err) == SMELT_OK) describe_devices(&cl, text);
  else sm_text_addf(text, "opencl           none: %s\n", err.text);
  sm_opencl_close(&cl);
}

const sm_driver sm_driver_opencl = {
    .name = "opencl",
    .runs_kernels = true,
    .open = open_opencl,
    .close = close_opencl,
    .alloc = sm_opencl_alloc,
    .free = sm_opencl_free,
    .upload = sm_opencl_upload,
    .download = sm_opencl_download,
    .wait = wait_for_all,
    .compile = sm_opencl_compile,
    .from_cache = sm_ir_kernel_from_cache,
    .release = sm_opencl_release,
    .launch = sm_opencl_launch,
};
