/* SPDX-License-Identifier: Apache-2.0
 *
 * Relocations: the bits they write into words and instructions, and what does not
 * fit. */
#include <elf.h>
#include <string.h>

#include "harness.h"
#include "rt/relocation.h"

enum { PLACE = 0x100ffc }; /* at the end of its page */

static const char *apply(uint16_t machine, uint64_t type, uint64_t place, uint64_t target, uint64_t *data) {
  const sm_relocation *r = sm_relocation_find(machine, type);
  CHECK(r != NULL);
  unsigned char bytes[8];
  memcpy(bytes, data, sizeof bytes);
  const char *fault = sm_relocation_apply(r, bytes, place, target);
  memcpy(data, bytes, sizeof bytes);
  return fault;
}

/* `before` at PLACE becomes `after`; a word of 4 bytes leaves what follows it alone. */
static void expect(uint16_t machine, uint64_t type, uint64_t target, uint64_t before, uint64_t after) {
  uint64_t data = before;
  CHECK(apply(machine, type, PLACE, target, &data) == NULL);
  CHECK_I64(data, after);
}

static void refuse(uint16_t machine, uint64_t type, uint64_t place, uint64_t target, const char *text) {
  uint64_t data = 0x1234567890abcdef;
  const char *fault = apply(machine, type, place, target, &data);
  CHECK(fault != NULL);
  CHECK_CONTAINS(fault, text);
  CHECK_I64(data, 0x1234567890abcdef);
}

#define OLD UINT64_C(0x1111111122222222)

TEST(words) {
  const uint64_t far = 0x8877665544332211, ahead = PLACE + 0x10;
  expect(EM_X86_64, R_X86_64_64, far, OLD, far);
  expect(EM_X86_64, R_X86_64_32S, (uint64_t)-2, OLD, 0x11111111fffffffe);
  expect(EM_X86_64, R_X86_64_PC32, ahead, OLD, 0x1111111100000010);
  expect(EM_X86_64, R_X86_64_PLT32, PLACE - 1, OLD, 0x11111111ffffffff);
  expect(EM_AARCH64, R_AARCH64_ABS64, far, OLD, far);
  expect(EM_AARCH64, R_AARCH64_PREL64, PLACE - 1, OLD, UINT64_MAX);
  expect(EM_AARCH64, R_AARCH64_PREL32, ahead, OLD, 0x1111111100000010);
}

TEST(words_that_do_not_fit) {
  static const char text[] = "does not fit in 32 bits";
  const uint64_t least = (uint64_t)INT32_MIN, most = INT32_MAX;
  expect(EM_X86_64, R_X86_64_32S, least, 0, 0x80000000);
  expect(EM_X86_64, R_X86_64_32S, most, 0, 0x7fffffff);
  refuse(EM_X86_64, R_X86_64_32S, PLACE, least - 1, text);
  refuse(EM_X86_64, R_X86_64_32S, PLACE, most + 1, text);
  refuse(EM_X86_64, R_X86_64_PC32, PLACE, PLACE + most + 1, text);
  refuse(EM_AARCH64, R_AARCH64_PREL32, PLACE, PLACE + least - 1, text);
}

/* The high word is the next instruction. */
#define PAIR(first) (UINT64_C(0xd65f03c000000000) | UINT64_C(first))

TEST(pages) {
  const uint64_t type = R_AARCH64_ADR_PREL_PG_HI21, farthest = UINT64_C(1) << 32;
  expect(EM_AARCH64, type, 0x100000, PAIR(0x90000001), PAIR(0x90000001)); /* adrp x1, same page */
  expect(EM_AARCH64, type, 0x101000, PAIR(0x90000001), PAIR(0xb0000001)); /* the next, 4 bytes away */
  expect(EM_AARCH64, type, 0x103abc, PAIR(0x90000001), PAIR(0xf0000001)); /* 3 pages */
  expect(EM_AARCH64, type, 0x104abc, PAIR(0x90000001), PAIR(0x90000021)); /* 4 */
  expect(EM_AARCH64, type, 0xffabc, PAIR(0x90000001), PAIR(0xf0ffffe1));  /* -1 */
  expect(EM_AARCH64, type, 0x100000, PAIR(0xf0ffffe1), PAIR(0x90000001)); /* old bits go */
  expect(EM_AARCH64, type, 0xfffff + farthest, PAIR(0x90000001), PAIR(0xf07fffe1));
  expect(EM_AARCH64, type, 0x100000 - farthest, PAIR(0x90000001), PAIR(0x90800001));
  refuse(EM_AARCH64, type, PLACE, 0x100000 + farthest, "does not fit in 33 bits");
  refuse(EM_AARCH64, type, PLACE, 0xfffff - farthest, "does not fit in 33 bits");
}

