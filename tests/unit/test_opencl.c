/* SPDX-License-Identifier: Apache-2.0
 *
 * The OpenCL driver itself: choosing a device, a kernel written by hand, memory, the cache
 * on disk, what is missing and what fails. What it computes is the conformance suite's. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "code_on_disk.h"
#include "device_failures.h"
#include "device_fixture.h"
#include "drivers/drivers.h"
#include "drivers/opencl_state.h"

#include "group_kernels.h"

static const sm_log quiet = {.enabled = 0};

static void open_or_skip(sm_device *device) {
  smelt_error err = {0};
  smelt_status status = sm_device_open(device, "opencl", sm_drivers, &sm_malloc_allocator, &quiet, &err);
  if (status == SMELT_ERR_DEVICE) TEST_SKIP(err.text);
  CHECK_OK(status, err);
}

/* The test is skipped where there is no such device. */
static void need_opencl(void) {
  sm_device device;
  open_or_skip(&device);
  sm_device_close(&device);
}

static smelt_context *open_opencl(void) {
  need_opencl();
  return open_device("opencl");
}

/* exp(x + 1) of 1, 2, ... */
static void compute(smelt_context *ctx, float *to, int n) {
  float x[100];
  smelt_error err = {0};
  for (int i = 0; i < n; i++) x[i] = (float)i / 8;
  smelt_tensor *y = smelt_exp(smelt_add(smelt_from_host(ctx, SMELT_F32, DIMS(n), x), 1));
  CHECK_OK(smelt_into_host(y, SMELT_F32, to, (size_t)n * sizeof *to, &err), err);
}

/* --- Devices -------------------------------------------------------------------------- */

TEST(missing_library) {
  CHECK_I64(setenv("SMELT_OPENCL", "0", 1), 0);
  check_refused("opencl", "switched off");
  CHECK_I64(setenv("SMELT_OPENCL", "/no/such/library.so", 1), 0);
  check_refused("opencl", "/no/such/library.so is not a libOpenCL");
  CHECK_I64(setenv("SMELT_OPENCL", "libc.so.6", 1), 0);
  check_refused("opencl", "is not a libOpenCL");
}

TEST(missing_device) {
  sm_device device;
  open_or_skip(&device);
  sm_device_close(&device);
  check_refused("opencl:31", "no OpenCL device \"31\"");
  check_refused("opencl:99999999999999999999", "no OpenCL device");
  check_refused("opencl:no such thing", "no OpenCL device \"no such thing\"");
  check_refused("opencl:", "no OpenCL device \"\"");
}

/* A loader of another maker looks for them elsewhere. */
TEST(no_platform) {
  static const sm_log no_log = {.enabled = 0};
  sm_device device;
  CHECK_I64(setenv("OCL_ICD_VENDORS", "/no/such/folder", 1), 0);
  if (sm_device_open(&device, "opencl", sm_drivers, &sm_malloc_allocator, &no_log, NULL) == SMELT_OK) {
    sm_device_close(&device);
    TEST_SKIP("this libOpenCL has platforms that the environment does not take away");
  }
  check_refused("opencl", "libOpenCL");
}

TEST(devices_by_number_and_name) {
  sm_device device, same;
  smelt_error err = {0};
  char spec[SM_OPENCL_TEXT + 8];
  open_or_skip(&device);
  const sm_opencl_device *ocl = device.state;
  (void)snprintf(spec, sizeof spec, "opencl:%s", ocl->info.name);
  CHECK_OK(sm_device_open(&same, spec, sm_drivers, &sm_malloc_allocator, &quiet, &err), err);
  CHECK_STR(((const sm_opencl_device *)same.state)->info.name, ocl->info.name);
  sm_device_close(&same);
  CHECK_OK(sm_device_open(&same, "opencl:0", sm_drivers, &sm_malloc_allocator, &quiet, &err), err);
  sm_device_close(&same);
  CHECK(device.profile->vector_bytes >= 16 && device.profile->max_bindings >= 8 && !device.profile->chunked);
  sm_device_close(&device);
}

/* --- A kernel written by hand --------------------------------------------------------------- */

static const char twice[] =
    "__kernel void twice(__global int *a, long n) {\n"
    "  long i = get_global_id(0);\n"
    "  if (i < n) a[i] = 2 * a[i];\n"
    "}\n";

