/* SPDX-License-Identifier: Apache-2.0
 *
 * Operation records and segments: what a program did, as plain data.
 *
 * Vocabulary. An *operation* is a row of ops.def, or one like it. A *record* (sm_op) is one
 * call of it: which values it uses, with which status, which scalars, and what
 * it defines. A *segment* is a list of records in call order together with the
 * table of the *values* (tensors) they mention, numbered by first appearance.
 * A value is a *source* if no record of the segment defines it; a source has
 * data when the segment runs.
 *
 * Invariants (checked by sm_segment_verify):
 *  - a record uses values that are sources or defined by earlier records;
 *  - a value is defined once;
 *  - a use with status READ_WRITE is the last use of that value, and the value
 *    is not live at the end;
 *  - a record has the operands of its row; their dtypes are exact: promotion
 *    has inserted astype records, scalars are words of the dtype the record
 *    works in;
 *  - its attributes are canonical: what was left out, negative or beyond the
 *    axis in the call has been resolved;
 *  - the result has the shape and the dtype that follow from the operands and
 *    the attributes.
 *
 * Everything lives in the segment's arena; nothing here knows streams, buffers
 * or devices. */
#ifndef SM_IR_OP_H
#define SM_IR_OP_H

#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/vec.h"
#include "core/limits.h"
#include "core/reduction.h"
#include "core/scalar.h"
#include "core/shape.h"
#include "smelt/custom.h"

typedef enum sm_opcode {
#define OP(id, ...) SM_OP_##id,
#include "ir/ops.def"
#undef OP
  SM_OP_COUNT
} sm_opcode;

typedef enum sm_family {
  SM_FAMILY_BASE,
  SM_FAMILY_NUMERIC,
  SM_FAMILY_FLOAT,
  SM_FAMILY_INT,
  SM_FAMILY_BOOL,
  SM_FAMILY_CUSTOM
} sm_family;

/* Accepted operand kinds, or-ed. */
enum {
  SM_BOOLEAN = 1,
  SM_INTEGER = 2,
  SM_FLOAT = 4,
  SM_NUMBER = SM_INTEGER | SM_FLOAT,
  SM_ANY = SM_BOOLEAN | SM_NUMBER
};

/* Where an element of the result comes from. */
typedef enum sm_op_class {
  SM_CLASS_ELEMENTWISE, /* computed from the operands' elements at its own place: .expr */
  SM_CLASS_VIEW,        /* an element of the operand, at a place that attributes say */
  SM_CLASS_SELECT,      /* an element of an operand, at a place that data or extents say */
  SM_CLASS_REDUCE,      /* of many elements of the operand: .reduction */
  SM_CLASS_COMPOSITE,   /* recorded as several others (api/composite.c), so never in a record */
  SM_CLASS_OPAQUE       /* a function of the user computes all of them: .opaque */
} sm_op_class;

typedef enum sm_shape_rule {
  SM_SHAPE_BROADCAST, /* of all tensor operands */
  SM_SHAPE_ATTR,      /* given */
  SM_SHAPE_ARANGE,    /* one axis, its extent from start, stop and step */
  /* Of views, which the rule tells apart: */
  SM_SHAPE_RESHAPE, /* given, one extent may be -1; elements keep their order */
  SM_SHAPE_SQUEEZE, /* axes of extent 1 left out */
  SM_SHAPE_EXPAND,  /* an axis of extent 1 put in */
  SM_SHAPE_PERMUTE, /* the axes in another order */
  SM_SHAPE_SWAP,    /* two axes exchanged */
  SM_SHAPE_FLIP,    /* axes walked backwards */
  SM_SHAPE_SLICE,   /* ranges of the axes */
  SM_SHAPE_BROADCAST_TO,
  /* Of selections: */
  SM_SHAPE_TAKE,       /* an axis replaced by those of the indices */
  SM_SHAPE_TAKE_ALONG, /* an axis with the extent it has in the indices */
  SM_SHAPE_CONCAT,     /* an axis with the sum of its extents */
  /* Of reductions and composites of them: */
  SM_SHAPE_REDUCE, /* axes left out, or of extent 1 with keepdims */
  SM_SHAPE_LABELS, /* an axis left out; the second operand has that shape too */
  SM_SHAPE_ALONG,  /* that of the operand; the axes say what belongs together */
  SM_SHAPE_GROUPS  /* the same; axis 1 is cut into equal groups */
} sm_shape_rule;

