/* SPDX-License-Identifier: Apache-2.0
 *
 * Reproducers: a segment as a program that does it again, in the .smt form and in C.
 *
 * Where a context has a folder for them, every segment is written there before it runs,
 * because inputs may be gone afterwards, and removed if nothing failed. So one that ends
 * the process is there too. */
#ifndef SM_API_REPRODUCE_H
#define SM_API_REPRODUCE_H

#include "base/text.h"
#include "stream/stream.h"

typedef struct sm_reproducing {
  sm_executor inner; /* what runs jobs */
  sm_text folder;
  _Atomic uint64_t segments;
} sm_reproducing;

/* From now on, in the folder that the option (NULL: SMELT_REPRODUCE) names, if any. ERR_IO
 * if nothing can be written there, ERR_MEMORY. */
smelt_status sm_reproduce_into(smelt_context *ctx, const char *folder, smelt_error *err);
void sm_reproducing_free(sm_reproducing *r);

#endif
