/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "ir/smt.h"

/* The shortest digits that read back as this value. Reading goes through f64, so
 * the rare digits that an f32 would be rounded twice by are replaced by those of
 * the f64; a half is read with one rounding. */
static void print_float(sm_text *text, smelt_dtype dtype, double value) {
  size_t from = text->len;
  sm_scalar_print_digits(text, dtype, value);
  if (text->failed) return;
  if (dtype == SMELT_F32 && value == value && (double)(float)sm_parse_f64(text->data + from, NULL) != value) {
    text->data[text->len = from] = 0;
    sm_text_f64(text, value);
  }
  if (!strpbrk(text->data + from, ".en")) sm_text_add(text, ".0");
}

void sm_smt_print_element(sm_text *text, smelt_dtype dtype, const void *element) {
  if (sm_kind_of(dtype) != SM_KIND_FLOAT) sm_scalar_print(text, sm_scalar_of(dtype, element));
  else print_float(text, dtype, sm_scalar_of(dtype, element).as.f64);
}

static void print_list(sm_text *text, const sm_value *value, const unsigned char *elements) {
  size_t size = smelt_dtype_size(value->dtype);
  size_t n = (size_t)sm_shape_count(&value->shape);
  sm_text_add(text, "{");
  for (size_t i = 0; i < n; i++) {
    if (i) sm_text_add(text, ", ");
    sm_smt_print_element(text, value->dtype, elements + i * size);
  }
  sm_text_add(text, "}");
}

static bool all_same(const unsigned char *elements, size_t n, size_t size) {
  return memcmp(elements, elements + size, (n - 1) * size) == 0;
}

static void print_data(sm_text *text, const sm_value *value, const unsigned char *elements) {
  size_t n = (size_t)sm_shape_count(&value->shape);
  if (!elements) {
    sm_text_add(text, "iota  # the elements were not at hand");
  } else if (n <= SM_SMT_MOST_LISTED) {
    print_list(text, value, elements);
  } else if (all_same(elements, n, smelt_dtype_size(value->dtype))) {
    sm_text_add(text, "fill ");
    sm_smt_print_element(text, value->dtype, elements);
  } else {
    sm_text_addf(text, "iota  # instead of %zu other elements", n);
  }
}

static void print_source(sm_text *text, const sm_value *value, const sm_smt_writing *how) {
  sm_text_addf(text, "t%" PRIu64 " = input %s", value->id, smelt_dtype_name(value->dtype));
  sm_shape_print(text, &value->shape);
  sm_text_add(text, " ");
  print_data(text, value, how->source ? how->source(how->user, value) : NULL);
  sm_text_add(text, "\n");
}

static void print_operand(sm_text *text, const sm_segment *seg, const sm_operand *operand) {
  if (operand->is_scalar) {
    sm_smt_print_element(text, operand->dtype, &operand->scalar);
    return;
  }
  const char *keep = operand->use.status == SM_READ_WRITE ? "" : "&";
  sm_text_addf(text, "%st%" PRIu64, keep, seg->values.items[operand->use.value].id);
}

static void print_place(sm_text *text, int64_t place) {
  if (place != SMELT_ABSENT) sm_text_addf(text, "%" PRId64, place);
}

static void print_range(sm_text *text, smelt_range r) {
  print_place(text, r.start);
  sm_text_add(text, ":");
  print_place(text, r.stop);
  if (r.step == 1) return;
  sm_text_add(text, ":");
  print_place(text, r.step);
}

static void print_axes(sm_text *text, const int *axes, size_t n) {
  sm_text_add(text, "[");
  for (size_t i = 0; i < n; i++) sm_text_addf(text, "%s%d", i ? ", " : "", axes[i]);
  sm_text_add(text, "]");
}

static void print_ranges(sm_text *text, const smelt_range *ranges, size_t n) {
  sm_text_add(text, "[");
  for (size_t i = 0; i < n; i++) {
    if (i) sm_text_add(text, ", ");
    print_range(text, ranges[i]);
  }
  sm_text_add(text, "]");
}

static void print_shape(sm_text *text, const smelt_attrs *attrs) {
  sm_text_add(text, "[");
  for (int i = 0; i < attrs->rank; i++) sm_text_addf(text, "%s%" PRId64, i ? "," : "", attrs->dims[i]);
  sm_text_add(text, "]");
}

static void print_attribute(sm_text *text, char letter, const smelt_attrs *attrs) {
  switch (letter) {
    case 't':
    case 'd':
      sm_text_add(text, smelt_dtype_name(attrs->dtype));
      break;
    case 'k':
      sm_text_add(text, "true");
      break;
    case 's':
      print_shape(text, attrs);
      break;
    case 'x':
      sm_text_addf(text, "%d", attrs->axes[0]);
      break;
    case 'r':
      print_ranges(text, attrs->ranges, attrs->n_ranges);
      break;
    case 'c':
    case 'n':
    case 'e':
      print_float(text, SMELT_F64, attrs->number);
      break;
    case 'g':
      sm_text_addf(text, "%" PRId64, attrs->groups);
      break;
    default:
      print_axes(text, attrs->axes, attrs->n_axes);
      break;
  }
}

