/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "drivers/cuda_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"

static const char *const cuda_files[] = {"libcuda.so.1", "libcuda.so"};
static const char *const nvrtc_files[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                          "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"};
enum {
  N_CUDA_FILES = sizeof cuda_files / sizeof cuda_files[0],
  N_NVRTC_FILES = sizeof nvrtc_files / sizeof nvrtc_files[0]
};

/* The first file that can be opened and has everything; `find` fills the table. */
static void *open_first(const char *const *files, int n, bool (*find)(void *table, void *handle),
                        void *table) {
  for (int i = 0; i < n; i++) {
    void *handle = sm_library_open(files[i]);
    if (handle && find(table, handle)) return handle;
    if (handle) sm_library_close(handle);
  }
  return NULL;
}

/* --- The driver ------------------------------------------------------------------------ */

static bool find_cuda(void *table, void *handle) {
  sm_cuda *cuda = table;
  bool all = true;
#define CUDA(name, parameters) all = sm_library_symbol(handle, #name, &cuda->name) && all;
#include "drivers/cuda.def"
  return all;
}

static smelt_status open_cuda(sm_cuda *cuda, smelt_error *err) {
  const char *chosen = secure_getenv("SMELT_CUDA");
  if (chosen && strcmp(chosen, "0") == 0)
    return sm_error_set(err, SMELT_ERR_DEVICE, "CUDA is switched off by SMELT_CUDA=0");
  cuda->handle = chosen ? open_first(&chosen, 1, find_cuda, cuda)
                        : open_first(cuda_files, N_CUDA_FILES, find_cuda, cuda);
  if (cuda->handle) return SMELT_OK;
  if (chosen)
    return sm_error_set(err, SMELT_ERR_DEVICE, "SMELT_CUDA=%.200s is not a libcuda that can be used", chosen);
  return sm_library_not_found("libcuda", cuda_files, N_CUDA_FILES, SMELT_ERR_DEVICE, err);
}

smelt_status sm_cuda_open(sm_cuda *cuda, smelt_error *err) {
  memset(cuda, 0, sizeof *cuda);
  SM_TRY(open_cuda(cuda, err));
  CUresult code = cuda->cuInit(0);
  if (code == CUDA_SUCCESS) return SMELT_OK;
  sm_cuda_close(cuda);
  return sm_cuda_fail(err, SMELT_ERR_DEVICE, "cuInit", code);
}

void sm_cuda_close(sm_cuda *cuda) {
  if (cuda->handle) sm_library_close(cuda->handle);
  cuda->handle = NULL;
}

/* --- The compiler ------------------------------------------------------------------------ */

static bool find_nvrtc(void *table, void *handle) {
  sm_nvrtc *nvrtc = table;
  bool all = true;
#define NVRTC(name, parameters) all = sm_library_symbol(handle, #name, &nvrtc->name) && all;
#include "drivers/cuda.def"
  return all;
}

smelt_status sm_nvrtc_open(sm_nvrtc *nvrtc, smelt_error *err) {
  const char *chosen = secure_getenv("SMELT_NVRTC");
  int major = 0, minor = 0;
  memset(nvrtc, 0, sizeof *nvrtc);
  nvrtc->handle = chosen ? open_first(&chosen, 1, find_nvrtc, nvrtc)
                         : open_first(nvrtc_files, N_NVRTC_FILES, find_nvrtc, nvrtc);
  if (!nvrtc->handle && chosen)
    return sm_error_set(err, SMELT_ERR_COMPILE, "SMELT_NVRTC=%.200s is not a libnvrtc that can be used",
                        chosen);
  if (!nvrtc->handle)
    return sm_library_not_found("libnvrtc", nvrtc_files, N_NVRTC_FILES, SMELT_ERR_COMPILE, err);
  (void)nvrtc->nvrtcVersion(&major, &minor);
  (void)snprintf(nvrtc->version, sizeof nvrtc->version, "NVRTC %d.%d", major, minor);
  return SMELT_OK;
}

void sm_nvrtc_close(sm_nvrtc *nvrtc) {
  if (nvrtc->handle) sm_library_close(nvrtc->handle);
  nvrtc->handle = NULL;
}

/* --- Errors ---------------------------------------------------------------------------------- */

static const char *error_name(CUresult code) {
  switch (code) {
#define CUDA_ERROR(name, value) \
  case name:                    \
    return #name;
#include "drivers/cuda.def"
    default:
      return "an error";
  }
}

smelt_status sm_cuda_fail(smelt_error *err, smelt_status status, const char *function, CUresult code) {
  bool lacks_memory = code == CUDA_ERROR_OUT_OF_MEMORY;
  return sm_error_set(err, lacks_memory ? SMELT_ERR_MEMORY : status, "%s%s: %s (%d)",
                      lacks_memory ? "out of memory: " : "", function, error_name(code), code);
}

/* --- Devices ----------------------------------------------------------------------------------- */

static int attribute(const sm_cuda *cuda, CUdevice device, int which) {
  int value = 0;
  return cuda->cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

smelt_status sm_cuda_find(const sm_cuda *cuda, int number, sm_cuda_info *out, smelt_error *err) {
  *out = (sm_cuda_info){.name = "a device without a name"};
  CUresult code = cuda->cuDeviceGet(&out->id, number);
  if (code != CUDA_SUCCESS) return sm_cuda_fail(err, SMELT_ERR_DEVICE, "cuDeviceGet", code);
  (void)cuda->cuDeviceGetName(out->name, sizeof out->name - 1, out->id);
  (void)cuda->cuDeviceTotalMem_v2(&out->memory, out->id);
  out->major = attribute(cuda, out->id, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  out->minor = attribute(cuda, out->id, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  out->units = attribute(cuda, out->id, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  out->shared = attribute(cuda, out->id, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  out->pools = attribute(cuda, out->id, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  return SMELT_OK;
}

smelt_status sm_cuda_choose(const sm_cuda *cuda, const char *wanted, sm_cuda_info *out, smelt_error *err) {
  int n = 0;
  CUresult code = cuda->cuDeviceGetCount(&n);
  if (code != CUDA_SUCCESS) return sm_cuda_fail(err, SMELT_ERR_DEVICE, "cuDeviceGetCount", code);
  char *end = NULL;
  long number = wanted ? strtol(wanted, &end, 10) : 0;
  bool is_number = !wanted || (*wanted >= '0' && *wanted <= '9' && *end == 0);
  if (is_number && number < n) return sm_cuda_find(cuda, (int)number, out, err);
  return sm_error_set(err, SMELT_ERR_DEVICE, "no CUDA device \"%.60s\"; there are %d", wanted ? wanted : "0",
                      n);
}
