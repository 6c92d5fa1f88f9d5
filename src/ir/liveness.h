/* SPDX-License-Identifier: Apache-2.0
 *
 * Dead code: which records of an ended segment have to run. */
#ifndef SM_IR_LIVENESS_H
#define SM_IR_LIVENESS_H

#include "ir/op.h"

/* Sets needed[i] for every record whose value is live or is used by a needed
 * record. `needed` has one entry a record. */
void sm_segment_needed(const sm_segment *seg, bool *needed);

#endif
