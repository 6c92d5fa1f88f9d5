/* SPDX-License-Identifier: Apache-2.0 */
#include "api/reference_slots.h"

#include "base/alloc.h"
#include "base/thread.h"
#include "core/limits.h"

enum { FIRST_CHUNK = 1024, CHUNKS = 22, BATCH = 64 /* slots that change hands under one lock */ };

/* In order of arrival, linked by `next`. */
typedef struct queue {
  uint32_t head, tail, n;
} queue;

static struct {
  _Atomic(sm_slot *) chunks[CHUNKS]; /* chunk k has FIRST_CHUNK << k slots; never given back */
  _Atomic uint32_t used;             /* slots handed out at least once, slot 0 included */
  sm_mutex lock;                     /* guards the growth of both, and: */
  queue waiting;
  pthread_once_t once; /* what follows, and the fork handler knows of the lock */
  bool ready;
  pthread_key_t at_exit; /* of threads; its value only makes the system call leave_thread */
} table = {.once = PTHREAD_ONCE_INIT, .lock = SM_MUTEX_INIT(SM_LOCK_REFERENCES), .used = 1};

static _Thread_local struct {
  bool known; /* leave_thread will be called */
  queue waiting, ready;
} own;

/* --- The table ------------------------------------------------------------------------ */

static sm_slot *find(uint32_t index) {
  unsigned chunk = 31 - (unsigned)__builtin_clz(index / FIRST_CHUNK + 1);
  sm_slot *slots = chunk < CHUNKS ? atomic_load_explicit(&table.chunks[chunk], memory_order_acquire) : NULL;
  return slots ? &slots[index - FIRST_CHUNK * ((1u << chunk) - 1)] : NULL;
}

uint32_t sm_slots_used(void) { return atomic_load_explicit(&table.used, memory_order_acquire); }

sm_slot *sm_slot_at(uint32_t index) { return index > 0 && index < sm_slots_used() ? find(index) : NULL; }

/* Makes sure the chunk of slot `index` exists. */
static bool grow_to(uint32_t index) {
  unsigned chunk = 31 - (unsigned)__builtin_clz(index / FIRST_CHUNK + 1);
  if (chunk >= CHUNKS) return false;
  if (atomic_load(&table.chunks[chunk])) return true;
  sm_slot *slots = sm_calloc(&sm_malloc_allocator, (size_t)FIRST_CHUNK << chunk, sizeof *slots);
  if (!slots) return false;
  atomic_store(&table.chunks[chunk], slots);
  return true;
}

/* 0 if there is none. With the lock. */
static uint32_t take_fresh(void) {
  uint32_t fresh = atomic_load(&table.used);
  if (!grow_to(fresh)) return 0;
  atomic_store(&table.used, fresh + 1);
  return fresh;
}

/* --- Queues ---------------------------------------------------------------------------- */

static void append(queue *to, const queue *from) {
  if (!from->n) return;
  if (to->n) find(to->tail)->next = from->head;
  else to->head = from->head;
  to->tail = from->tail;
  to->n += from->n;
}

static void push(queue *q, uint32_t index) { append(q, &(queue){index, index, 1}); }

static uint32_t pop(queue *q) {
  uint32_t index = q->n ? q->head : 0;
  if (index) q->head = find(index)->next;
  if (index) q->n--;
  return index;
}

static bool has_rested(const queue *q) { return q->n >= SM_STALE_QUEUE; }

/* --- Threads ----------------------------------------------------------------------------- */

/* Called by the system when a thread ends; again if it gives up more after that. */
static void leave_thread(void *unused) {
  (void)unused;
  sm_lock(&table.lock);
  append(&table.waiting, &own.waiting);
  append(&table.waiting, &own.ready);
  sm_unlock(&table.lock);
  own.waiting = own.ready = (queue){0};
  own.known = false;
}

static void prepare_process(void) {
  sm_mutex_enlist(&table.lock);
  table.ready = pthread_key_create(&table.at_exit, leave_thread) == 0;
}

void sm_slots_handle_forks(void) { (void)pthread_once(&table.once, prepare_process); }

/* Whether the thread may keep slots: they come back when it ends. */
static bool may_keep(void) {
  if (own.known) return true;
  sm_slots_handle_forks();
  own.known = table.ready && pthread_setspecific(table.at_exit, &own) == 0;
  return own.known;
}

/* --- Claiming and releasing ----------------------------------------------------------------- */

/* Gets `n` slots ready, or as many as there are. */
static void fetch(int n) {
  sm_lock(&table.lock);
  for (uint32_t index = 1; n > 0 && index; n--) {
    index = has_rested(&table.waiting) ? pop(&table.waiting) : take_fresh();
    if (index) push(&own.ready, index);
  }
  sm_unlock(&table.lock);
}

/* Without memory for fresh ones they rest less. */
static uint32_t claim_unrested(void) {
  uint32_t index = pop(&own.waiting);
  if (index) return index;
  sm_lock(&table.lock);
  index = pop(&table.waiting);
  sm_unlock(&table.lock);
  return index;
}

uint32_t sm_slot_claim(void) {
  if (has_rested(&own.waiting)) return pop(&own.waiting);
  if (!own.ready.n) fetch(may_keep() ? BATCH : 1);
  return own.ready.n ? pop(&own.ready) : claim_unrested();
}

static void hand_over(int n) {
  sm_lock(&table.lock);
  while (n-- > 0) push(&table.waiting, pop(&own.waiting));
  sm_unlock(&table.lock);
}

void sm_slot_release(uint32_t index) {
  if (atomic_load_explicit(&find(index)->generation, memory_order_relaxed) >= UINT32_MAX - 1) return;
  push(&own.waiting, index);
  if (!may_keep()) hand_over(1);
  else if (own.waiting.n > SM_STALE_QUEUE + 2 * BATCH) hand_over(BATCH);
}
