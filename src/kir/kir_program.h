/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program knows of the instructions of its kernel. */
#ifndef SM_KIR_KIR_PROGRAM_H
#define SM_KIR_KIR_PROGRAM_H

#include "kir/kir_storage.h"

/* What is known of an instruction beyond what it says. */
typedef struct sm_kir_op {
  sm_kop_loop *loop; /* of a KOP, on all lanes that are kept */
  sm_kir_place place;
  int32_t end;     /* of a FOR */
  uint8_t size;    /* of an element of its type, in bytes */
  uint8_t arity;   /* of a KOP */
  uint8_t uniform; /* of a KOP: bit a for a uniform args[a], unless all are */
} sm_kir_op;

#endif