TEST(places_in_pages) {
  const uint64_t at = 0x7fff12345ab0;
  expect(EM_AARCH64, R_AARCH64_ADD_ABS_LO12_NC, at, PAIR(0x91000021), PAIR(0x912ac021));     /* add x1, x1 */
  expect(EM_AARCH64, R_AARCH64_ADD_ABS_LO12_NC, at + 7, PAIR(0x913ffc21), PAIR(0x912adc21)); /* old bits go */
  expect(EM_AARCH64, R_AARCH64_LDST8_ABS_LO12_NC, at + 7, PAIR(0x39400020),
         PAIR(0x396adc20)); /* ldrb w0, [x1] */
  expect(EM_AARCH64, R_AARCH64_LDST16_ABS_LO12_NC, at + 6, PAIR(0x79400020), PAIR(0x79556c20)); /* ldrh */
  expect(EM_AARCH64, R_AARCH64_LDST32_ABS_LO12_NC, at + 4, PAIR(0xbd400020), PAIR(0xbd4ab420)); /* ldr s0 */
  expect(EM_AARCH64, R_AARCH64_LDST64_ABS_LO12_NC, at + 8, PAIR(0xfd400020), PAIR(0xfd455c20)); /* ldr d0 */
  expect(EM_AARCH64, R_AARCH64_LDST128_ABS_LO12_NC, at, PAIR(0x3dc00020), PAIR(0x3dc2ac20));    /* ldr q0 */
}

TEST(places_that_are_not_aligned) {
  static const char text[] = "refers to what is not aligned";
  refuse(EM_AARCH64, R_AARCH64_LDST16_ABS_LO12_NC, PLACE, 0x1001, text);
  refuse(EM_AARCH64, R_AARCH64_LDST32_ABS_LO12_NC, PLACE, 0x1002, text);
  refuse(EM_AARCH64, R_AARCH64_LDST64_ABS_LO12_NC, PLACE, 0x1004, text);
  refuse(EM_AARCH64, R_AARCH64_LDST128_ABS_LO12_NC, PLACE, 0x1008, text);
  refuse(EM_AARCH64, R_AARCH64_ADD_ABS_LO12_NC, PLACE + 2, 0x1000, "is not at an instruction");
  refuse(EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, PLACE + 1, 0x1000, "is not at an instruction");
}

TEST(types_belong_to_machines) {
  CHECK(sm_relocation_find(EM_AARCH64, R_X86_64_64) == NULL);
  CHECK(sm_relocation_find(EM_X86_64, R_AARCH64_ABS64) == NULL);
  CHECK(sm_relocation_find(EM_X86_64, R_X86_64_64 + (UINT64_C(1) << 16)) == NULL);
  CHECK(sm_relocation_find(EM_NONE, R_X86_64_64) == NULL);
  CHECK_I64(sm_relocation_width(sm_relocation_find(EM_X86_64, R_X86_64_64)), 8);
  CHECK_I64(sm_relocation_width(sm_relocation_find(EM_X86_64, R_X86_64_PC32)), 4);
  CHECK_I64(sm_relocation_width(sm_relocation_find(EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21)), 4);
}

TEST_MAIN(CASE(words), CASE(words_that_do_not_fit), CASE(pages), CASE(places_in_pages),
          CASE(places_that_are_not_aligned), CASE(types_belong_to_machines))
