/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops with AVX-512; the build compiles this file with those instructions. */
#define KOP_LEVEL sm_kop_eval_avx512
#include "core/kop_level.h"
