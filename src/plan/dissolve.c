/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/dissolve.h"

/* What the readers of a record say. */
typedef struct readers {
  int n;
  bool others; /* one of them is another fuser's */
} readers;

static void note_readers_of(const sm_segment *segment, const sm_fuser *const *fuser, size_t reader,
                            readers *by_record) {
  const sm_op *op = &segment->ops.items[reader];
  for (int k = 0; k < op->n_operands; k++) {
    if (op->operands[k].is_scalar) continue;
    int32_t producer = segment->values.items[op->operands[k].use.value].producer;
    if (producer == SM_NO_OP) continue;
    /* A selection does not broadcast what it reads. */
    bool selects = op->row->class == SM_CLASS_SELECT;
    by_record[producer].n++;
    by_record[producer].others |= selects || fuser[producer] != fuser[reader];
  }
}

/* Bytes of an element of what it reads, of all tensor operands. */
static int64_t bytes_read(const sm_op *op) {
  int64_t bytes = 0;
  for (int k = 0; k < op->n_operands; k++) {
    if (!op->operands[k].is_scalar) bytes += (int64_t)smelt_dtype_size(op->operands[k].dtype);
  }
  return bytes;
}

/* n readers of the operand, against one, a write, and n readers of the result. */
static bool pays(const sm_segment *segment, const sm_op *op, int n) {
  int64_t from = bytes_read(op), to = (int64_t)smelt_dtype_size(segment->values.items[op->out].dtype);
  return n * from <= from + (1 + n) * to;
}

bool sm_dissolve(const sm_segment *segment, const sm_fuser *const *fuser, const bool *needed, sm_arena *arena,
                 bool *dissolved) {
  size_t n = segment->ops.len;
  readers *by_record = sm_arena_zalloc(arena, n, sizeof *by_record);
  if (!by_record) return false;
  for (size_t i = 0; i < n; i++) {
    if (needed[i]) note_readers_of(segment, fuser, i, by_record);
  }
  for (size_t i = 0; i < n; i++) {
    const sm_op *op = &segment->ops.items[i];
    bool wanted = segment->values.items[op->out].live || by_record[i].others;
    bool cheap = needed[i] && fuser[i] && !fuser[i]->apart && sm_op_is_cheap(op);
    dissolved[i] = cheap && !wanted && pays(segment, op, by_record[i].n);
  }
  return true;
}
