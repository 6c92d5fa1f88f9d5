/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA driver itself, on a simulated device (tests/cuda): what is missing, what fails,
 * memory, the ways in which arguments are passed. What it computes is the conformance
 * suite's. */
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code_on_disk.h"
#include "device_failures.h"
#include "device_fixture.h"
#include "drivers/cuda_state.h"
#include "drivers/drivers.h"

#include "group_kernels.h"

static const sm_log quiet = {.enabled = 0};

static void simulate(void) {
#ifdef SIMULATED_CUDA
  CHECK_I64(setenv("SMELT_CUDA", SIMULATED_CUDA, 1), 0);
  CHECK_I64(setenv("SMELT_NVRTC", SIMULATED_CUDA, 1), 0);
  CHECK_I64(setenv("SMELT_CACHE", "0", 1), 0);
#else
  TEST_SKIP("a simulated device needs g++");
#endif
}

static void open_simulated(sm_device *device) {
  smelt_error err = {0};
  simulate();
  CHECK_OK(sm_device_open(device, "cuda", sm_drivers, &sm_malloc_allocator, &quiet, &err), err);
}

/* --- What is missing ------------------------------------------------------------------------- */

TEST(missing_library) {
  CHECK_I64(setenv("SMELT_CUDA", "0", 1), 0);
  check_refused("cuda", "switched off");
  CHECK_I64(setenv("SMELT_CUDA", "/no/such/library.so", 1), 0);
  check_refused("cuda", "/no/such/library.so is not a libcuda");
  CHECK_I64(setenv("SMELT_CUDA", "libc.so.6", 1), 0);
  check_refused("cuda", "is not a libcuda");
}

TEST(missing_device) {
  simulate();
  check_refused("cuda:1", "no CUDA device \"1\"; there are 1");
  check_refused("cuda:99999999999999999999", "no CUDA device");
  check_refused("cuda:first", "no CUDA device \"first\"");
  check_refused("cuda:", "no CUDA device \"\"");
  CHECK_I64(setenv("SIMULATED_CUDA", "none", 1), 0);
  check_refused("cuda", "cuInit: CUDA_ERROR_NO_DEVICE (100)");
}

/* Poisons what was to be computed; the rest of the context goes on. */
TEST(missing_compiler) {
  float y[3];
  smelt_error err = {0};
  simulate();
  CHECK_I64(setenv("SMELT_NVRTC", "/no/such/library.so", 1), 0);
  smelt_context *ctx = open_device("cuda");
  CHECK_STATUS(smelt_into_host(record_work(ctx, 3), SMELT_F32, y, sizeof y, &err), SMELT_ERR_COMPILE);
  CHECK_CONTAINS(err.text, "SMELT_NVRTC=/no/such/library.so is not a libnvrtc");
  smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, DIMS(2), (float[]){3, 4});
  CHECK_OK(smelt_into_host(x, SMELT_F32, y, 2 * sizeof *y, &err), err);
  CHECK_F64(y[1], 4);
  close_context(ctx);
}

TEST(described) {
  sm_text text;
  simulate();
  sm_text_init(&text, &sm_malloc_allocator);
  sm_cuda_describe(&text);
  CHECK_STR(text.data, "cuda:0           a simulation, sm_90, 1 unit(s), 4096 MiB\n");
  sm_text_clear(&text);
  CHECK_I64(setenv("SMELT_CUDA", "0", 1), 0);
  sm_cuda_describe(&text);
  CHECK_STR(text.data, "cuda             none: CUDA is switched off by SMELT_CUDA=0\n");
  sm_text_free(&text);
}

/* --- Memory ------------------------------------------------------------------------------------ */

