/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of any processor; the build compiles this file with those instructions. */
#define KOP_LEVEL sm_kop_eval_baseline
#include "core/kop_level.h"
