/* SPDX-License-Identifier: Apache-2.0 */
#include "api/reference.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/context_state.h"
#include "base/error.h"
#include "base/thread.h"
#include "core/limits.h"

/* --- Slots ------------------------------------------------------------------------- */

typedef struct slot {
  _Atomic uint32_t generation; /* odd: in use */
  uint32_t next_free;
  sm_target target;
  /* For messages about a token that is gone: */
  const char *taker;
  const char *origin;
  uint64_t tensor_id; /* 0: a scalar or a poisoned tensor */
  const void *owner;
} slot;

enum { FIRST_CHUNK = 1024, CHUNKS = 22, IMMORTAL = 1 /* slot 0, generation 1 */ };

static struct {
  sm_mutex lock;                  /* guards everything but chunks[] and generations */
  _Atomic(slot *) chunks[CHUNKS]; /* chunk k has FIRST_CHUNK << k slots */
  _Atomic uint32_t used;          /* slots handed out at least once, slot 0 included */
  uint32_t free_head, free_tail, n_free;
  pthread_once_t once; /* the fork handler knows of the lock */
} table = {.once = PTHREAD_ONCE_INIT, .lock = SM_MUTEX_INIT(SM_LOCK_REFERENCES), .used = 1};

/* The slot of that number, NULL if its chunk does not exist. */
static slot *slot_at(uint32_t index) {
  unsigned chunk = 31 - (unsigned)__builtin_clz(index / FIRST_CHUNK + 1);
  slot *slots = chunk < CHUNKS ? atomic_load(&table.chunks[chunk]) : NULL;
  return slots ? &slots[index - FIRST_CHUNK * ((1u << chunk) - 1)] : NULL;
}

/* Makes sure the chunk of slot `index` exists. Chunks are never given back. */
static bool grow_to(uint32_t index) {
  unsigned chunk = 31 - (unsigned)__builtin_clz(index / FIRST_CHUNK + 1);
  if (chunk >= CHUNKS) return false;
  if (atomic_load(&table.chunks[chunk])) return true;
  slot *slots = sm_calloc(&sm_malloc_allocator, (size_t)FIRST_CHUNK << chunk, sizeof *slots);
  if (!slots) return false;
  atomic_store(&table.chunks[chunk], slots);
  return true;
}

/* 0 if there is none to be had. The lock is held. */
static uint32_t pop_slot(void) {
  if (table.n_free < SM_STALE_QUEUE) {
    uint32_t fresh = atomic_load(&table.used);
    if (grow_to(fresh)) {
      atomic_store(&table.used, fresh + 1);
      return fresh;
    }
  }
  if (!table.n_free) return 0;
  uint32_t index = table.free_head;
  table.free_head = slot_at(index)->next_free;
  table.n_free--;
  return index;
}

/* A slot whose token was taken waits at the end of the queue and remembers by
 * whom. The lock is held. */
static void push_slot(uint32_t index, const char *taker) {
  slot *s = slot_at(index);
  s->taker = taker;
  if (atomic_load(&s->generation) >= UINT32_MAX - 1) return; /* used up: retired */
  if (table.n_free) slot_at(table.free_tail)->next_free = index;
  else table.free_head = index;
  table.free_tail = index;
  table.n_free++;
}

/* --- Tokens ------------------------------------------------------------------------- */

static smelt_tensor *make_token(uint32_t index, uint32_t generation) {
  return (smelt_tensor *)(uintptr_t)((uint64_t)index << 32 | generation);
}
static uint32_t index_of(const smelt_tensor *token) { return (uint32_t)((uint64_t)(uintptr_t)token >> 32); }
static uint32_t generation_of(const smelt_tensor *token) { return (uint32_t)(uintptr_t)token; }

static bool is_immortal(const smelt_tensor *token) { return (uintptr_t)token == IMMORTAL; }

