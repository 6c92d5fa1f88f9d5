/* SPDX-License-Identifier: Apache-2.0 */
#include "api/reference.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/context_state.h"
#include "base/error.h"

enum { IMMORTAL = 1 /* slot 0, generation 1 */ };

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

/* Whoever reads what is said here of a new token finds no taker. */
static void describe(sm_slot *s, sm_target target) {
  const sm_tensor *t = target.kind == SM_TARGET_TENSOR ? target.tensor : NULL;
  s->target = target;
  atomic_store_explicit(&s->taker, NULL, memory_order_relaxed);
  atomic_store_explicit(&s->tensor_id, t ? t->id : 0, memory_order_release);
  atomic_store_explicit(&s->origin, t ? t->origin : NULL, memory_order_release);
  atomic_store_explicit(&s->owner, t ? t->stream->set->owner : NULL, memory_order_release);
}

static void count_reference(sm_target target, uint64_t change) {
  if (target.kind == SM_TARGET_TENSOR) sm_streams_count_references(target.tensor->stream->set, change);
}

smelt_tensor *sm_reference_create(sm_target target) {
  uint32_t index = sm_slot_claim();
  if (!index) {
    sm_target_release(target);
    return make_token(0, IMMORTAL);
  }
  sm_slot *s = sm_slot_at(index);
  describe(s, target);
  count_reference(target, 1);
  uint32_t generation = atomic_load_explicit(&s->generation, memory_order_relaxed) + 1;
  atomic_store_explicit(&s->generation, generation, memory_order_release);
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
static sm_slot *named_slot(const smelt_tensor *token) { return sm_slot_at(index_of(token)); }

/* What a slot remembers of its last token. */
typedef struct memory {
  uint64_t tensor_id;
  const char *origin, *taker;
  const void *owner;
} memory;

/* The taker is read last: if the slot has a new token meanwhile, there is none. */
static memory recall(const sm_slot *s) {
  memory m = {.tensor_id = atomic_load_explicit(&s->tensor_id, memory_order_acquire),
              .origin = atomic_load_explicit(&s->origin, memory_order_acquire),
              .owner = atomic_load_explicit(&s->owner, memory_order_acquire)};
  m.taker = atomic_load_explicit(&s->taker, memory_order_relaxed);
  return m;
}

static void name_tensor(const memory *m, char *buf, size_t size) {
  if (m->origin) (void)snprintf(buf, size, "t%" PRIu64 " (made by %s)", m->tensor_id, m->origin);
  else if (m->tensor_id) (void)snprintf(buf, size, "t%" PRIu64, m->tensor_id);
  else (void)snprintf(buf, size, "a scalar or poisoned tensor");
}

/* What became of a reference, and what helps. */
static void explain_taken(const char *user, const memory *m, smelt_error *err) {
  char name[80];
  name_tensor(m, name, sizeof name);
  if (strcmp(m->taker, "drop") == 0) {
    sm_error_set(err, SMELT_ERR_STALE, "smelt_%s: %s was dropped before", user, name);
  } else if (strcmp(m->taker, "context_destroy") == 0) {
    sm_error_set(err, SMELT_ERR_STALE, "smelt_%s: the context of %s was destroyed", user, name);
  } else {
    sm_error_set(err, SMELT_ERR_STALE, "smelt_%s: %s was taken by smelt_%s; use smelt_ref to keep it", user,
                 name, m->taker);
  }
}

/* Fills in why `token` is not valid. The slot's memory of the taker counts only
 * while the slot still waits. */
static void explain_stale(const smelt_tensor *token, const sm_slot *s, const memory *m, const char *user,
                          smelt_error *err) {
  uint32_t generation = generation_of(token), now = s ? atomic_load(&s->generation) : 0;
  if (!token) {
    sm_error_set(err, SMELT_ERR_STALE, "smelt_%s: NULL is not a tensor", user);
  } else if (!s || generation % 2 == 0 || generation > now) {
    sm_error_set(err, SMELT_ERR_STALE, "smelt_%s: not a reference to a tensor", user);
  } else if (now == generation + 1 && m->taker) {
    explain_taken(user, m, err);
  } else {
    sm_error_set(err, SMELT_ERR_STALE, "smelt_%s: the reference was taken or dropped earlier", user);
  }
}

static void report_stale(const smelt_tensor *token, const char *user, smelt_error *err) {
  const sm_slot *s = token ? named_slot(token) : NULL;
  memory m = s ? recall(s) : (memory){.tensor_id = 0};
  explain_stale(token, s, &m, user, err);
  sm_context_report_misuse(m.owner, err->text);
}

/* --- Taking and looking --------------------------------------------------------------------- */

sm_target sm_reference_take(smelt_tensor *token, const char *taker) {
  if (is_immortal(token)) return immortal_target();
  sm_slot *s = named_slot(token);
  uint32_t generation = generation_of(token);
  if (s && generation % 2 == 1 &&
      atomic_compare_exchange_strong(&s->generation, &generation, generation + 1)) {
    sm_target target = s->target;
    count_reference(target, UINT64_MAX);
    atomic_store_explicit(&s->taker, taker, memory_order_relaxed);
    sm_slot_release(index_of(token));
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
  sm_slot *s = named_slot(token);
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
  sm_slot *s = named_slot(token);
  bool valid = s && generation_of(token) % 2 == 1 && atomic_load(&s->generation) == generation_of(token);
  return valid && s->target.kind == SM_TARGET_TENSOR ? atomic_load(&s->owner) : NULL;
}

/* A living token of the context: nobody else uses it any more. False if the slot has
 * become another context's. */
static bool make_stale(sm_slot *s, const smelt_context *ctx, const char *taker) {
  const void *owner = ctx;
  uint32_t generation = atomic_load(&s->generation);
  if (!atomic_compare_exchange_strong(&s->owner, &owner, NULL)) return false;
  const char *origin = atomic_load(&s->origin);
  if (origin && sm_custom_find(&ctx->customs, origin)) atomic_store(&s->origin, NULL);
  if (generation % 2 == 0) return false;
  atomic_store_explicit(&s->taker, taker, memory_order_relaxed);
  atomic_store(&s->generation, generation + 1);
  return true;
}

/* Owners are forgotten too: their address may become another context's. So are origins
 * that are names of its own operations. */
void sm_reference_forget(const smelt_context *ctx, const char *taker) {
  uint32_t used = sm_slots_used();
  for (uint32_t index = 1; index < used; index++) {
    if (make_stale(sm_slot_at(index), ctx, taker)) sm_slot_release(index);
  }
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