typedef enum sm_dtype_rule {
  SM_DTYPE_SAME, /* what the operands are promoted to */
  SM_DTYPE_BOOL,
  SM_DTYPE_ATTR,  /* given */
  SM_DTYPE_SUM,   /* given; otherwise i64, u64 or the operand's float dtype. It is the operand's, too */
  SM_DTYPE_TRUTH, /* bool, as which the operand is taken too */
  SM_DTYPE_INDEX  /* i64 */
} sm_dtype_rule;

/* The functions of an opaque operation. */
typedef struct sm_opaque {
  smelt_array_fn *shape, *kernel;
  void *user;
} sm_opaque;

/* A row of ops.def, or one that a program registered (ir/custom_row.h). */
typedef struct sm_op_row {
  uint16_t code; /* sm_opcode; of registered ones numbers from SM_OP_COUNT on */
  const char *name, *log, *slog;
  sm_family family;
  sm_op_class class;
  const char *operands, *attrs;
  const char *names;   /* of the operands, NULL: x y z */
  const char *section; /* the heading before this row, NULL: none */
  sm_shape_rule shape;
  sm_dtype_rule result;
  uint8_t accepts;
  bool random;
  const char *expr;
  sm_reduction reduction;
  const sm_opaque *opaque;
  const char *doc;
} sm_op_row;

const sm_op_row *sm_op_row_of(sm_opcode code);

/* A row of attrs.def. */
typedef struct sm_attr_row {
  char letter;
  const char *keyword, *value;
  const char *parameters, *arguments, *members;
  double usual;
} sm_attr_row;

/* The kind of attribute that a letter of .attrs stands for. */
const sm_attr_row *sm_attr_row_of(char letter);
/* The operation of that name; SM_OP_COUNT if there is none. */
sm_opcode sm_op_find(const char *name);
/* How many scalars a random operation draws after its own operands. */
enum { SM_RANDOM_SCALARS = 2 };

/* What a record can have; longer lists of operands become several records. */
enum { SM_MAX_OPERANDS = 8 };

/* Whether no operand is a tensor, so that a call has to say where its result lives. */
static inline bool sm_op_creates(const sm_op_row *row) {
  const char *letter = row->operands;
  while (*letter == 'S') letter++;
  return *letter == '\0';
}
static inline bool sm_op_takes_list(const sm_op_row *row) { return row->operands[0] == 'L'; }
/* The letter of operand i. */
static inline char sm_op_letter(const sm_op_row *row, int i) {
  return row->operands[sm_op_takes_list(row) ? 0 : i];
}
/* Whether a call may have `n` operands. */
static inline bool sm_op_takes(const sm_op_row *row, int n) {
  if (sm_op_takes_list(row)) return n >= 1 && n <= SM_MAX_OPERANDS;
  return n == (int)strlen(row->operands);
}
/* Whether a call has two results, of which the second is put where an attribute says. */
static inline bool sm_op_has_second(const sm_op_row *row) { return row->attrs && strchr(row->attrs, 'i'); }
/* Whether records have attributes that their result's dtype and shape do not show. */
static inline bool sm_op_has_attrs(const sm_op_row *row) {
  return row->attrs && strpbrk(row->attrs, "apxro") != NULL;
}
/* The letter of the attribute that is a real number, or 0. */
static inline char sm_op_number_letter(const sm_op_row *row) {
  const char *found = row->attrs ? strpbrk(row->attrs, "cne") : NULL;
  return found ? *found : '\0';
}

typedef enum sm_status { SM_NOT_INIT, SM_READ_ONLY, SM_READ_WRITE } sm_status;
const char *sm_status_word(sm_status s); /* "ReadOnly" */

typedef struct sm_use {
  uint32_t value; /* index into the segment's values */
  uint8_t status; /* sm_status */
} sm_use;

