/* SPDX-License-Identifier: Apache-2.0
 *
 * The built-in fusers, in order of preference, and behind them what runs views,
 * concatenations and functions of programs.
 *
 * The five names are fixed; a fuser that is not part of this version is listed
 * with `available` false and takes nothing. */
#ifndef SM_FUSERS_REGISTRY_H
#define SM_FUSERS_REGISTRY_H

#include "plan/fuser.h"

extern const sm_fuser sm_fuser_elementwise, sm_fuser_reduce, sm_fuser_reduce_broadcasted, sm_fuser_view,
    sm_fuser_concat, sm_fuser_opaque;

/* NULL-terminated: ElementWise, Matmul, Reduce, ReduceBroadcasted, NHWCRelayout, View,
 * Concat, Opaque. */
extern const sm_fuser *const sm_builtin_fusers[];

#endif
