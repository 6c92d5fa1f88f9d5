/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops with AVX2 and FMA; the build compiles this file with those instructions. */
#define KOP_LEVEL sm_kop_eval_avx2
#include "core/kop_level.h"
