/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the evaluator keeps values.
 *
 * Every value has a place from its definition to its last use; places are used
 * again afterwards, so that what a long kernel works on stays in the caches. A
 * value that a loop uses and the code before it defines lives until that loop
 * ends; a loop's counter and the values that it carries do too, and so do NEXTs,
 * whose places hold the values of the next round.
 *
 * Two kinds of values need less. A *uniform* one, which is the same in more than
 * SM_KOP_BLOCK lanes (a SPLAT, or what is computed of SPLATs alone), keeps
 * SM_KOP_BLOCK of them. A *view* is a LOAD that stays where the buffer has it,
 * because nothing is stored anywhere, and no other thread goes on, before its last use. */
#ifndef SM_KIR_KIR_STORAGE_H
#define SM_KIR_KIR_STORAGE_H

#include "kir/kir.h"

/* Places begin at multiples of this; those of single elements at words. */
enum { SM_KIR_PLACE_ALIGNMENT = 64 };

typedef struct sm_kir_place {
  size_t offset;  /* in bytes */
  uint16_t lanes; /* that are kept; 0 if there is no value */
  bool view;
} sm_kir_place;

/* Fills `places`, one an instruction, and answers the size of all together. False
 * without memory. */
bool sm_kir_place_values(const sm_kir_kernel *k, sm_kir_place *places, size_t *bytes);

#endif
