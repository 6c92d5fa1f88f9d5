/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass finds the last use of every value, one hands out places. A free
 * place is taken again by a value of exactly its size. */
#include "kir/kir_storage.h"

#include <string.h>

typedef struct placement {
  const sm_kir_kernel *k;
  sm_kir_place *places;
  int32_t *loop;       /* by instruction: the innermost FOR around it, or NONE */
  int32_t *end;        /* by FOR: its END */
  int32_t *last;       /* by instruction: after which its place is free */
  int32_t *first_dead; /* by instruction: a value that dies there, or NONE */
  int32_t *next;       /* by value: another that dies with it, or that is free too */
} placement;

static bool has_place(const sm_kir_ins *ins) { return sm_kir_defines_value(ins) || ins->kind == SM_KIR_NEXT; }

static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

/* Of more than a word the places are no power of two apart: processors take a load
 * for one of what was stored at the same distance from a page's beginning. */
static size_t place_bytes(const placement *p, int32_t value) {
  if (p->places[value].view) return 0;
  size_t bytes = smelt_dtype_size(p->k->ins.items[value].type.dtype) * p->places[value].lanes;
  if (bytes <= sizeof(sm_word)) return bytes ? sizeof(sm_word) : 0;
  return round_up(bytes, SM_KIR_PLACE_ALIGNMENT) + SM_KIR_PLACE_ALIGNMENT;
}

/* --- Uniform values and views --------------------------------------------------------- */

static bool is_uniform(const placement *p, const sm_kir_ins *ins) {
  if (ins->kind == SM_KIR_SPLAT) return true;
  if (ins->kind != SM_KIR_KOP) return false;
  for (int a = 0; a < SM_KIR_ARGS && ins->args[a] != SM_KIR_NONE; a++) {
    if (p->places[ins->args[a]].lanes == ins->type.width) return false;
  }
  return true;
}

static void count_lanes(placement *p) {
  for (size_t i = 0; i < p->k->ins.len; i++) {
    const sm_kir_ins *ins = &p->k->ins.items[i];
    uint16_t lanes = has_place(ins) ? ins->type.width : 0;
    if (lanes > SM_KOP_BLOCK && is_uniform(p, ins)) lanes = SM_KOP_BLOCK;
    p->places[i] = (sm_kir_place){.lanes = lanes};
  }
}

/* Others store before a BARRIER and a SHUFFLE, too, and read what is shuffled. */
static bool lets_store(const sm_kir_ins *ins) {
  return sm_kir_stores(ins) || ins->kind == SM_KIR_BARRIER || ins->kind == SM_KIR_SHUFFLE;
}

/* From the end, so that the next one is known. */
static void find_views(placement *p) {
  int32_t next_store = INT32_MAX;
  for (int32_t i = (int32_t)p->k->ins.len - 1; i >= 0; i--) {
    const sm_kir_ins *ins = &p->k->ins.items[i];
    if (lets_store(ins)) next_store = i;
    p->places[i].view = ins->kind == SM_KIR_LOAD && ins->args[1] == SM_KIR_NONE && p->last[i] < next_store;
  }
}

/* --- Life times ----------------------------------------------------------------------------- */

/* A FOR stands outside its own loop, its END inside. */
static void find_loops(placement *p) {
  int32_t innermost = SM_KIR_NONE;
  for (int32_t i = 0; i < (int32_t)p->k->ins.len; i++) {
    p->loop[i] = innermost;
    if (p->k->ins.items[i].kind == SM_KIR_FOR) innermost = i;
    if (p->k->ins.items[i].kind == SM_KIR_END) {
      p->end[innermost] = i;
      innermost = p->loop[innermost];
    }
  }
}

/* Up to where an instruction's own place is in use at least. */
static int32_t first_release(const placement *p, int32_t at) {
  uint8_t kind = p->k->ins.items[at].kind;
  if (kind == SM_KIR_FOR) return p->end[at];
  return kind == SM_KIR_CARRY || kind == SM_KIR_NEXT ? p->end[p->loop[at]] : at;
}

