/* SPDX-License-Identifier: Apache-2.0
 *
 * Smelt: lazy tensors whose operations are fused into few kernels.
 *
 *   smelt_context *ctx = smelt_context_create(NULL, NULL);
 *   smelt_tensor *a = smelt_from_host(ctx, SMELT_F32, 1, (int64_t[]){3}, (float[]){1, 2, 3});
 *   smelt_tensor *d = smelt_exp(smelt_mul(a, 2.0));
 *   smelt_print(d, NULL);
 *   smelt_drop(d);
 *   smelt_context_destroy(ctx, NULL);
 */
#ifndef SMELT_H
#define SMELT_H

#include "smelt/base.h"
#include "smelt/context.h"
#include "smelt/tensor.h"
#include "smelt/custom.h"
#include "smelt/ops.h"
#include "smelt/observe.h"

#endif
