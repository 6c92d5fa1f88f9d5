/* SPDX-License-Identifier: Apache-2.0
 *
 * The .smt form: a program of tensor operations as text, one statement a line.
 *
 * docs/smt.md specifies the grammar. sm_smt_parse turns text into plain data:
 * an array of statements in which names are indices and operations opcodes.
 * sm_smt_print writes a segment in the same form, so that what a program
 * recorded can be kept as a file and run again. Executing statements is the
 * command's part (smelt run): this module knows no context.
 *
 * Vocabulary. A *name* stands for the one reference that a statement defines; a
 * *take* (`t1`) gives that reference to the operation, a *keep* (`&t1`) gives it
 * a further one. Whether a reference is still valid when it is used is not
 * checked here: use after take is something a file may want to show.
 *
 * Invariants of a parsed file: every name is defined once, before its uses;
 * `input` has as many elements as its shape, and all of them fit the dtype;
 * attributes belong to their operation. The parser accepts any bytes, never
 * recurses, and needs memory in proportion to the text. */
#ifndef SM_IR_SMT_H
#define SM_IR_SMT_H

#include "ir/op.h"

enum { SM_SMT_VERSION = 1 };

typedef enum sm_smt_kind {
  SM_SMT_OPTION, /* a context option: option, string or number */
  SM_SMT_SEED,   /* number */
  SM_SMT_INPUT,  /* name, type, data */
  SM_SMT_CALL,   /* name, code, operands, attrs */
  SM_SMT_DROP,   /* operands, all takes */
  SM_SMT_EVAL,   /* operands, all keeps; so READ */
  SM_SMT_READ,
  SM_SMT_SYNC,
  SM_SMT_MARKER,          /* string */
  SM_SMT_EXPECT_VALUE,    /* name, type, data, ulp */
  SM_SMT_EXPECT_POISONED, /* name, status, string (may be NULL) */
  SM_SMT_EXPECT_LAUNCHES, /* number; so BLOCKS */
  SM_SMT_EXPECT_BLOCKS,
  SM_SMT_EXPECT_LINE /* string */
} sm_smt_kind;

typedef enum sm_smt_option { SM_SMT_FUSION, SM_SMT_MAX_OPS, SM_SMT_MODE } sm_smt_option;

/* What a type says; dtype NONE and rank -1 where left out.
 * Extents are as written: not checked except in `input`. */
typedef struct sm_smt_type {
  smelt_dtype dtype;
  int rank;
  const int64_t *dims;
} sm_smt_type;

typedef enum sm_smt_fill { SM_SMT_NO_DATA, SM_SMT_LIST, SM_SMT_FILL, SM_SMT_IOTA } sm_smt_fill;

/* Element values in row-major order: n of a list, one for fill, none for iota. */
typedef struct sm_smt_data {
  sm_smt_fill fill;
  const sm_scalar *items;
  size_t n;
} sm_smt_data;

typedef enum sm_smt_use { SM_SMT_TAKE, SM_SMT_KEEP, SM_SMT_SCALAR } sm_smt_use;

typedef struct sm_smt_operand {
  sm_smt_use use;
  uint32_t name;    /* unless a scalar */
  sm_scalar scalar; /* if a scalar */
} sm_smt_operand;

enum { SM_SMT_EXACT = -1 };

typedef struct sm_smt_stmt {
  sm_smt_kind kind;
  size_t line;
  uint32_t name;
  bool has_second; /* of a call, which defines a second name */
  uint32_t second;
  sm_opcode code;
  const sm_smt_operand *operands;
  size_t n_operands;
  sm_smt_type type;
  smelt_attrs attrs; /* as written; rank -1 and NULL where left out */
  sm_smt_data data;
  sm_smt_option option;
  smelt_status status;
  uint64_t number; /* of FUSION: 0 or 1 */
  int64_t ulp;     /* SM_SMT_EXACT: equal bits, NaN equals NaN */
  const char *string;
} sm_smt_stmt;

typedef struct sm_smt {
  sm_arena arena;
  sm_vec(sm_smt_stmt) stmts;
  sm_vec(const char *) names;
} sm_smt;

/* Reads `n` bytes of text. ERR_FORMAT with "line 3, column 9: ..." or
 * ERR_MEMORY; `out` is then empty. Columns count bytes from 1. */
smelt_status sm_smt_parse(const sm_allocator *allocator, const char *text, size_t n, sm_smt *out,
                          smelt_error *err);
void sm_smt_free(sm_smt *smt);

/* The same program in C, against the public interface (smt_print_c.c). */
void sm_smt_print_c(sm_text *text, const sm_smt *smt);

/* An element as the form writes it: reads back as the same bits. */
void sm_smt_print_element(sm_text *text, smelt_dtype dtype, const void *element);

/* The attributes of these letters as arguments, "axis=0"; `separator` before the
 * first. What is left out is not written. */
void sm_smt_print_attributes(sm_text *text, const char *letters, const smelt_attrs *attrs,
                             const char *separator);

/* The elements of a source, row-major, or NULL where they are not at hand. */
typedef const void *sm_smt_source_fn(void *user, const sm_value *value);

/* Longer inputs are a `fill` if all elements are the same, otherwise `iota`. */
enum { SM_SMT_MOST_LISTED = 4096 };

/* How a segment is written; all may be zero. */
typedef struct sm_smt_writing {
  const char *preamble;     /* lines before the inputs: comments and options; NULL */
  bool shows;               /* in the end what is live is read, not just computed */
  sm_smt_source_fn *source; /* NULL: no elements are at hand */
  void *user;
} sm_smt_writing;

/* Writes a verified segment as a .smt file: sources as inputs, records with takes and
 * keeps as they were recorded, what was given up as drops, and an `eval` or `read` of
 * what is live. Elements that are not at hand, or too many, are printed as iota, with
 * a comment. */
void sm_smt_print(sm_text *text, const sm_segment *seg, const sm_smt_writing *how);

#endif
