/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of kernels in the dialects of the C family. */
#ifndef TESTS_KERNEL_TEXT_H
#define TESTS_KERNEL_TEXT_H

#include "codegen/c_family.h"

#include "harness.h"

/* To be freed. */
static inline sm_text text_of(const sm_kir_kernel *k, const sm_dialect *dialect, sm_text_form form) {
  sm_text text;
  smelt_error err;
  sm_text_init(&text, &sm_malloc_allocator);
  CHECK_OK(sm_c_family_text(k, dialect, form, &text, &err), err);
  return text;
}

/* The dialect lacks what the kernel needs. */
static inline void check_no_text(const sm_kir_kernel *k, const sm_dialect *dialect, const char *why) {
  sm_text text;
  smelt_error err;
  sm_text_init(&text, &sm_malloc_allocator);
  CHECK_STATUS(sm_c_family_text(k, dialect, (sm_text_form){0}, &text, &err), SMELT_ERR_UNSUPPORTED);
  CHECK_STR(err.text, why);
  sm_text_free(&text);
}

#endif
