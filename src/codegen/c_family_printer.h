/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files that turn kernel IR into text of the C family share.
 *
 * Values are variables: v7 is instruction 7's. A vector is a struct whose array `l`
 * has its lanes, and is worked on by a loop over lanes, so that the text does not grow
 * with the width:
 *
 *   f32x4 v7; LANES(4) v7.l[l] = v5.l[l] * v6.l[l];
 *
 * Compilers unroll these loops, which takes them some time, so statements that follow each other share
 * one: a *group*. What nothing behind it uses is a number there (c_family_lanes.c):
 *
 *   f32x4 v8;
 *   LANES(4) {
 *     const f32 v7 = v5.l[l] * v6.l[l];
 *     v8.l[l] = v7 + v6.l[l];
 *   }
 *
 * Where the dialect has vectors of its own, what can be said of
 * all lanes at once is (c_family_native.c): v7.v = v5.v * v6.v. Literals, what is the same in all lanes and
 * IOTAs are no variables, but written where they are used. What a text needs besides (types, functions) is
 * noted while it is written, and put before it.
 *
 * Expressions are *templates*: those of kops.def, as they stand there, and others
 * like them, whose words mean what core/kop_types.h says. */
#ifndef SM_CODEGEN_C_FAMILY_PRINTER_H
#define SM_CODEGEN_C_FAMILY_PRINTER_H

#include "codegen/c_family_dialect.h"

/* A vector type in use, and whether whole vectors are read and written. */
typedef struct sm_c_vector {
  sm_kir_type type;
  bool read, written;
} sm_c_vector;

/* Functions of whole vectors. */
typedef enum sm_c_native {
  SM_C_NATIVE_LDEXP,
  SM_C_NATIVE_WIDEN_BF16,
  SM_C_NATIVE_NARROW_BF16,
  SM_C_NATIVE_WIDEN_F16,
  SM_C_NATIVE_NARROW_F16,
  SM_C_NATIVE_COUNT
} sm_c_native;

typedef struct sm_c_printer {
  const sm_kir_kernel *kernel; /* of primitives */
  const sm_dialect *dialect;
  sm_text_form form;
  int32_t *last_use;             /* by instruction: the last one that needs its value */
  bool *used;                    /* by instruction: something needs its value, or it has none */
  bool *narrow;                  /* by instruction: an i64 that is kept in 32 bits (c_family_narrow.c) */
  bool *alone;                   /* by instruction: a vector of which a group has one lane at a time */
  int32_t group_end;             /* the instruction behind the group that is being written, or the last one */
  sm_text *text;                 /* what is being written */
  int depth;                     /* of loops */
  uint64_t functions;            /* bit i: function i of c_family_functions.c */
  bool shuffles[SM_DTYPE_LIMIT]; /* by dtype: its values are shuffled */
  bool dtypes[SM_DTYPE_LIMIT];
  sm_vec(sm_c_vector) vectors;
  bool lanes;                         /* there are loops over lanes */
  bool whole;                         /* a statement about all lanes at once is being written */
  unsigned native[SM_C_NATIVE_COUNT]; /* by function: the widths that are needed, which are powers of 2 */
  bool rounds, streams;               /* it has functions that round; it has streaming stores */
  const char *missing;                /* what the dialect does not have; NULL: nothing so far */
  bool failed;                        /* memory ran out */
} sm_c_printer;

/* What the words of a template stand for. */
typedef struct sm_c_scope {
  smelt_dtype dtype;  /* T */
  const int32_t *abc; /* the values that a, b and c are; NULL: these are words */
} sm_c_scope;

/* c_family_types.c: the type's name, which the text then defines. */
void sm_c_type(sm_c_printer *p, smelt_dtype dtype, int width);
/* The vector type's entry; NULL without memory. */
sm_c_vector *sm_c_vector_of(sm_c_printer *p, sm_kir_type type);
/* Whether vectors of this type are read and written at once where they are aligned. */
bool sm_c_is_wide(const sm_c_printer *p, sm_kir_type type);
/* The definitions of all types that were named, and functions that access vectors. */
void sm_c_types(sm_c_printer *p);
/* c_family.c: what statements begin with, the depth's spaces; what there is to write of an instruction. */
void sm_c_indent(sm_c_printer *p);
void sm_c_statement(sm_c_printer *p, int32_t i);
/* c_family_loops.c: whether a FOR has one round; a FOR and its CARRYs; all NEXTs of a loop, from the first.
 */