static sm_target immortal_target(void) {
  return (sm_target){.kind = SM_TARGET_POISON, .cause = sm_cause_of_memory()};
}

static void describe(slot *s, sm_target target) {
  const sm_tensor *t = target.kind == SM_TARGET_TENSOR ? target.tensor : NULL;
  s->target = target;
  s->taker = NULL;
  s->tensor_id = t ? t->id : 0;
  s->origin = t ? t->origin : NULL;
  s->owner = t ? t->stream->set->owner : NULL;
}

/* The lock is held, so that adding needs no atomic operation of its own. */
static void count_reference(sm_target target, uint64_t change) {
  if (target.kind != SM_TARGET_TENSOR) return;
  _Atomic uint64_t *count = &target.tensor->stream->set->counters->live_references;
  atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + change,
                        memory_order_relaxed);
}

/* A slot that describes `target`; 0 if there is none to be had. */
static uint32_t claim_slot(sm_target target) {
  sm_lock(&table.lock);
  uint32_t index = pop_slot();
  if (index) {
    describe(slot_at(index), target);
    count_reference(target, 1);
  }
  sm_unlock(&table.lock);
  return index;
}

smelt_tensor *sm_reference_create(sm_target target) {
  uint32_t index = claim_slot(target);
  if (!index) {
    sm_target_release(target);
    return make_token(0, IMMORTAL);
  }
  slot *s = slot_at(index);
  uint32_t generation = atomic_load(&s->generation) + 1;
  atomic_store(&s->generation, generation);
  return make_token(index, generation);
}

smelt_tensor *sm_reference_poison(sm_cause *cause) {
  return sm_reference_create((sm_target){.kind = SM_TARGET_POISON, .cause = cause});
}

void sm_target_release(sm_target target) {
  if (target.kind == SM_TARGET_TENSOR) sm_stream_drop(target.tensor);
  if (target.kind == SM_TARGET_POISON) sm_cause_drop(target.cause);
}

/* --- Stale tokens ------------------------------------------------------------------------ */

/* The slot a token names, if it was ever handed out. */
static slot *named_slot(const smelt_tensor *token) {
  uint32_t index = index_of(token);
  return index > 0 && index < atomic_load(&table.used) ? slot_at(index) : NULL;
}

static void name_tensor(const slot *s, char *buf, size_t size) {
  if (s->origin) (void)snprintf(buf, size, "t%" PRIu64 " (made by %s)", s->tensor_id, s->origin);
  else if (s->tensor_id) (void)snprintf(buf, size, "t%" PRIu64, s->tensor_id);
  else (void)snprintf(buf, size, "a scalar or poisoned tensor");
}

/* What became of a reference, and what helps. */
static void explain_taken(const char *user, const char *name, const char *taker, smelt_error *err) {
  if (strcmp(taker, "drop") == 0) {
    sm_error_set(err, SMELT_ERR_STALE, "smelt_%s: %s was dropped before", user, name);
  } else if (strcmp(taker, "context_destroy") == 0) {
    sm_error_set(err, SMELT_ERR_STALE, "smelt_%s: the context of %s was destroyed", user, name);
  } else {
    sm_error_set(err, SMELT_ERR_STALE, "smelt_%s: %s was taken by smelt_%s; use smelt_ref to keep it", user,
                 name, taker);
  }
}

/* Fills in why `token` is not valid. The slot's memory of the taker counts only
 * while the slot still waits in the queue. */
static void explain_stale(const smelt_tensor *token, const slot *s, const char *user, smelt_error *err) {
  char name[80];
  if (!token) {
    sm_error_set(err, SMELT_ERR_STALE, "smelt_%s: NULL is not a tensor", user);
  } else if (!s || generation_of(token) % 2 == 0 || generation_of(token) > atomic_load(&s->generation)) {
    sm_error_set(err, SMELT_ERR_STALE, "smelt_%s: not a reference to a tensor", user);
  } else if (atomic_load(&s->generation) == generation_of(token) + 1 && s->taker) {
    name_tensor(s, name, sizeof name);
    explain_taken(user, name, s->taker, err);
  } else {
    sm_error_set(err, SMELT_ERR_STALE, "smelt_%s: the reference was taken or dropped earlier", user);
  }
}