TEST(a_kernel_by_hand) {
  enum { N = 100 };
  sm_device device;
  smelt_error err = {0};
  int32_t values[N];
  int64_t n = N;
  cl_program program;
  cl_kernel kernel;
  sm_buffer *buffer;
  open_or_skip(&device);
  const sm_opencl_device *ocl = device.state;
  for (int i = 0; i < N; i++) values[i] = i;
  CHECK_OK(sm_opencl_build(ocl, twice, "twice", &program, &kernel, &err), err);
  CHECK_OK(sm_buffer_create(&device, sizeof values, &buffer, &err), err);
  CHECK_OK(device.driver->upload(&device, buffer->data, 0, values, sizeof values, &err), err);
  CHECK_I64(ocl->cl.clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffer->data), CL_SUCCESS);
  CHECK_I64(ocl->cl.clSetKernelArg(kernel, 1, sizeof n, &n), CL_SUCCESS);
  size_t all = 128, group = 64;
  CHECK_I64(ocl->cl.clEnqueueNDRangeKernel(ocl->queue, kernel, 1, NULL, &all, &group, 0, NULL, NULL), 0);
  CHECK_OK(device.driver->download(&device, buffer->data, 40, values, sizeof values - 40, &err), err);
  for (int i = 10; i < N; i++) CHECK_I64(values[i - 10], 2 * i);
  CHECK_I64(ocl->cl.clReleaseKernel(kernel), CL_SUCCESS);
  CHECK_I64(ocl->cl.clReleaseProgram(program), CL_SUCCESS);
  sm_buffer_drop(buffer);
  sm_device_close(&device);
}

TEST(a_kernel_that_cannot_be_built) {
  sm_device device;
  smelt_error err = {0};
  cl_program program;
  cl_kernel kernel;
  open_or_skip(&device);
  const sm_opencl_device *ocl = device.state;
  CHECK_STATUS(sm_opencl_build(ocl, "__kernel void f() { nonsense; }", "f", &program, &kernel, &err),
               SMELT_ERR_COMPILE);
  CHECK_CONTAINS(err.text, "nonsense");
  CHECK_STATUS(sm_opencl_build(ocl, twice, "thrice", &program, &kernel, &err), SMELT_ERR_COMPILE);
  CHECK_CONTAINS(err.text, "clCreateKernel: CL_INVALID_KERNEL_NAME");
  sm_device_close(&device);
}

/* --- Memory ------------------------------------------------------------------------------------ */

TEST(freed_memory_is_used_again) {
  sm_device device;
  open_or_skip(&device);
  void *a = device.driver->alloc(&device, 1000), *b = device.driver->alloc(&device, 5000);
  CHECK(a != NULL && b != NULL && a != b);
  device.driver->free(&device, a, 1000);
  device.driver->free(&device, b, 5000);
  CHECK(device.driver->alloc(&device, 5000) == b);
  CHECK(device.driver->alloc(&device, 1001) == a);
  device.driver->free(&device, a, 1001);
  device.driver->free(&device, b, 5000);
  sm_opencl_device *ocl = device.state;
  sm_kept_trim(&ocl->kept);
  CHECK_I64(ocl->kept.bytes, 0);
  sm_device_close(&device);
}

TEST(no_more_than_allowed_is_kept) {
  sm_device device;
  CHECK_I64(setenv("SMELT_CACHE_BYTES", "10000", 1), 0);
  open_or_skip(&device);
  const sm_opencl_device *ocl = device.state;
  void *a[3];
  for (int i = 0; i < 3; i++) a[i] = device.driver->alloc(&device, 4096);
  for (int i = 0; i < 3; i++) device.driver->free(&device, a[i], 4096);
  CHECK_I64(ocl->kept.bytes, 8192);
  CHECK(ocl->kept.blocks[0].data == a[1]);
  void *large = device.driver->alloc(&device, 20000);
  device.driver->free(&device, large, 20000);
  CHECK_I64(ocl->kept.bytes, 0);
  sm_device_close(&device);
}

TEST(too_much_memory) {
  float y[4];
  smelt_context *ctx = open_opencl();
  smelt_tensor *huge = smelt_zeros(ctx, SMELT_F64, 2, (int64_t[]){1 << 28, 1 << 20});
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){huge}, 1, NULL), SMELT_ERR_MEMORY);
  check_poison(huge, SMELT_ERR_MEMORY, "out of memory");
  compute(ctx, y, 4);
  close_context(ctx);
}

TEST(copies_stay_on_the_device) {
  need_opencl();
  check_copies_stay_on("opencl");
}

/* --- Calls that fail --- */

static void use_failing_library(void) {
  need_opencl();
#ifdef FAILING_OPENCL
  CHECK_I64(setenv("SMELT_OPENCL", FAILING_OPENCL, 1), 0);
  CHECK_I64(setenv("SMELT_CACHE", "0", 1), 0);
#else
  TEST_SKIP("when the tests were built there was no libOpenCL");
#endif
}

