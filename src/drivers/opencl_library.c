/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "drivers/opencl_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"

static const char *const file_names[] = {"libOpenCL.so.1", "libOpenCL.so"};
enum { N_FILE_NAMES = sizeof file_names / sizeof file_names[0] };

static bool find_symbols(sm_opencl *cl) {
  bool all = true;
#define OPENCL(result, name, parameters) all = sm_library_symbol(cl->handle, #name, &cl->name) && all;
#include "drivers/opencl.def"
  return all;
}

static bool open_file(sm_opencl *cl, const char *file) {
  cl->handle = sm_library_open(file);
  if (!cl->handle) return false;
  if (find_symbols(cl)) return true;
  sm_opencl_close(cl);
  return false;
}

smelt_status sm_opencl_open(sm_opencl *cl, smelt_error *err) {
  memset(cl, 0, sizeof *cl);
  const char *chosen = secure_getenv("SMELT_OPENCL");
  if (chosen && strcmp(chosen, "0") == 0)
    return sm_error_set(err, SMELT_ERR_DEVICE, "OpenCL is switched off by SMELT_OPENCL=0");
  if (chosen) {
    if (open_file(cl, chosen)) return SMELT_OK;
    return sm_error_set(err, SMELT_ERR_DEVICE, "SMELT_OPENCL=%.200s is not a libOpenCL that can be used",
                        chosen);
  }
  for (int i = 0; i < N_FILE_NAMES; i++) {
    if (open_file(cl, file_names[i])) return SMELT_OK;
  }
  return sm_library_not_found("libOpenCL", file_names, N_FILE_NAMES, SMELT_ERR_DEVICE, err);
}

void sm_opencl_close(sm_opencl *cl) {
  if (cl->handle) sm_library_close(cl->handle);
  cl->handle = NULL;
}

/* --- Errors --------------------------------------------------------------------------- */

static const char *error_name(cl_int code) {
  switch (code) {
#define OPENCL_ERROR(name, value) \
  case name:                      \
    return #name;
#include "drivers/opencl.def"
    default:
      return "unknown error";
  }
}

bool sm_opencl_lacks_memory(cl_int code) {
  return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
         code == CL_OUT_OF_HOST_MEMORY;
}

smelt_status sm_opencl_fail(smelt_error *err, smelt_status status, const char *function, cl_int code) {
  bool lacks_memory = sm_opencl_lacks_memory(code);
  return sm_error_set(err, lacks_memory ? SMELT_ERR_MEMORY : status, "%s%s: %s (%d)",
                      lacks_memory ? "out of memory: " : "", function, error_name(code), (int)code);
}

/* --- Devices -------------------------------------------------------------------------- */

uint64_t sm_opencl_number(const sm_opencl *cl, cl_device_id device, cl_uint property) {
  uint64_t value = 0; /* properties have 4 or 8 bytes; the machine is little-endian as all that have OpenCL */
  return cl->clGetDeviceInfo(device, property, sizeof value, &value, NULL) == CL_SUCCESS ? value : 0;
}

static void get_text(const sm_opencl *cl, cl_device_id device, cl_uint property, char text[SM_OPENCL_TEXT]) {
  char all[1024] = "";
  if (cl->clGetDeviceInfo(device, property, sizeof all, all, NULL) != CL_SUCCESS) all[0] = 0;
  (void)snprintf(text, SM_OPENCL_TEXT, "%.*s", SM_OPENCL_TEXT - 1, all);
}

static void get_platform_text(const sm_opencl *cl, cl_platform_id platform, cl_uint property,
                              char text[SM_OPENCL_TEXT]) {
  char all[1024] = "";
  if (cl->clGetPlatformInfo(platform, property, sizeof all, all, NULL) != CL_SUCCESS) all[0] = 0;
  (void)snprintf(text, SM_OPENCL_TEXT, "%.*s", SM_OPENCL_TEXT - 1, all);
}

static void describe(const sm_opencl *cl, cl_platform_id platform, cl_device_id id, sm_opencl_info *out) {
  out->id = id;
  out->gpu = sm_opencl_number(cl, id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU;
  get_text(cl, id, CL_DEVICE_NAME, out->name);
  get_text(cl, id, CL_DRIVER_VERSION, out->driver);
  get_platform_text(cl, platform, CL_PLATFORM_NAME, out->platform);
  get_platform_text(cl, platform, CL_PLATFORM_VERSION, out->version);
}

static int list_platform(const sm_opencl *cl, cl_platform_id platform, int n, sm_opencl_info *infos) {
  cl_device_id ids[SM_OPENCL_DEVICES];
  cl_uint found = 0, room = (cl_uint)(SM_OPENCL_DEVICES - n);
  if (!room || cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, room, ids, &found) != CL_SUCCESS) return n;
  for (cl_uint i = 0; i < found && i < room; i++) describe(cl, platform, ids[i], &infos[n++]);
  return n;
}

int sm_opencl_list(const sm_opencl *cl, sm_opencl_info infos[SM_OPENCL_DEVICES]) {
  cl_platform_id platforms[SM_OPENCL_DEVICES];
  cl_uint found = 0;
  int n = 0;
  if (cl->clGetPlatformIDs(SM_OPENCL_DEVICES, platforms, &found) != CL_SUCCESS) return 0;
  for (cl_uint i = 0; i < found && i < SM_OPENCL_DEVICES; i++) n = list_platform(cl, platforms[i], n, infos);
  return n;
}

/* --- The choice --------------------------------------------------------------------------- */

static bool is_number(const char *text) { return text[0] && strspn(text, "0123456789") == strlen(text); }

static bool has_text(const sm_opencl_info *info, const char *text) {
  return strcasestr(info->name, text) || strcasestr(info->platform, text) || strcasestr(info->version, text);
}

/* The number of the device that is meant, or -1. */
static int find_wanted(const sm_opencl_info *infos, int n, const char *wanted) {
  if (wanted && is_number(wanted)) {
    long number = strtol(wanted, NULL, 10);
    return number < n ? (int)number : -1;
  }
  for (int i = 0; i < n; i++) {
    if (wanted ? wanted[0] && has_text(&infos[i], wanted) : infos[i].gpu) return i;
  }
  return wanted || n == 0 ? -1 : 0;
}

smelt_status sm_opencl_choose(const sm_opencl *cl, const char *wanted, sm_opencl_info *out,
                              smelt_error *err) {
  sm_opencl_info infos[SM_OPENCL_DEVICES];
  int n = sm_opencl_list(cl, infos), at = find_wanted(infos, n, wanted);
  if (n == 0) return sm_error_set(err, SMELT_ERR_DEVICE, "libOpenCL knows no device");
  if (at < 0) {
    return sm_error_set(err, SMELT_ERR_DEVICE, "no OpenCL device \"%.60s\"; there are %d, the first is %s",
                        wanted, n, infos[0].name);
  }
  *out = infos[at];
  return SMELT_OK;
}
