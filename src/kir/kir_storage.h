/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the evaluator keeps values.
 *
 * Every value has a place from its definition to its last use; places are used
 * again afterwards, so that what a long kernel works on stays in the caches. A
 * value that a loop uses and the code before it defines lives until that loop
 * ends; a loop's counter and the values that it carries do too, and so do NEXTs,
 * whose places hold the values of the next round. */
#ifndef SM_KIR_KIR_STORAGE_H
#define SM_KIR_KIR_STORAGE_H

#include "kir/kir.h"

/* Fills `offsets` (one an instruction, in bytes, multiples of a word) and
 * answers the size of all places together. False without memory. */
bool sm_kir_place_values(const sm_kir_kernel *k, size_t *offsets, size_t *bytes);

#endif