TEST(memory_has_places) {
  sm_device device;
  smelt_error err = {0};
  int32_t values[100];
  open_simulated(&device);
  for (int i = 0; i < 100; i++) values[i] = i;
  void *data = device.driver->alloc(&device, sizeof values);
  CHECK(data != NULL);
  CHECK_OK(device.driver->upload(&device, data, 0, values, sizeof values, &err), err);
  CHECK_OK(device.driver->upload(&device, data, 40, values, 40, &err), err);
  CHECK_OK(device.driver->download(&device, data, 44, values, 8, &err), err);
  CHECK_I64(values[0], 1);
  CHECK_I64(values[1], 2);
  CHECK_OK(device.driver->wait(&device, &err), err);
  device.driver->free(&device, data, sizeof values);
  sm_device_close(&device);
}

TEST(memory_runs_out) {
  smelt_error err = {0};
  float y[3];
  simulate();
  CHECK_I64(setenv("SIMULATED_CUDA_BYTES", "1000", 1), 0);
  smelt_context *ctx = open_device("cuda");
  smelt_tensor *large = smelt_ones(ctx, SMELT_F32, DIMS(1000));
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){large}, 1, &err), SMELT_ERR_MEMORY);
  smelt_drop(large);
  CHECK_OK(smelt_into_host(record_work(ctx, 3), SMELT_F32, y, sizeof y, &err), err);
  CHECK(y[0] > 2.7f && y[0] < 2.72f);
  close_context(ctx);
}

TEST(copies_stay_on_the_device) {
  simulate();
  check_copies_stay_on("cuda");
}

TEST(forked_processes_are_refused) {
  simulate();
  smelt_context *ctx = open_device("cuda");
  check_fork(ctx);
  close_context(ctx);
}

TEST(the_float_environment_of_the_host_changes_nothing) {
  simulate();
  check_host_environments("cuda");
}

/* --- Calls that fail --- */

TEST(opening_that_fails) {
  static const failure failures[] = {
      {"cuInit=802", SMELT_ERR_DEVICE, "cuInit: CUDA_ERROR_SYSTEM_NOT_READY (802)"},
      {"cuDeviceGetCount=3", SMELT_ERR_DEVICE, "cuDeviceGetCount: CUDA_ERROR_NOT_INITIALIZED (3)"},
      {"cuDeviceGet=101", SMELT_ERR_DEVICE, "cuDeviceGet: CUDA_ERROR_INVALID_DEVICE (101)"},
      {"cuDevicePrimaryCtxRetain=2", SMELT_ERR_MEMORY,
       "out of memory: cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY (2)"},
      {"cuDeviceGetDefaultMemPool=801", SMELT_ERR_DEVICE,
       "cuDeviceGetDefaultMemPool: CUDA_ERROR_NOT_SUPPORTED"},
      {"cuStreamCreate=46", SMELT_ERR_DEVICE, "cuStreamCreate: CUDA_ERROR_DEVICE_UNAVAILABLE (46)"},
  };
  simulate();
  for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) check_opening_fails("cuda", &failures[i]);
}

TEST(work_that_fails) {
  static const failure failures[] = {
      {"cuMemAllocAsync=2", SMELT_ERR_MEMORY, "out of memory: 12 bytes of tensor data on cuda"},
      {"cuMemcpyHtoDAsync_v2=1", SMELT_ERR_LAUNCH, "cuMemcpyHtoDAsync: CUDA_ERROR_INVALID_VALUE (1)"},
      {"nvrtcCreateProgram=1", SMELT_ERR_COMPILE, "NVRTC 1.0 makes no program"},
      {"nvrtcCompileProgram=6", SMELT_ERR_COMPILE, "NVRTC 1.0: g++ refuses it"},
      {"nvrtcGetCUBIN=6", SMELT_ERR_COMPILE, "NVRTC 1.0 gives no code"},
      {"cuModuleLoadData=209", SMELT_ERR_COMPILE, "cuModuleLoadData: CUDA_ERROR_NO_BINARY_FOR_GPU (209)"},
      {"cuModuleGetFunction=500", SMELT_ERR_COMPILE, "cuModuleGetFunction: CUDA_ERROR_NOT_FOUND (500)"},
      {"cuLaunchKernel=701", SMELT_ERR_LAUNCH, "cuLaunchKernel: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"},
      {"cuMemcpyDtoHAsync_v2=719", SMELT_ERR_LAUNCH, "cuMemcpyDtoHAsync: CUDA_ERROR_LAUNCH_FAILED (719)"},
      {"cuStreamSynchronize=700", SMELT_ERR_LAUNCH, "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700)"},
  };
  simulate();
  for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) check_work_fails("cuda", &failures[i]);
}

