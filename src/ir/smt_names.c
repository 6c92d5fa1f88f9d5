/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/hash.h"
#include "ir/smt_parser.h"

static const char *const reserved[] = {"true", "false", "inf", "nan", "launches", "blocks", "line"};

bool sm_smt_is_reserved(sm_smt_span w) {
  for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
    if (sm_smt_is(w, reserved[i])) return true;
  }
  return false;
}

/* The slot of a name or the free one where it belongs. There is always a free one. */
static size_t slot_of(const sm_smt_parser *p, sm_smt_span w) {
  sm_hash h = sm_hash_start();
  sm_hash_bytes(&h, w.s, w.n);
  size_t i = (size_t)h.lo & (p->n_slots - 1);
  while (p->slots[i] && !sm_smt_is(w, p->out->names.items[p->slots[i] - 1])) i = (i + 1) & (p->n_slots - 1);
  return i;
}

/* Keeps at least half of the slots free. */
static bool grow_slots(sm_smt_parser *p) {
  size_t names = p->out->names.len, old = p->n_slots;
  if (2 * (names + 1) <= old) return true;
  uint32_t *before = p->slots, *slots = sm_calloc(p->allocator, old ? 2 * old : 64, sizeof *slots);
  if (!slots) return false;
  p->slots = slots;
  p->n_slots = old ? 2 * old : 64;
  sm_free(p->allocator, before, old * sizeof *before);
  for (size_t i = 0; i < names; i++) {
    sm_smt_span w = {p->out->names.items[i], strlen(p->out->names.items[i])};
    slots[slot_of(p, w)] = (uint32_t)i + 1;
  }
  return true;
}

static const char *copy_text(sm_smt_parser *p, const char *s, size_t n) {
  char *copy = sm_arena_alloc(&p->out->arena, n + 1);
  if (!copy) return NULL;
  memcpy(copy, s, n);
  copy[n] = 0;
  return copy;
}

smelt_status sm_smt_define(sm_smt_parser *p, sm_smt_span w, uint32_t *out) {
  if (sm_smt_is_reserved(w)) return sm_smt_fail(p, w.s, "'%.*s' cannot be a name", SHOWN(w));
  if (!grow_slots(p)) return sm_smt_out_of_memory(p);
  size_t slot = slot_of(p, w);
  if (p->slots[slot]) return sm_smt_fail(p, w.s, "%.*s is already defined", SHOWN(w));
  const char *name = copy_text(p, w.s, w.n);
  if (!name || !sm_vec_push(p->allocator, &p->out->names, name)) return sm_smt_out_of_memory(p);
  *out = (uint32_t)(p->out->names.len - 1);
  p->slots[slot] = *out + 1;
  return SMELT_OK;
}

smelt_status sm_smt_look_up(sm_smt_parser *p, sm_smt_span w, uint32_t *out) {
  if (w.n == 0) return sm_smt_expected(p, "a name");
  size_t slot = p->n_slots ? slot_of(p, w) : 0;
  if (!p->n_slots || !p->slots[slot]) return sm_smt_fail(p, w.s, "%.*s is not defined", SHOWN(w));
  *out = p->slots[slot] - 1;
  return SMELT_OK;
}
