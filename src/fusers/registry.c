/* SPDX-License-Identifier: Apache-2.0 */
#include "fusers/registry.h"

static const sm_fuser matmul = {.name = "Matmul"};
static const sm_fuser nhwc_relayout = {.name = "NHWCRelayout"};

const sm_fuser *const sm_builtin_fusers[] = {
    &sm_fuser_elementwise,
    &matmul,
    &sm_fuser_reduce,
    &sm_fuser_reduce_broadcasted,
    &nhwc_relayout,
    &sm_fuser_view,
    &sm_fuser_concat,
    &sm_fuser_opaque,
    NULL,
};
