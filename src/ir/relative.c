/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/relative.h"

#include <string.h>

/* --- The form ------------------------------------------------------------------------- */

_Static_assert(SMELT_MAX_RANK < 31, "a bit for each axis, and one that marks scalars");

/* Bits: dtype 8, rank 8, live 1, source 1, then a bit for each axis of extent 1. */
static uint64_t value_word(const sm_value *value) {
  uint64_t word = (uint64_t)value->dtype | (uint64_t)value->shape.rank << 8 | (uint64_t)value->live << 16 |
                  (uint64_t)(value->producer == SM_NO_OP) << 17;
  for (int axis = 0; axis < value->shape.rank; axis++)
    word |= (uint64_t)(value->shape.dims[axis] == 1) << (32 + axis);
  return word;
}

static uint64_t operand_word(const sm_operand *operand) {
  return operand->is_scalar ? (uint64_t)1 << 63 | operand->dtype : operand->use.value;
}

_Static_assert(SMELT_MAX_RANK <= 16, "four bits for an axis");

static bool names_axes(const sm_op *op) { return op->attrs && !strchr(op->row->attrs, 'r'); }

/* The axes of an operation that names some, four bits each; how many is in the
 * operation's own word. */
static uint64_t axes_word(const sm_attrs *attrs) {
  uint64_t word = 0;
  for (int i = 0; i < attrs->n; i++) word = word << 4 | (uint64_t)attrs->axes[i];
  return word;
}

/* Bits: result 32, operands 8, code 16, axes 8. */
static uint64_t op_word(const sm_op *op) {
  uint64_t axes = names_axes(op) ? (uint64_t)op->attrs->n : 0;
  return axes << 56 | (uint64_t)op->row->code << 40 | (uint64_t)op->n_operands << 32 | op->out;
}

static size_t count_words(const sm_segment *segment) {
  size_t words = 1 + segment->values.len;
  for (size_t i = 0; i < segment->ops.len; i++) {
    const sm_op *op = &segment->ops.items[i];
    words += 1 + (size_t)op->n_operands + names_axes(op);
  }
  return words;
}

bool sm_relative_form(const sm_segment *segment, const sm_allocator *allocator, sm_words *out) {
  if (!sm_vec_reserve(allocator, out, count_words(segment))) return false;
  uint64_t *word = out->items + out->len;
  *word++ = (uint64_t)segment->values.len << 32 | segment->ops.len;
  for (size_t v = 0; v < segment->values.len; v++) *word++ = value_word(&segment->values.items[v]);
  for (size_t i = 0; i < segment->ops.len; i++) {
    const sm_op *op = &segment->ops.items[i];
    *word++ = op_word(op);
    if (names_axes(op)) *word++ = axes_word(op->attrs);
    for (int k = 0; k < op->n_operands; k++) *word++ = operand_word(&op->operands[k]);
  }
  out->len = (size_t)(word - out->items);
  return true;
}

/* --- The size order -------------------------------------------------------------------- */

/* Distinct shapes or sizes in order of appearance. Segments have few of them, most
 * often the last one again. */
typedef struct numbering {
  const sm_segment *segment;
  uint32_t *example; /* by number: a value that has it */
  uint32_t n;
} numbering;

typedef bool same_fn(const sm_value *a, const sm_value *b);

static bool same_shape(const sm_value *a, const sm_value *b) { return sm_shape_equal(&a->shape, &b->shape); }

static int64_t bytes_of(const sm_value *value) { return sm_shape_bytes(&value->shape, value->dtype); }

static bool same_bytes(const sm_value *a, const sm_value *b) { return bytes_of(a) == bytes_of(b); }

static uint32_t number(numbering *known, same_fn *same, uint32_t v) {
  const sm_value *values = known->segment->values.items;
  for (uint32_t i = known->n; i-- > 0;) {
    if (same(&values[known->example[i]], &values[v])) return i;
  }
  known->example[known->n] = v;
  return known->n++;
}

/* How many of the distinct sizes are smaller than that of number `i`. */
static uint64_t rank_of(const numbering *sizes, uint32_t i) {
  const sm_value *values = sizes->segment->values.items;
  uint64_t rank = 0;
  for (uint32_t k = 0; k < sizes->n; k++)
    rank += bytes_of(&values[sizes->example[k]]) < bytes_of(&values[sizes->example[i]]);
  return rank;
}

static void number_values(const sm_segment *segment, uint32_t *example, uint64_t *words) {
  numbering shapes = {.segment = segment, .example = example};
  for (uint32_t v = 0; v < segment->values.len; v++) words[v] = number(&shapes, same_shape, v);
}

/* The number of the size stands in the upper half until all sizes are known. */
static void rank_values(const sm_segment *segment, uint32_t *example, uint64_t *words) {
  numbering sizes = {.segment = segment, .example = example};
  for (uint32_t v = 0; v < segment->values.len; v++)
    words[v] |= (uint64_t)number(&sizes, same_bytes, v) << 32;
  for (uint32_t v = 0; v < segment->values.len && sizes.n > 1; v++) {
    uint64_t rank = rank_of(&sizes, (uint32_t)(words[v] >> 32));
    words[v] = rank << 32 | (uint32_t)words[v];
  }
}

/* --- Ratios ------------------------------------------------------------------------------ */

int sm_relative_ratio(const sm_segment *segment, const sm_op *op, int k) {
  const sm_value *value = &segment->values.items[op->operands[k].use.value];
  int64_t of = sm_shape_count(&value->shape), to = sm_shape_count(&segment->values.items[op->out].shape);
  bool elementwise = op->row->class == SM_CLASS_ELEMENTWISE;
  if (!elementwise || value->producer == SM_NO_OP || of == 0) return 1;
  int ratio = 1;
  while (ratio <= SM_RATIO_MOST && ratio * of < to) ratio *= 2;
  return ratio;
}

/* Answers how many there are. What has the result's shape is not looked at. */
static size_t add_ratios(const sm_segment *segment, const uint64_t *shapes, uint64_t *words) {
  size_t n = 0;
  for (size_t i = 0; i < segment->ops.len; i++) {
    const sm_op *op = &segment->ops.items[i];
    for (int k = 0; k < op->n_operands; k++) {
      bool same = op->operands[k].is_scalar ||
                  (uint32_t)shapes[op->operands[k].use.value] == (uint32_t)shapes[op->out];
      int ratio = same ? 1 : sm_relative_ratio(segment, op, k);
      if (ratio != 1) words[n++] = (uint64_t)i << 32 | (uint64_t)k << 16 | (uint64_t)ratio;
    }
  }
  return n;
}

/* Operands of elementwise operations. */
enum { MOST_RATIOS = 3 };

bool sm_relative_sizes(const sm_segment *segment, const sm_allocator *allocator, sm_words *out) {
  /* The numbering's examples stand behind the words and are forgotten. */
  size_t n = segment->values.len;
  if (!sm_vec_reserve(allocator, out, 2 * n + MOST_RATIOS * segment->ops.len)) return false;
  uint64_t *words = out->items + out->len;
  uint32_t *example = (uint32_t *)(void *)(words + n);
  number_values(segment, example, words);
  rank_values(segment, example, words);
  out->len += n + add_ratios(segment, words, words + n);
  return true;
}