/* One operand of a record, in the order of the call. */
typedef struct sm_operand {
  bool is_scalar;
  sm_use use;        /* if a tensor */
  smelt_dtype dtype; /* of the scalar or of the tensor */
  sm_word scalar;    /* if a scalar */
} sm_operand;

/* The axes or the ranges of a record, in canonical form. Axes count from 0 and are
 * ascending unless their order matters. There is a range for each axis of the
 * operand; its start is its first place, its stop lies one beyond its last place,
 * ABSENT if that is before the axis; it is 0:0:1 if it is empty, and its step is 1
 * if it is one place. */
typedef struct sm_attrs {
  int n;
  bool keepdims;
  union {
    int axes[SMELT_MAX_RANK];
    smelt_range ranges[SMELT_MAX_RANK];
  };
} sm_attrs;

typedef struct sm_op {
  const sm_op_row *row;
  uint8_t n_operands;
  uint32_t out; /* the value it defines */
  sm_operand *operands;
  const sm_attrs *attrs; /* NULL unless sm_op_has_attrs */
} sm_op;

enum { SM_NO_OP = -1 };

typedef struct sm_value {
  uint64_t id; /* printed as t<id> */
  smelt_dtype dtype;
  sm_shape shape;
  int32_t producer; /* index of the defining record, SM_NO_OP for a source */
  bool live;        /* wanted after the segment has ended */
  void *tensor;     /* the stream's tensor behind it; opaque here */
} sm_value;

typedef struct sm_segment {
  sm_arena arena;
  sm_vec(sm_op) ops;
  sm_vec(sm_value) values;
} sm_segment;

void sm_segment_init(sm_segment *seg, const sm_allocator *allocator);
void sm_segment_free(sm_segment *seg);
/* Empties the segment, keeps its memory. */
void sm_segment_reset(sm_segment *seg);

/* Makes sure that a call with `n` operands can be recorded, each of them a new source and
 * converted. False when memory is exhausted. */
bool sm_segment_reserve(sm_segment *seg, int n);
/* Adds a source with these properties. False when memory is exhausted. */
bool sm_segment_add_source(sm_segment *seg, const sm_value *like, uint32_t *out);
/* Appends a record whose operands and attributes are copied; it defines a new value
 * like `out` (producer is filled in). On failure the segment is as before. */
bool sm_segment_append_with(sm_segment *seg, const sm_op_row *row, const sm_operand *operands, int n,
                            const sm_attrs *attrs, const sm_value *out, uint32_t *out_value);
/* The same for an operation of the table without attributes of its own. */
static inline bool sm_segment_append(sm_segment *seg, sm_opcode code, const sm_operand *operands, int n,
                                     const sm_value *out, uint32_t *out_value) {
  return sm_segment_append_with(seg, sm_op_row_of(code), operands, n, NULL, out, out_value);
}

/* The number of operands of the call, without what a random operation drew. */
int sm_op_given(const sm_op *op);
/* The attributes of a call that records `op`, whose result is `out`; they point
 * into both. */
smelt_attrs sm_op_call_attrs(const sm_op *op, const sm_value *out);

/* Whether the record fills a tensor with one value, or converts or passes on its operand:
 * an element of it costs less than reading it, wherever it is. */
bool sm_op_is_cheap(const sm_op *op);
/* Whether an element of the result follows from the elements of the operands alone, wherever
 * it is. */
bool sm_op_is_pointwise(const sm_op *op);

/* Checks the invariants above; ERR_INTERNAL with the fault named. */
smelt_status sm_segment_verify(const sm_segment *seg, smelt_error *err);

/* "NumericFloat(F32, Mul)": family, kind and dtype of the operands, name. */
void sm_op_print_log_name(sm_text *text, const sm_segment *seg, const sm_op *op);
/* "mul_scalar" for kernels named after one operation: the row's log name in
 * snake case. */
void sm_op_print_kernel_name(sm_text *text, const sm_op *op);
/* "[registered] NumericFloat(F32, Mul) in=[t1:ReadWrite, t2:ReadWrite] out=[t4:NotInit]" */
void sm_op_print_registered(sm_text *text, const sm_segment *seg, const sm_op *op);

#endif
