/* SPDX-License-Identifier: Apache-2.0
 *
 * What tells the dialects of the C family apart: data, one row a dialect
 * (c_family_dialects.c). A text is written with the names of dtypes (f32, u8); a row
 * says what they are here. Strings that come before a word end with a space. */
#ifndef SM_CODEGEN_C_FAMILY_DIALECT_H
#define SM_CODEGEN_C_FAMILY_DIALECT_H

#include "codegen/c_family.h"

/* Pairs of types that have the same bits. */
typedef enum sm_c_bits { SM_C_U32_F32, SM_C_F32_U32, SM_C_U64_F64, SM_C_F64_U64, SM_C_BITS_COUNT } sm_c_bits;

struct sm_dialect {
  const char *name;
  const char *head;                       /* what a text begins with */
  const char *f64_head;                   /* and what it needs for f64, */
  const char *rounding_head;              /* for functions that round to integers, */
  const char *streaming_head;             /* and for streaming stores, by STREAM(value, pointer) */
  const char *types[SM_DTYPE_LIMIT];      /* NULL: there are none. Half types: of their bits. */
  const char *long_suffix;                /* of literals with 64 bits */
  const char *float_suffix;               /* of functions of f32 */
  const char *function;                   /* before functions */
  const char *entry, *group_entry;        /* before the kernel's name; %d: the threads of a group */
  bool exact_groups;                      /* group_entry says how many there are, and not how many at most */
  const char *global, *constant, *shared; /* address spaces */
  uint32_t most_shared;                   /* bytes of shared buffers that can be declared; 0: all */
  const char *given_shared;               /* the declaration of others, which a launch gives */
  const char *aligned;                    /* before a shared buffer whose vectors are aligned */
  const char *vector;                     /* before a vector type; %d is its size in bytes */
  bool native_vectors;                    /* of OpenCL: operators and functions take them */
  bool wide_access;                       /* vectors are read and written at once where aligned */
  const char *unroll;                     /* before a loop over lanes */
  const char *loop;                       /* before other loops */
  const char *words;                      /* the parameter, by value or reference; NULL: the C entry */
  uint32_t by_value;                      /* bytes of words that can be passed by value */
  const char *binding;                    /* after a parameter, with its number */
  const char *builtins;                   /* parameters of the threads of a plain kernel */
  const char *group_builtins;             /* and of one that runs by groups */
  const char *thread, *group, *member;    /* numbers */
  const char *barrier;
  const char *shuffle;                  /* `a` of the thread whose number differs in `digit`, for T of at
                                           most 64 bits; NULL: no thread knows another's values */
  const char *shuffle_long;             /* the same of 64 bits, if they are a case of their own; or NULL */
  const char *bitcast[SM_C_BITS_COUNT]; /* the function; NULL: those of C */
  const char *widen_f16, *narrow_f16;   /* bodies of functions of `a`; NULL: by integers */
  const char *narrow_bf16;              /* the same, where the preprocessor's condition */
  const char *has_narrow_bf16;          /* holds */
  const char *init_begin, *init_end;    /* around what a thread begins with, */
  const char *body_begin, *body_end;    /* and around the rest */
};

#endif
