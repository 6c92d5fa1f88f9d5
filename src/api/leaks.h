/* SPDX-License-Identifier: Apache-2.0
 *
 * The tensors of a context that are alive, as plain data. */
#ifndef SM_API_LEAKS_H
#define SM_API_LEAKS_H

#include "base/vec.h"
#include "smelt/observe.h"

typedef sm_vec(smelt_leak) sm_leaks;

/* The list is the caller's to free (sm_malloc_allocator), also on failure. */
smelt_status sm_leaks_find(smelt_context *ctx, sm_leaks *out, smelt_error *err);

/* "2 references leaked: t5 f32[2,2] made by exp, t7 f32[3] made by from_host", as an error
 * and one line of the log each; OK if there are none. */
smelt_status sm_leaks_report(smelt_context *ctx, smelt_error *err);

#endif