TEST(memory_that_is_lacking_once) {
  simulate();
  check_work_succeeds("cuda", "cuMemAllocAsync=2,1");
}

TEST(waiting_that_fails) {
  simulate();
  check_waiting_fails("cuda", &(failure){"cuStreamSynchronize=719", SMELT_ERR_LAUNCH,
                                         "cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED (719)"});
}

/* --- Launches ---------------------------------------------------------------------------------------- */

/* exp(x + 1) once more, whose result takes the memory of the one before: a push, the launch and a pop. */
TEST(a_launch_is_three_calls) {
  simulate();
#ifdef SIMULATED_CUDA
  void *library = dlopen(SIMULATED_CUDA, RTLD_NOW);
  CHECK(library != NULL);
  const atomic_int *calls = dlsym(library, "simulated_cuda_calls");
  CHECK(calls != NULL);
  smelt_context *ctx = open_device("cuda");
  smelt_tensor *x = smelt_ones(ctx, SMELT_F32, DIMS(16));
  int before = 0;
  for (int i = 0; i < 3; i++) {
    smelt_tensor *y = smelt_exp(smelt_add(smelt_ref(x), 1));
    CHECK_STATUS(smelt_eval((const smelt_tensor *[]){y}, 1, NULL), SMELT_OK);
    smelt_drop(y);
    if (i == 1) before = atomic_load(calls);
  }
  CHECK_I64(atomic_load(calls) - before, 3);
  smelt_drop(x);
  close_context(ctx);
  (void)dlclose(library);
#endif
}

/* --- Kernels ------------------------------------------------------------------------------------- */

/* out[i] = s0 + … + s(n-1) + table[i % 2]: more words than there is room for by value, if n is large. */
static void build_words(sm_kir_kernel *k, int n) {
  sm_kir_init(k, &sm_malloc_allocator);
  (void)snprintf(k->name, sizeof k->name, "words_%d", n);
  sm_kir_add_buffer(k, SMELT_F64, true);
  int32_t i = sm_kir_for(k, sm_kir_chunk_begin(k), sm_kir_chunk_end(k), 1);
  int32_t place = sm_kir_kop(k, SM_KOP_FMOD, i, sm_kir_i64(k, 2), SM_KIR_NONE, 0);
  int32_t sum = sm_kir_table(k, SMELT_F64, place);
  for (int s = 0; s < n; s++) {
    int32_t scalar = sm_kir_scalar(k, sm_kir_add_scalar(k, SMELT_F64));
    sum = sm_kir_kop(k, SM_KOP_ADD, sum, scalar, SM_KIR_NONE, 0);
  }
  sm_kir_store(k, 0, i, SM_KIR_NONE, sum);
  sm_kir_end(k);
}

static void run_words(sm_device *device, int n, bool by_value) {
  enum { ITEMS = 9, MOST = 600 };
  sm_word scalars[MOST + 2];
  double out[ITEMS];
  smelt_error err = {0};
  sm_kir_kernel ir;
  sm_kernel *kernel;
  build_words(&ir, n);
  CHECK_I64(sm_c_family_by_value(&ir, &sm_dialect_cuda), by_value);
  CHECK_OK(device->driver->compile(device, &ir, &kernel, &err), err);
  for (int s = 0; s < n + 2; s++) scalars[s].F64 = s;
  sm_kir_span span = {device->driver->alloc(device, sizeof out), sizeof out};
  sm_launch launch = {.buffers = &span,
                      .n_buffers = 1,
                      .scalars = scalars,
                      .n_scalars = (size_t)n,
                      .n_table = 2,
                      .work_items = ITEMS,
                      .grain = 2};
  CHECK_OK(device->driver->launch(device, kernel, &launch, &err), err);
  CHECK_OK(device->driver->download(device, span.data, 0, out, sizeof out, &err), err);
  for (int i = 0; i < ITEMS; i++) CHECK_I64(out[i], n * (n - 1) / 2 + n + i % 2);
  device->driver->free(device, span.data, sizeof out);
  device->driver->release(device, kernel);
}

