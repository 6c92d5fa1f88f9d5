/* SPDX-License-Identifier: Apache-2.0
 *
 * The primitives of kops.def as C functions of one element, sm_kop_ID_DTYPE: what
 * functions_gen.h is written with. All but SELECT take three operands of one type
 * and look at as many as they have; conversions are sm_kop_ID_TO_FROM. */
#ifndef SM_CORE_KOP_PRIMITIVES_H
#define SM_CORE_KOP_PRIMITIVES_H

#include <stdbool.h>

#include "core/half.h"
#include "core/kop_functions.h"

#define KOP_EACH_TYPE "core/kop_bodies.h"
#include "core/kop_types.h"

#endif
