/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/relocation.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

typedef enum meaning {
  ADDRESS,       /* of the target */
  DISTANCE,      /* from the place to the target */
  PAGE_DISTANCE, /* from the place's page to the target's; a page has 4096 bytes */
  PLACE_IN_PAGE, /* of the target */
} meaning;

typedef enum field {
  WORD_64,
  WORD_32,
  ADRP_IMMEDIATE,     /* bits 29 and 30, then 5 to 23 */
  UNSIGNED_IMMEDIATE, /* bits 10 to 21, of additions, loads and stores */
} field;

struct sm_relocation {
  uint16_t machine;
  uint16_t type;
  meaning meaning;
  field field;
  uint8_t shift; /* lowest bits of the value that are not written, and must be 0 */
};

static const sm_relocation kinds[] = {
    {EM_X86_64, R_X86_64_64, ADDRESS, WORD_64, 0},
    {EM_X86_64, R_X86_64_32S, ADDRESS, WORD_32, 0},
    {EM_X86_64, R_X86_64_PC32, DISTANCE, WORD_32, 0},
    {EM_X86_64, R_X86_64_PLT32, DISTANCE, WORD_32, 0},
    {EM_AARCH64, R_AARCH64_ABS64, ADDRESS, WORD_64, 0},
    {EM_AARCH64, R_AARCH64_PREL64, DISTANCE, WORD_64, 0},
    {EM_AARCH64, R_AARCH64_PREL32, DISTANCE, WORD_32, 0},
    {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, PAGE_DISTANCE, ADRP_IMMEDIATE, 12},
    {EM_AARCH64, R_AARCH64_ADD_ABS_LO12_NC, PLACE_IN_PAGE, UNSIGNED_IMMEDIATE, 0},
    {EM_AARCH64, R_AARCH64_LDST8_ABS_LO12_NC, PLACE_IN_PAGE, UNSIGNED_IMMEDIATE, 0},
    {EM_AARCH64, R_AARCH64_LDST16_ABS_LO12_NC, PLACE_IN_PAGE, UNSIGNED_IMMEDIATE, 1},
    {EM_AARCH64, R_AARCH64_LDST32_ABS_LO12_NC, PLACE_IN_PAGE, UNSIGNED_IMMEDIATE, 2},
    {EM_AARCH64, R_AARCH64_LDST64_ABS_LO12_NC, PLACE_IN_PAGE, UNSIGNED_IMMEDIATE, 3},
    {EM_AARCH64, R_AARCH64_LDST128_ABS_LO12_NC, PLACE_IN_PAGE, UNSIGNED_IMMEDIATE, 4},
};

const sm_relocation *sm_relocation_find(uint16_t machine, uint64_t type) {
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (kinds[i].machine == machine && kinds[i].type == type) return &kinds[i];
  }
  return NULL;
}

size_t sm_relocation_width(const sm_relocation *r) { return r->field == WORD_64 ? 8 : 4; }

static uint64_t page_of(uint64_t address) { return address & ~(uint64_t)4095; }

static uint64_t value_of(const sm_relocation *r, uint64_t place, uint64_t target) {
  switch (r->meaning) {
    case ADDRESS:
      return target;
    case DISTANCE:
      return target - place;
    case PAGE_DISTANCE:
      return page_of(target) - page_of(place);
    case PLACE_IN_PAGE:
      return target - page_of(target);
  }
  return 0;
}

/* Whether the value is a signed number of so many bits. */
static bool fits(uint64_t value, unsigned bits) {
  uint64_t half = (uint64_t)1 << (bits - 1);
  return value + half < 2 * half;
}

static const char *check_value(const sm_relocation *r, uint64_t place, uint64_t value) {
  bool in_instruction = r->field > WORD_32;
  if (in_instruction && place % 4 != 0) return "is not at an instruction";
  if (value & (((uint64_t)1 << r->shift) - 1)) return "refers to what is not aligned";
  if (r->field == WORD_32 && !fits(value, 32)) return "does not fit in 32 bits";
  if (r->field == ADRP_IMMEDIATE && !fits(value, 33)) return "does not fit in 33 bits";
  return NULL;
}

/* The instruction with bits [at, at + n) replaced. */
static uint32_t with_bits(uint32_t instruction, unsigned at, unsigned n, uint64_t bits) {
  uint32_t mask = (((uint32_t)1 << n) - 1) << at;
  return (instruction & ~mask) | ((uint32_t)bits << at & mask);
}

static uint32_t with_immediate(uint32_t instruction, field where, uint64_t bits) {
  if (where == UNSIGNED_IMMEDIATE) return with_bits(instruction, 10, 12, bits);
  return with_bits(with_bits(instruction, 29, 2, bits), 5, 19, bits >> 2);
}

const char *sm_relocation_apply(const sm_relocation *r, unsigned char *data, uint64_t place,
                                uint64_t target) {
  uint64_t value = value_of(r, place, target);
  const char *fault = check_value(r, place, value);
  if (fault) return fault;
  if (r->field > WORD_32) {
    uint32_t instruction;
    memcpy(&instruction, data, sizeof instruction);
    value = with_immediate(instruction, r->field, value >> r->shift);
  }
  memcpy(data, &value, sm_relocation_width(r));
  return NULL;
}
