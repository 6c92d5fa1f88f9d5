/* SPDX-License-Identifier: Apache-2.0
 *
 * As much of CUDA's language as texts of kernels use, in C++: included before one by
 * simulated_cuda.c, which runs it thread by thread. Without headers of C++, which take
 * longer to compile than the kernel. */
#define __CUDA_ARCH__ 900
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __align__(bytes) alignas(bytes)

struct index_3 {
  unsigned x, y, z;
};
static index_3 threadIdx, blockIdx, blockDim;

template <typename to, typename from>
static to same_bits(from value) {
  static_assert(sizeof(to) == sizeof(from), "the same bits");
  to result;
  __builtin_memcpy(&result, &value, sizeof result);
  return result;
}

static unsigned __float_as_uint(float a) { return same_bits<unsigned>(a); }
static float __uint_as_float(unsigned a) { return same_bits<float>(a); }
static long long __double_as_longlong(double a) { return same_bits<long long>(a); }
static double __longlong_as_double(long long a) { return same_bits<double>(a); }
/* Declared here unless the text has halves, because <math.h> takes longer than a kernel. */
#ifdef CUDA_HALVES
#include "core/half.h"
#else
typedef __SIZE_TYPE__ size_t;
extern "C" {
float fabsf(float), copysignf(float, float), floorf(float), ceilf(float), truncf(float), rintf(float),
    sqrtf(float);
float fmaf(float, float, float), fmodf(float, float);
double fabs(double), copysign(double, double), floor(double), ceil(double), trunc(double), rint(double),
    sqrt(double);
double fma(double, double, double), fmod(double, double);
}
static bool signbit(float a) { return __builtin_signbit(a); }
static bool signbit(double a) { return __builtin_signbit(a); }
#endif

/* Threads of a group that wait for each other are run in turns, from barrier to barrier. */
#ifdef CUDA_BARRIERS
#include <ucontext.h>

#define __shared__ static

enum { STACK = 1 << 16, MOST_THREADS = 1024 };
static ucontext_t scheduler, fibers[MOST_THREADS];
static bool ended[MOST_THREADS];
static unsigned char stacks[MOST_THREADS][STACK];
static void (*call_kernel)();

static void __syncthreads() { swapcontext(&fibers[threadIdx.x], &scheduler); }

/* All put their values before any takes one, and take before any puts the next. */
template <typename type>
static type __shfl_xor_sync(unsigned, type value, unsigned digit) {
  static type values[MOST_THREADS];
  values[threadIdx.x] = value;
  __syncthreads();
  value = values[threadIdx.x ^ digit];
  __syncthreads();
  return value;
}

static void run_fiber() {
  call_kernel();
  ended[threadIdx.x] = true;
  swapcontext(&fibers[threadIdx.x], &scheduler);
}

static void start_fiber(unsigned thread) {
  getcontext(&fibers[thread]);
  fibers[thread].uc_stack.ss_sp = stacks[thread];
  fibers[thread].uc_stack.ss_size = STACK;
  makecontext(&fibers[thread], run_fiber, 0);
  ended[thread] = false;
}

static void run_group(unsigned threads, void (*kernel)()) {
  call_kernel = kernel;
  for (unsigned t = 0; t < threads; t++) start_fiber(t);
  for (bool all = false; !all;) {
    all = true;
    for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) {
      if (!ended[threadIdx.x]) swapcontext(&scheduler, &fibers[threadIdx.x]);
      all = all && ended[threadIdx.x];
    }
  }
}
#else
static void run_group(unsigned threads, void (*kernel)()) {
  for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) kernel();
}
#endif

/* What takes arguments as the driver passes them: a pointer to each value. */
struct any_pointer {
  void *data;
  template <typename type>
  operator type *() const {
    return static_cast<type *>(data);
  }
};