static bool is_given(char letter, const smelt_attrs *attrs) {
  switch (letter) {
    case 't':
    case 's':
    case 'c':
    case 'n':
    case 'e':
    case 'g':
      return true;
    case 'i': /* a second name says so */
      return false;
    case 'd':
      return attrs->dtype != SMELT_DTYPE_NONE;
    case 'k':
      return attrs->keepdims;
    case 'r':
      return attrs->ranges != NULL;
    default:
      return attrs->axes != NULL;
  }
}

void sm_smt_print_attributes(sm_text *text, const char *letters, const smelt_attrs *attrs,
                             const char *separator) {
  for (; *letters; letters++) {
    if (!is_given(*letters, attrs)) continue;
    sm_text_addf(text, "%s%s=", separator, sm_attr_row_of(*letters)->keyword);
    separator = ", ";
    print_attribute(text, *letters, attrs);
  }
}

/* What the next random operation of the file will draw when it is run. */
typedef struct draws {
  bool seeded;
  uint64_t key, call;
} draws;

/* Random operations draw the call number since the last seed and the seed. A
 * call number other than 0 after a seed has no form in the file. */
static void print_seed(sm_text *text, const sm_op *op, int given, draws *next) {
  uint64_t call = op->operands[given].scalar.U64, key = op->operands[given + 1].scalar.U64;
  if (!next->seeded || key != next->key || call != next->call) {
    sm_text_addf(text, "seed %" PRIu64, key);
    if (call) sm_text_addf(text, "  # this was call %" PRIu64 " after the seed: other numbers", call);
    sm_text_add(text, "\n");
  }
  *next = (draws){true, key, call + 1};
}

static void print_record(sm_text *text, const sm_segment *seg, const sm_op *op, draws *next) {
  const sm_op_row *row = op->row;
  const sm_value *out = &seg->values.items[op->out];
  int given = sm_op_given(op);
  if (row->random) print_seed(text, op, given, next);
  sm_text_addf(text, "t%" PRIu64 " = %s(", out->id, row->name);
  for (int i = 0; i < given; i++) {
    if (i) sm_text_add(text, ", ");
    print_operand(text, seg, &op->operands[i]);
  }
  smelt_attrs attrs = sm_op_call_attrs(op, out);
  if (row->attrs) sm_smt_print_attributes(text, row->attrs, &attrs, given ? ", " : "");
  sm_text_add(text, ")\n");
}

static bool is_taken(const sm_segment *seg, size_t value) {
  for (size_t i = 0; i < seg->ops.len; i++) {
    const sm_op *op = &seg->ops.items[i];
    for (int k = 0; k < op->n_operands; k++) {
      const sm_operand *o = &op->operands[k];
      if (!o->is_scalar && o->use.value == value && o->use.status == SM_READ_WRITE) return true;
    }
  }
  return false;
}

/* One line with a keyword and the names of the chosen values; nothing if there
 * are none. */
static bool print_names(sm_text *text, const sm_segment *seg, const char *keyword,
                        bool (*chosen)(const sm_segment *seg, size_t value)) {
  bool any = false;
  for (size_t i = 0; i < seg->values.len; i++) {
    if (!chosen(seg, i)) continue;
    sm_text_addf(text, "%s t%" PRIu64, any ? "," : keyword, seg->values.items[i].id);
    any = true;
  }
  if (any) sm_text_add(text, "\n");
  return any;
}

static bool is_dropped(const sm_segment *seg, size_t value) {
  return !seg->values.items[value].live && !is_taken(seg, value);
}

static bool is_result(const sm_segment *seg, size_t value) {
  return seg->values.items[value].live && seg->values.items[value].producer != SM_NO_OP;
}

void sm_smt_print(sm_text *text, const sm_segment *seg, const sm_smt_writing *how) {
  sm_text_addf(text, "smt %d\n%s", SM_SMT_VERSION, how->preamble ? how->preamble : "");
  for (size_t i = 0; i < seg->values.len; i++) {
    const sm_value *value = &seg->values.items[i];
    if (value->producer == SM_NO_OP) print_source(text, value, how);
  }
  draws next = {0};
  for (size_t i = 0; i < seg->ops.len; i++) print_record(text, seg, &seg->ops.items[i], &next);
  print_names(text, seg, "drop", is_dropped);
  if (!print_names(text, seg, how->shows ? "read" : "eval", is_result)) sm_text_add(text, "sync\n");
}