/* The loop that an argument is defined in, as its user sees it: a RESULT is after
 * the loop of its CARRY. */
static int32_t home_of(const placement *p, const sm_kir_ins *user, int32_t arg) {
  return user->kind == SM_KIR_RESULT ? p->loop[p->loop[arg]] : p->loop[arg];
}

/* The instruction at which a use at `at` is over for a value defined in `loop`:
 * the end of the outermost loop in between, if there is one. */
static int32_t end_of_use(const placement *p, int32_t at, int32_t loop) {
  int32_t over = at;
  for (int32_t around = p->loop[at]; around != loop && around != SM_KIR_NONE; around = p->loop[around]) {
    over = p->end[around];
  }
  return over;
}

static void find_last_uses(placement *p) {
  for (int32_t i = 0; i < (int32_t)p->k->ins.len; i++) {
    const sm_kir_ins *ins = &p->k->ins.items[i];
    p->last[i] = first_release(p, i);
    for (int a = 0; a < SM_KIR_ARGS; a++) {
      int32_t arg = ins->args[a];
      if (arg == SM_KIR_NONE) continue;
      int32_t over = end_of_use(p, i, home_of(p, ins, arg));
      /* The counter's own loop is no loop in between. */
      if (over > p->last[arg]) p->last[arg] = over;
    }
  }
}

static void list_deaths(placement *p) {
  for (int32_t i = 0; i < (int32_t)p->k->ins.len; i++) p->first_dead[i] = SM_KIR_NONE;
  for (int32_t i = 0; i < (int32_t)p->k->ins.len; i++) {
    p->next[i] = p->first_dead[p->last[i]];
    p->first_dead[p->last[i]] = i;
  }
}

/* Takes a place of `bytes` from the list of free values; false if there is none. */
static bool reuse(placement *p, int32_t *free_list, size_t bytes, size_t *offset) {
  for (int32_t *link = free_list; *link != SM_KIR_NONE; link = &p->next[*link]) {
    if (place_bytes(p, *link) != bytes) continue;
    *offset = p->places[*link].offset;
    *link = p->next[*link];
    return true;
  }
  return false;
}

static void release_dead(placement *p, int32_t at, int32_t *free_list) {
  for (int32_t dead = p->first_dead[at], next; dead != SM_KIR_NONE; dead = next) {
    next = p->next[dead];
    if (!place_bytes(p, dead)) continue;
    p->next[dead] = *free_list;
    *free_list = dead;
  }
}

static size_t hand_out(placement *p) {
  size_t bytes = 0;
  int32_t free_list = SM_KIR_NONE;
  for (int32_t i = 0; i < (int32_t)p->k->ins.len; i++) {
    size_t own = place_bytes(p, i), *offset = &p->places[i].offset;
    if (own && !reuse(p, &free_list, own, offset)) {
      *offset = own > sizeof(sm_word) ? round_up(bytes, SM_KIR_PLACE_ALIGNMENT) : bytes;
      bytes = *offset + own;
    }
    release_dead(p, i, &free_list);
  }
  return bytes;
}

bool sm_kir_place_values(const sm_kir_kernel *k, sm_kir_place *places, size_t *bytes) {
  size_t n = k->ins.len;
  enum { LISTS = 5 };
  int32_t *lists = sm_calloc(k->allocator, n * LISTS, sizeof *lists);
  if (!lists) return false;
  placement p = {k, places, lists, lists + n, lists + 2 * n, lists + 3 * n, lists + 4 * n};
  count_lanes(&p);
  find_loops(&p);
  find_last_uses(&p);
  find_views(&p);
  list_deaths(&p);
  *bytes = hand_out(&p);
  sm_free(k->allocator, lists, n * LISTS * sizeof *lists);
  return true;
}
