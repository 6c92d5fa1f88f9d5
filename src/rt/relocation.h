/* SPDX-License-Identifier: Apache-2.0
 *
 * Relocations: places in an object's code and data that depend on addresses.
 *
 * Vocabulary. A relocation stands at a *place* and refers to a *target*. Its type
 * says what of the two is written (its *meaning*: the target's address, the way
 * from the place to it, ...) and how (its *field*: a whole word, or some bits of an
 * instruction). The types that are offered, of x86-64 and AArch64, are one table;
 * they are what code generators and gcc use to refer to code and constants of the
 * same object. */
#ifndef SM_RT_RELOCATION_H
#define SM_RT_RELOCATION_H

#include <stddef.h>
#include <stdint.h>

typedef struct sm_relocation sm_relocation;

/* NULL if this type (R_X86_64_..., R_AARCH64_...) is not offered. */
const sm_relocation *sm_relocation_find(uint16_t machine, uint64_t type);
/* How many bytes it changes. */
size_t sm_relocation_width(const sm_relocation *r);
/* Changes the bytes at `data`, which shall stand at address `place`. NULL, or why
 * that cannot be: "does not fit in 32 bits". */
const char *sm_relocation_apply(const sm_relocation *r, unsigned char *data, uint64_t place, uint64_t target);

#endif
