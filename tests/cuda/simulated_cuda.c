/* SPDX-License-Identifier: Apache-2.0
 *
 * A libcuda and a libnvrtc for machines that have neither: the functions of cuda.def on host
 * memory. "NVRTC" has g++ make a shared library of a text (cuda_words.h stands for the language);
 * its "cubin" is that library with its size before it. Kernels run at once, thread by thread, and where
 * threads wait for each other in turns. One launch runs at a time.
 *
 * What a test sees of the driver (opening, arguments, memory, errors) is as with a
 * device; SIMULATED_CUDA=none is a machine without one, and memory is limited to
 * SIMULATED_CUDA_BYTES. NVIDIA's libraries compute in whatever floating-point environment they
 * are called in; these end the process if it is not the usual one. What a program calls again and
 * again is counted in simulated_cuda_calls. Calls fail when asked (failing_calls.h). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/cuda_library.h"
#include "failing_calls.h"

#define EXPORT __attribute__((visibility("default")))
#define CUDA(name, parameters) EXPORT CUresult name parameters;
#define NVRTC(name, parameters) EXPORT nvrtcResult name parameters;
#include "drivers/cuda.def"

enum { MOST_SHARED = 227 * 1024 };

typedef void run_grid_fn(unsigned blocks, unsigned threads, void **arguments);

/* --- The floating-point environment ----------------------------------------------------------- */

/* Nothing traps, values are rounded to nearest and denormal ones kept. */
static void check_environment(void) {
  volatile float tiny = 0x1p-126f;
  if (fegetexcept() == 0 && fegetround() == FE_TONEAREST && tiny / 2 != 0) return;
  (void)fputs("the simulated CUDA was called in a floating-point environment of the host's\n", stderr);
  abort();
}

/* --- Calls that are counted --------------------------------------------------------------------- */

EXPORT atomic_int simulated_cuda_calls;

static void count_call(void) {
  check_environment();
  atomic_fetch_add(&simulated_cuda_calls, 1);
}

/* Ends a call that is to fail. */
#define FAIL_IF_ASKED()                    \
  do {                                     \
    int failure = failing_call(__func__);  \
    if (failure) return (CUresult)failure; \
  } while (0)

/* --- Devices ------------------------------------------------------------------------------ */

CUresult cuInit(unsigned flags) {
  FAIL_IF_ASKED();
  check_environment();
  const char *kind = getenv("SIMULATED_CUDA");
  return flags || (kind && strcmp(kind, "none") == 0) ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *n) {
  FAIL_IF_ASKED();
  return *n = 1, CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int number) {
  FAIL_IF_ASKED();
  *device = 7;
  return number == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  (void)device, (void)snprintf(name, (size_t)size, "a simulation");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int which, CUdevice device) {
  (void)device;
  *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR            ? 9
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR          ? 0
           : which == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? MOST_SHARED
                                                                            : 1;
  return CUDA_SUCCESS;
}

static size_t most_bytes(void) {
  const char *bytes = getenv("SIMULATED_CUDA_BYTES");
  return bytes ? (size_t)strtoull(bytes, NULL, 10) : (size_t)1 << 32;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  return (void)device, *bytes = most_bytes(), CUDA_SUCCESS;
}

/* --- Contexts: one, which has to be current ------------------------------------------------- */

