/* SPDX-License-Identifier: Apache-2.0
 *
 * What sanitizers ask every program for (cmake/SmeltTargets.cmake).
 *
 *  - An allocation that cannot be had is answered with NULL, as malloc does, so that
 *    tests can ask for too much.
 *  - Memory for the thread-local variables of libraries that were opened later
 *    (libLLVM's) is not followed. The sanitizers of gcc 12 take what the C library
 *    writes in front of it for an address and a size, and when they then look for
 *    leaks there, the process dies.
 *  - What PoCL, and the libLLVM that it opens, keep until the process ends is no leak of
 *    ours. */
#define SANITIZER_OPTIONS(name)                                  \
  __attribute__((visibility("default"))) const char *name(void); \
  const char *name(void) { return "allocator_may_return_null=1:intercept_tls_get_addr=0"; }
SANITIZER_OPTIONS(__asan_default_options)
SANITIZER_OPTIONS(__tsan_default_options)

__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libpocl\nleak:libLLVM-15\n"; }
