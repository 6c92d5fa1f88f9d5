/* SPDX-License-Identifier: Apache-2.0
 *
 * The floating-point environment of kernels.
 *
 * A host may have set any rounding, flushing of denormals, or traps; results
 * must not depend on it. Code that computes results runs between enter, which
 * sets round to nearest, no flushing, all exceptions masked, and leave, which
 * gives the thread back exactly what it had, exception flags included. Both
 * belong to one thread and nest. */
#ifndef SM_BASE_FLOAT_ENV_H
#define SM_BASE_FLOAT_ENV_H

#include <stdint.h>

#if defined(__x86_64__)

/* fenv.h would do, but takes ten times as long (about 0.2 us), because it
 * always stores and loads the whole x87 state. */
typedef struct sm_float_env {
  uint32_t mxcsr;
  uint16_t control, status; /* of the x87, which long double uses, in libm too */
} sm_float_env;

/* What fnstenv stores. */
typedef struct sm_x87_state {
  uint16_t control, reserved0, status, reserved1;
  uint32_t rest[5];
} sm_x87_state;

static inline sm_float_env sm_float_env_now(void) {
  sm_float_env now;
  __asm__ volatile(
      "stmxcsr %0\n\t"
      "fnstcw %1\n\t"
      "fnstsw %2"
      : "=m"(now.mxcsr), "=m"(now.control), "=m"(now.status));
  return now;
}

static inline void sm_float_env_set(sm_float_env to) {
  sm_float_env now = sm_float_env_now();
  if (now.control != to.control || now.status != to.status) {
    sm_x87_state x87;
    __asm__ volatile("fnstenv %0" : "=m"(x87));
    x87.control = to.control;
    x87.status = to.status;
    __asm__ volatile("fldenv %0" : : "m"(x87));
  }
  __asm__ volatile("ldmxcsr %0" : : "m"(to.mxcsr));
}

static inline sm_float_env sm_float_env_enter(void) {
  sm_float_env saved = sm_float_env_now();
  sm_float_env_set((sm_float_env){.mxcsr = 0x1f80, .control = 0x037f, .status = saved.status});
  return saved;
}

static inline void sm_float_env_leave(const sm_float_env *saved) { sm_float_env_set(*saved); }

#elif defined(__aarch64__)

/* fenv.h would do here too, but not by fesetenv(FE_DFL_ENV): that leaves alone how
 * NaNs and half types are treated. */
typedef struct sm_float_env {
  uint64_t control, status; /* FPCR and FPSR, which has the exception flags */
} sm_float_env;

static inline void sm_float_env_set(sm_float_env to) {
  __asm__ volatile(
      "msr fpcr, %0\n\t"
      "msr fpsr, %1"
      :
      : "r"(to.control), "r"(to.status)
      : "memory");
}

static inline sm_float_env sm_float_env_enter(void) {
  sm_float_env saved;
  __asm__ volatile(
      "mrs %0, fpcr\n\t"
      "mrs %1, fpsr"
      : "=r"(saved.control), "=r"(saved.status)
      :
      : "memory");
  sm_float_env_set((sm_float_env){.control = 0, .status = saved.status});
  return saved;
}

static inline void sm_float_env_leave(const sm_float_env *saved) { sm_float_env_set(*saved); }

#else

#include <fenv.h>

typedef fenv_t sm_float_env;

static inline sm_float_env sm_float_env_enter(void) {
  sm_float_env saved;
  (void)fegetenv(&saved);
  (void)fesetenv(FE_DFL_ENV);
  return saved;
}

static inline void sm_float_env_leave(const sm_float_env *saved) { (void)fesetenv(saved); }

#endif
#endif