static void report_stale(const smelt_tensor *token, const char *user, smelt_error *err) {
  sm_lock(&table.lock);
  const slot *s = token ? named_slot(token) : NULL;
  const void *owner = s ? s->owner : NULL;
  explain_stale(token, s, user, err);
  sm_unlock(&table.lock);
  sm_context_report_misuse(owner, err->text);
}

/* --- Taking and looking --------------------------------------------------------------------- */

sm_target sm_reference_take(smelt_tensor *token, const char *taker) {
  if (is_immortal(token)) return immortal_target();
  slot *s = named_slot(token);
  uint32_t generation = generation_of(token);
  if (s && generation % 2 == 1 &&
      atomic_compare_exchange_strong(&s->generation, &generation, generation + 1)) {
    sm_target target = s->target;
    sm_lock(&table.lock);
    count_reference(target, UINT64_MAX);
    push_slot(index_of(token), taker);
    sm_unlock(&table.lock);
    return target;
  }
  smelt_error err;
  report_stale(token, taker, &err);
  return (sm_target){.kind = SM_TARGET_POISON, .cause = sm_cause_create(&err)};
}

smelt_status sm_reference_peek(const smelt_tensor *token, const char *user, sm_target *out,
                               smelt_error *err) {
  if (is_immortal(token)) {
    *out = immortal_target();
    return SMELT_OK;
  }
  slot *s = named_slot(token);
  if (s && generation_of(token) % 2 == 1 && atomic_load(&s->generation) == generation_of(token)) {
    *out = s->target;
    return SMELT_OK;
  }
  smelt_error stale;
  report_stale(token, user, &stale);
  if (err) *err = stale;
  return SMELT_ERR_STALE;
}

const void *sm_reference_owner(const smelt_tensor *token) {
  slot *s = named_slot(token);
  bool valid = s && generation_of(token) % 2 == 1 && atomic_load(&s->generation) == generation_of(token);
  return valid && s->target.kind == SM_TARGET_TENSOR ? s->owner : NULL;
}

static void enlist_lock(void) { sm_mutex_enlist(&table.lock); }

void sm_reference_handle_forks(void) { (void)pthread_once(&table.once, enlist_lock); }

/* Owners are forgotten too: their address may become another context's. So are origins
 * that are names of its own operations. */
void sm_reference_forget(const smelt_context *ctx, const char *taker) {
  sm_lock(&table.lock);
  uint32_t used = atomic_load(&table.used);
  for (uint32_t index = 1; index < used; index++) {
    slot *s = slot_at(index);
    if (s->owner != ctx) continue;
    s->owner = NULL;
    if (s->origin && sm_custom_find(&ctx->customs, s->origin)) s->origin = NULL;
    uint32_t generation = atomic_load(&s->generation);
    if (generation % 2 == 0) continue;
    atomic_store(&s->generation, generation + 1);
    push_slot(index, taker);
  }
  sm_unlock(&table.lock);
}

/* --- Public ------------------------------------------------------------------------------------ */

smelt_tensor *smelt_ref(const smelt_tensor *t) {
  sm_target target;
  smelt_error err;
  if (sm_reference_peek(t, "ref", &target, &err) != SMELT_OK)
    return sm_reference_poison(sm_cause_create(&err));
  if (target.kind == SM_TARGET_TENSOR) atomic_fetch_add(&target.tensor->refs, 1);
  if (target.kind == SM_TARGET_POISON) sm_cause_ref(target.cause);
  return sm_reference_create(target);
}

void smelt_drop(smelt_tensor *t) {
  if (t) sm_target_release(sm_reference_take(t, "drop"));
}