TEST(opening_that_fails) {
  static const failure failures[] = {
      {"clGetPlatformIDs=-1001", SMELT_ERR_DEVICE, "libOpenCL knows no device"},
      {"clGetDeviceIDs=-1", SMELT_ERR_DEVICE, "libOpenCL knows no device"},
      {"clCreateContext=-2", SMELT_ERR_DEVICE, "clCreateContext: CL_DEVICE_NOT_AVAILABLE (-2)"},
      {"clCreateContext=-6", SMELT_ERR_MEMORY, "out of memory: clCreateContext: CL_OUT_OF_HOST_MEMORY (-6)"},
      {"clCreateCommandQueue=-33", SMELT_ERR_DEVICE, "clCreateCommandQueue: CL_INVALID_DEVICE (-33)"},
  };
  use_failing_library();
  for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++)
    check_opening_fails("opencl", &failures[i]);
}

TEST(work_that_fails) {
  static const failure failures[] = {
      {"clCreateBuffer=-4", SMELT_ERR_MEMORY, "out of memory: 12 bytes of tensor data on opencl"},
      {"clEnqueueWriteBuffer=-36", SMELT_ERR_LAUNCH, "clEnqueueWriteBuffer: CL_INVALID_COMMAND_QUEUE (-36)"},
      {"clCreateProgramWithSource=-6", SMELT_ERR_MEMORY, "clCreateProgramWithSource: CL_OUT_OF_HOST_MEMORY"},
      {"clBuildProgram=-11", SMELT_ERR_COMPILE, "the compiler of "},
      {"clBuildProgram=-3", SMELT_ERR_COMPILE, " (-3): no log"},
      {"clCreateKernel=-46", SMELT_ERR_COMPILE, "clCreateKernel: CL_INVALID_KERNEL_NAME (-46)"},
      {"clSetKernelArg=-51", SMELT_ERR_LAUNCH, "clSetKernelArg: CL_INVALID_ARG_SIZE (-51)"},
      {"clEnqueueNDRangeKernel=-54", SMELT_ERR_LAUNCH, "CL_INVALID_WORK_GROUP_SIZE (-54)"},
      {"clEnqueueNDRangeKernel=-5", SMELT_ERR_MEMORY, "CL_OUT_OF_RESOURCES (-5)"},
      {"clFlush=-36", SMELT_ERR_LAUNCH, "clFlush: CL_INVALID_COMMAND_QUEUE (-36)"},
      {"clEnqueueReadBuffer=-36", SMELT_ERR_LAUNCH, "clEnqueueReadBuffer: CL_INVALID_COMMAND_QUEUE (-36)"},
  };
  use_failing_library();
  for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) check_work_fails("opencl", &failures[i]);
}

/* Memory that is kept free is given back, and the device asked once more. */
TEST(work_that_fails_once) {
  use_failing_library();
  check_work_succeeds("opencl", "clCreateBuffer=-4,1");
}

TEST(launch_that_fails_once) {
  use_failing_library();
  check_work_succeeds("opencl", "clEnqueueNDRangeKernel=-4,1");
}

TEST(waiting_that_fails) {
  use_failing_library();
  check_waiting_fails(
      "opencl", &(failure){"clFinish=-36", SMELT_ERR_LAUNCH, "clFinish: CL_INVALID_COMMAND_QUEUE (-36)"});
}

/* --- The process ---------------------------------------------------------------------------------- */

/* PoCL brings an LLVM of its own. */
TEST(beside_the_cpu) {
  float near[100], far[100];
  smelt_context *ctx = open_opencl(), *cpu = open_device("cpu");
  for (int n = 98; n <= 100; n++) {
    compute(cpu, near, n);
    compute(ctx, far, n);
    for (int i = 0; i < n; i++) CHECK_F64(far[i], near[i]);
  }
  close_context(ctx);
  close_context(cpu);
}

TEST(after_a_fork) {
  smelt_context *ctx = open_opencl();
  check_fork(ctx);
  close_context(ctx);
}

TEST(the_float_environment_of_the_host_changes_nothing) {
  need_opencl();
  check_host_environments("opencl");
}

TEST(binaries_are_kept) {
  need_opencl();
  check_kept_on_disk("opencl");
}

TEST(groups_share_memory) { try_groups_on("opencl"); }

TEST_MAIN(CASE(groups_share_memory), CASE(missing_library), CASE(missing_device), CASE(no_platform),
          CASE(devices_by_number_and_name), CASE(a_kernel_by_hand), CASE(a_kernel_that_cannot_be_built),
          CASE(freed_memory_is_used_again), CASE(no_more_than_allowed_is_kept), CASE(too_much_memory),
          CASE(copies_stay_on_the_device), CASE(opening_that_fails), CASE(work_that_fails),
          CASE(work_that_fails_once), CASE(launch_that_fails_once), CASE(waiting_that_fails),
          CASE(beside_the_cpu), CASE(after_a_fork), CASE(the_float_environment_of_the_host_changes_nothing),
          CASE(binaries_are_kept))