bool sm_c_is_once(const sm_c_printer *p, const sm_kir_ins *loop);
void sm_c_begin_loop(sm_c_printer *p, int32_t loop);
void sm_c_nexts(sm_c_printer *p, int32_t first);
/* c_family_lanes.c, what statements begin with too: for each lane; "const f32 v7 = " or "f32x4 v7; LANES(4)
 * v7.l[l] = ". */
void sm_c_lanes(sm_c_printer *p, int width);
void sm_c_begin_value(sm_c_printer *p, int32_t value, bool constant);
/* Whether the value has a variable for all lanes. */
static inline bool sm_c_is_array(const sm_c_printer *p, int32_t value) {
  return p->kernel->ins.items[value].type.width > 1 && !p->alone[value];
}
/* Begins a group if there is one from this instruction on; whether the instruction has been written
 * ahead of the group; ends it. */
void sm_c_begin_group(sm_c_printer *p, int32_t first);
bool sm_c_is_ahead(const sm_c_printer *p, int32_t i);
void sm_c_end_group(sm_c_printer *p);
/* c_family_memory.c: the address space of pointers into a buffer, an argument or shared; LOADs and GATHERs,
 * and whether they are no loops over lanes; STOREs. */
const char *sm_c_space(const sm_c_printer *p, int buffer);
bool sm_c_loads_at_once(const sm_c_printer *p, const sm_kir_ins *load);
void sm_c_load(sm_c_printer *p, int32_t value);
void sm_c_store(sm_c_printer *p, int32_t store);
/* c_family_native.c: the vector type's definition; whether a LOAD, KOP or HALF has a form for all lanes at
 * once, or a value in them; a statement for an instruction, or part of it. False if there is no such form. */
bool sm_c_native_type(sm_c_printer *p, sm_kir_type type);
bool sm_c_is_native(const sm_c_printer *p, const sm_kir_ins *ins);
bool sm_c_is_native_value(const sm_c_printer *p, int32_t value);
void sm_c_native_value(sm_c_printer *p, int32_t value);
void sm_c_native_carry(sm_c_printer *p, int32_t carry);
void sm_c_native_statement(sm_c_printer *p, int32_t value);
void sm_c_native_load(sm_c_printer *p, int32_t value);
bool sm_c_native_store(sm_c_printer *p, const sm_kir_ins *store);
/* c_family_native_functions.c: those that were noted in `native`. */
void sm_c_native_functions(sm_c_printer *p);
/* c_family_narrow.c: fills `narrow`, with `scratch` of as many. */
void sm_c_find_narrow(sm_c_printer *p, bool *scratch);
/* What the printed value has. */
static inline smelt_dtype sm_c_dtype(const sm_c_printer *p, int32_t value) {
  return p->narrow[value] ? SMELT_I32 : p->kernel->ins.items[value].type.dtype;
}
/* c_family_kops.c: whether a value is written where it is used, and no variable; a literal; a value, in a
 * loop over lanes that of lane l; a template; the value of a KOP. */
bool sm_c_is_inline(const sm_c_printer *p, int32_t value);
void sm_c_literal(sm_c_printer *p, smelt_dtype dtype, sm_word word);
void sm_c_value(sm_c_printer *p, int32_t value);
void sm_c_template(sm_c_printer *p, const char *template, sm_c_scope scope);
void sm_c_kop(sm_c_printer *p, int32_t value);
/* The expression of a HALF. */
void sm_c_half(sm_c_printer *p, const sm_kir_ins *ins);
/* What kops.def says for operands of that dtype. */
const char *sm_c_kop_body(sm_kop kop, smelt_dtype dtype);
/* c_family_shuffle.c: the expression of a SHUFFLE; functions that these need. */
void sm_c_shuffle(sm_c_printer *p, const sm_kir_ins *ins);
void sm_c_shuffle_functions(sm_c_printer *p);
/* c_family_functions.c: notes that a function of this name (of n characters) is needed. False if there is
 * none. */
bool sm_c_need_function(sm_c_printer *p, const char *name, size_t n);
/* All that were noted, and those that they need. */
void sm_c_functions(sm_c_printer *p);

#endif
