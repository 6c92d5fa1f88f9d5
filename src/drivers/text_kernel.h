/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of devices that have a compiler of their own: kernel IR becomes a text of the C
 * family (codegen/c_family.h), the compiler makes code of it, and the code is kept on disk
 * under the identity of kernel and device, so that the compiler is not needed again. What
 * such drivers have in common is here; a *maker* says what is not. */
#ifndef SM_DRIVERS_TEXT_KERNEL_H
#define SM_DRIVERS_TEXT_KERNEL_H

#include "drivers/ir_kernel.h"
#include "rt/code_cache.h"

/* The first member of a driver's own kernel. */
typedef struct sm_text_kernel {
  struct sm_kernel base;
  bool by_value, has_table; /* how arguments are passed: codegen/c_family.h */
  uint32_t given_shared;    /* bytes that launches give, there too */
} sm_text_kernel;

/* Code that a compiler has made; `data` NULL if there is none to keep. */
typedef struct sm_made_code {
  sm_object object;     /* the caller's to free */
  const char *compiler; /* with its version */
} sm_made_code;

typedef struct sm_kernel_maker {
  const sm_dialect *dialect;
  sm_text_form form;
  sm_code_cache cache;
  sm_hash identity;   /* of all that code depends on, but for the kernel */
  size_t kernel_size; /* of the driver's own */
  /* Readies a kernel of that name for launches, from a text or from code that has been kept. */
  smelt_status (*build)(sm_device *device, const char *text, const char *name, sm_text_kernel *out,
                        sm_made_code *code, smelt_error *err);
  smelt_status (*load)(sm_device *device, const sm_object *code, const char *name, sm_text_kernel *out,
                       smelt_error *err);
} sm_kernel_maker;

/* For a driver's entry `compile`. */
smelt_status sm_text_kernel_make(sm_device *device, const sm_kernel_maker *maker, sm_kir_kernel *ir,
                                 sm_kernel **out, smelt_error *err);
/* For its entry `release`, when what is the driver's own has been given back. */
void sm_text_kernel_free(sm_device *device, const sm_kernel_maker *maker, sm_text_kernel *kernel);

#endif