static char context, stream, pool; /* whose addresses are handles */
static _Thread_local int entered;

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
  FAIL_IF_ASKED();
  return (void)device, *out = (CUcontext)(void *)&context, CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return (void)device, check_environment(), CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext c) {
  count_call();
  return entered++, c == (void *)&context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuCtxPopCurrent_v2(CUcontext *out) {
  count_call();
  return *out = (CUcontext)(void *)&context, entered-- > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult check(CUstream s) {
  count_call();
  return entered == 1 && s == (void *)&stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuStreamCreate(CUstream *out, unsigned flags) {
  FAIL_IF_ASKED();
  return (void)flags, *out = (CUstream)(void *)&stream, check(*out);
}
CUresult cuStreamDestroy_v2(CUstream s) { return check(s); }
CUresult cuStreamSynchronize(CUstream s) {
  FAIL_IF_ASKED();
  return check(s);
}

/* --- Memory: blocks that know their size --------------------------------------------------------- */

static atomic_size_t used;
#define HEAD ((size_t)64)

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice device) {
  FAIL_IF_ASKED();
  return (void)device, *out = (CUmemoryPool)(void *)&pool, CUDA_SUCCESS;
}
CUresult cuMemPoolTrimTo(CUmemoryPool p, size_t bytes) { return (void)p, (void)bytes, CUDA_SUCCESS; }

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream s) {
  FAIL_IF_ASKED();
  if (check(s) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_CONTEXT;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  unsigned char *block = bytes > most_bytes() - atomic_load(&used)
                             ? NULL
                             : aligned_alloc(HEAD, (bytes + 2 * HEAD - 1) / HEAD * HEAD);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  memcpy(block, &bytes, sizeof bytes);
  memset(block + HEAD, 0xa5, bytes);
  atomic_fetch_add(&used, bytes);
  *out = (CUdeviceptr)(uintptr_t)(block + HEAD);
  return CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream s) {
  unsigned char *block = (unsigned char *)(uintptr_t)address - HEAD;
  size_t bytes;
  memcpy(&bytes, block, sizeof bytes);
  atomic_fetch_sub(&used, bytes);
  free(block);
  return check(s);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream s) {
  FAIL_IF_ASKED();
  memcpy((void *)(uintptr_t)to, from, bytes);
  return check(s);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream s) {
  FAIL_IF_ASKED();
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return check(s);
}

/* --- Kernels ------------------------------------------------------------------------------------------ */

/* What is loaded has a file, for a moment. */
static bool write_library(char path[], const void *image) {
  uint64_t size;
  int file = mkstemp(path);
  FILE *to = file < 0 ? NULL : fdopen(file, "w");
  if (!to) return false;
  memcpy(&size, image, sizeof size);
  bool written = fwrite((const char *)image + sizeof size, 1, size, to) == size;
  return fclose(to) == 0 && written;
}

CUresult cuModuleLoadData(CUmodule *out, const void *image) {
  FAIL_IF_ASKED();
  char path[] = "/tmp/simulated-cuda-XXXXXX";
  *out = write_library(path, image) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  (void)unlink(path);
  return !*out ? CUDA_ERROR_INVALID_IMAGE : entered == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuModuleUnload(CUmodule module) { return dlclose(module), CUDA_SUCCESS; }

CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name) {
  FAIL_IF_ASKED();
  *out = dlsym(module, name) ? dlsym(module, "run_grid") : NULL;
  return *out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static pthread_mutex_t running = PTHREAD_MUTEX_INITIALIZER;

/* Functions that may be given memory of the group, those asked for last. */
enum { ALLOWED = 64 };
static struct {
  CUfunction function;
  unsigned bytes;
} allowed[ALLOWED];
static unsigned n_allowed;

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  bool valid =
      attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value > 0 && value <= MOST_SHARED;
  if (!valid) return CUDA_ERROR_INVALID_VALUE;
  (void)pthread_mutex_lock(&running);
  allowed[n_allowed].function = function;
  allowed[n_allowed].bytes = (unsigned)value;
  n_allowed = (n_allowed + 1) % ALLOWED;
  (void)pthread_mutex_unlock(&running);
  return CUDA_SUCCESS;
}

static bool may_have(CUfunction function, unsigned bytes) {
  bool may = bytes == 0;
  (void)pthread_mutex_lock(&running);
  for (int i = 0; i < ALLOWED; i++)
    may = may || (allowed[i].function == function && bytes <= allowed[i].bytes);
  (void)pthread_mutex_unlock(&running);
  return may;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream s, void **arguments, void **extra) {
  FAIL_IF_ASKED();
  run_grid_fn *run;
  memcpy(&run, &function, sizeof run);
  if (gy != 1 || gz != 1 || by != 1 || bz != 1 || extra || !may_have(function, shared) || !gx || !bx ||
      bx > 1024)
    return CUDA_ERROR_INVALID_VALUE;
  if (check(s) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_CONTEXT;
  (void)pthread_mutex_lock(&running);
  run(gx, bx, arguments);
  (void)pthread_mutex_unlock(&running);
  return CUDA_SUCCESS;
}

/* --- The compiler -----------------------------------------------------------------------------------------
 */

struct _nvrtcProgram {
  const char *text;
  char library[64];
};

nvrtcResult nvrtcVersion(int *major, int *minor) { return *major = 1, *minor = 0, 0; }

nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *text, const char *name, int n,
                               const char *const *headers, const char *const *names) {
  FAIL_IF_ASKED();
  (void)name, (void)n, (void)headers, (void)names;
  *out = calloc(1, sizeof **out);
  if (*out) (*out)->text = strdup(text);
  return *out && (*out)->text ? 0 : 1;
}

/* Instructions of NVIDIA's machines, and what stands for them (there is one NaN there); memory that a
 * launch gives. */
static const char *const instructions[][2] = {
    {"asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(v) : \"h\"(a));", "v = sm_f16_to_f32(a);"},
    {"asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(v) : \"f\"(a));", "v = a != a ? 0x7fff : sm_f16_from_f32(a);"},
    {"asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(v) : \"f\"(a));",
     "v = a != a ? 0x7fff : sm_bf16_from_f32(a);"},
    {"extern __shared__ __align__(16) unsigned char shared[];",
     "alignas(16) static unsigned char shared[227 * 1024];"}};
enum { INSTRUCTIONS = sizeof instructions / sizeof instructions[0], HALVES = 3 };

static bool has_halves(const char *text) {
  for (int i = 0; i < HALVES; i++) {
    if (strstr(text, instructions[i][0])) return true;
  }
  return false;
}

static void write_text(FILE *file, const char *text) {
  while (*text) {
    int i = 0;
    while (i < INSTRUCTIONS && strncmp(text, instructions[i][0], strlen(instructions[i][0])) != 0) i++;
    if (i < INSTRUCTIONS) {
      (void)fputs(instructions[i][1], file);
      text += strlen(instructions[i][0]);
    } else {
      (void)fputc(*text++, file);
    }
  }
}

/* Runs the kernel's threads. Parameters, each up to ", " or ") {", are pointers or the words. */
static void write_runner(FILE *file, const char *text) {
  const char *entry = strstr(text, "extern \"C\" __global__"), *open = strchr(strstr(entry, " void "), '(');
  const char *name = strstr(entry, " void ") + 6, *at = open;
  (void)fprintf(file, "static void **arguments;\nstatic void run_thread() {\n  %.*s(", (int)(open - name),
                name);
  for (int i = 0; at[0] != ')'; i++) {
    size_t n = strcspn(++at, ",)");
    bool pointer = memchr(at, '*', n) != NULL;
    (void)fprintf(file,
                  pointer ? "%sany_pointer{*static_cast<void **>(arguments[%d])}"
                          : "%s*static_cast<smelt_words *>(arguments[%d])",
                  i ? ", " : "", i);
    at += n;
  }
  (void)fputs(
      ");\n}\n"
      "extern \"C\" void run_grid(unsigned blocks, unsigned threads, void **given) {\n"
      "  arguments = given;\n"
      "  blockDim.x = threads;\n"
      "  for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) run_group(threads, run_thread);\n"
      "}\n",
      file);
}

static bool write_source(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  if (!file) return false;
  if (has_halves(text)) (void)fputs("#define CUDA_HALVES\n", file);
  if (strstr(text, "__syncthreads") || strstr(text, "__shfl_")) (void)fputs("#define CUDA_BARRIERS\n", file);
  (void)fprintf(file, "#include \"%s/cuda_words.h\"\n", SIMULATED_CUDA_FOLDER);
  write_text(file, text);
  write_runner(file, text);
  return fclose(file) == 0;
}

/* Options have to be those that keep bits, and no more than an old compiler knows. */
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int n, const char *const *options) {
  FAIL_IF_ASKED();
  char source[80], command[600];
  enum { INVALID_OPTION = 5 };
  check_environment();
  if (n > 2) return INVALID_OPTION;
  bool exact = n == 2 && strcmp(options[0], "--gpu-architecture=sm_90") == 0 &&
               strcmp(options[1], "--fmad=false") == 0;
  (void)snprintf(program->library, sizeof program->library, "/tmp/simulated-cuda-XXXXXX");
  int library = mkstemp(program->library);
  (void)snprintf(source, sizeof source, "%s.cpp", program->library);
  if (!exact || library < 0 || close(library) != 0 || !write_source(source, program->text)) return 6;
  (void)snprintf(
      command, sizeof command,
      "g++ -std=c++17 -O0 -fsanitize=alignment -fsanitize-undefined-trap-on-error -ffp-contract=off -w "
      "-fPIC -shared -I%s/../../src -o %s %s -lm",
      SIMULATED_CUDA_FOLDER, program->library, source);
  int status = system(command);
  (void)unlink(source);
  return status == 0 ? 0 : 6;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size) {
  return (void)program, *size = 32, 0;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
  return (void)program, (void)snprintf(log, 32, "g++ refuses it"), 0;
}

static uint64_t size_of(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size) {
  return *size = sizeof(uint64_t) + size_of(program->library), 0;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *code) {
  FAIL_IF_ASKED();
  uint64_t size = size_of(program->library);
  FILE *from = fopen(program->library, "r");
  if (!from) return 6;
  memcpy(code, &size, sizeof size);
  bool all = fread(code + sizeof size, 1, size, from) == size;
  return fclose(from) == 0 && all ? 0 : 6;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
  (void)unlink((*program)->library);
  free((void *)(uintptr_t)(*program)->text);
  free(*program);
  return 0;
}
