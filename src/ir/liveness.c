/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/liveness.h"

static void need_operands(const sm_segment *seg, const sm_op *op, bool *needed) {
  for (int k = 0; k < op->n_operands; k++) {
    if (op->operands[k].is_scalar) continue;
    int32_t producer = seg->values.items[op->operands[k].use.value].producer;
    if (producer != SM_NO_OP) needed[producer] = true;
  }
}

void sm_segment_needed(const sm_segment *seg, bool *needed) {
  for (size_t i = 0; i < seg->ops.len; i++) needed[i] = seg->values.items[seg->ops.items[i].out].live;
  for (size_t i = seg->ops.len; i-- > 0;) {
    if (needed[i]) need_operands(seg, &seg->ops.items[i], needed);
  }
}