TEST(words_by_value_and_in_memory) {
  sm_device device;
  open_simulated(&device);
  run_words(&device, 3, true);
  run_words(&device, 600, false);
  sm_device_close(&device);
}

TEST(compilers_words_are_passed_on) {
  sm_device device;
  smelt_error err = {0};
  sm_kir_kernel ir;
  sm_kernel *kernel;
  open_simulated(&device);
  build_words(&ir, 1);
  (void)snprintf(ir.name, sizeof ir.name, "no-name"); /* in any language */
  CHECK_STATUS(device.driver->compile(&device, &ir, &kernel, &err), SMELT_ERR_COMPILE);
  CHECK_CONTAINS(err.text, "NVRTC 1.0: g++ refuses it");
  sm_kir_free(&ir);
  sm_device_close(&device);
}

static void take_line(void *user, const char *line) {
  if (strstr(line, "extern \"C\" __global__ __launch_bounds__(256) void")) ++*(int *)user;
}

TEST(texts_are_logged) {
  int texts = 0;
  float y[3];
  smelt_error err = {0};
  simulate();
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.device = "cuda:0";
  desc.log = "source";
  desc.log_fn = take_line;
  desc.log_user = &texts;
  smelt_context *ctx = open_context_with(&desc);
  CHECK_OK(smelt_into_host(record_work(ctx, 3), SMELT_F32, y, sizeof y, &err), err);
  CHECK_I64(texts, 1);
  close_context(ctx);
}

TEST(code_is_kept) {
  simulate();
  check_kept_on_disk("cuda");
}

TEST(groups_share_memory) {
  simulate();
  try_groups_on("cuda");
}

/* Two rows that are kept in 64 KiB. */
static void compute_long_rows(const char *device, float *out) {
  enum { COLUMNS = 16384 };
  static float in[2 * COLUMNS];
  smelt_error err = {0};
  smelt_context *ctx = open_device(device);
  for (int i = 0; i < 2 * COLUMNS; i++) in[i] = (float)(i * 37 % 1001) / 100;
  smelt_tensor *y = smelt_softmax(smelt_from_host(ctx, SMELT_F32, DIMS(2, COLUMNS), in), 1);
  CHECK_OK(smelt_into_host(y, SMELT_F32, out, sizeof in, &err), err);
  close_context(ctx);
}

TEST(long_rows_have_memory_of_the_group) {
  static float expected[2 * 16384], actual[2 * 16384];
  simulate();
  compute_long_rows("ref", expected);
  compute_long_rows("cuda", actual);
  CHECK(memcmp(actual, expected, sizeof expected) == 0);
}

TEST_MAIN(CASE(a_launch_is_three_calls), CASE(groups_share_memory), CASE(long_rows_have_memory_of_the_group),
          CASE(missing_library), CASE(missing_device), CASE(missing_compiler), CASE(described),
          CASE(memory_has_places), CASE(memory_runs_out), CASE(copies_stay_on_the_device),
          CASE(opening_that_fails), CASE(work_that_fails), CASE(memory_that_is_lacking_once),
          CASE(waiting_that_fails), CASE(forked_processes_are_refused),
          CASE(the_float_environment_of_the_host_changes_nothing), CASE(words_by_value_and_in_memory),
          CASE(compilers_words_are_passed_on), CASE(texts_are_logged), CASE(code_is_kept))
