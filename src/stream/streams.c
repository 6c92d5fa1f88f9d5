/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/streams.h"

#include "base/error.h"
#include "stream/stream_tensor.h"

/* --- The registry -------------------------------------------------------------------- */

static struct {
  sm_mutex lock;
  sm_streams *first;
  uint64_t last_serial;
  pthread_once_t once;
  bool ready;            /* what follows, and forks are handled */
  pthread_key_t at_exit; /* of threads; its value only makes the system call leave_thread */
} registry = {.lock = SM_MUTEX_INIT(SM_LOCK_REGISTRY), .once = PTHREAD_ONCE_INIT};

static void enlist(sm_streams *set) {
  sm_lock(&registry.lock);
  set->serial = ++registry.last_serial;
  set->next = registry.first;
  registry.first = set;
  sm_unlock(&registry.lock);
}

/* With the lock held. */
static sm_streams *find_living(uint64_t serial) {
  sm_streams *set = registry.first;
  while (set && set->serial != serial) set = set->next;
  return set;
}

/* With the lock held. In the child of a fork the visitors are no more. */
static int count_visitors(sm_streams *set) {
  if (set->process != sm_thread_process()) set->visitors = 0;
  set->process = sm_thread_process();
  return set->visitors;
}

/* The set with that serial, which then does not go away before end_visit. */
static sm_streams *visit(uint64_t serial) {
  sm_lock(&registry.lock);
  sm_streams *set = find_living(serial);
  if (set) set->visitors = count_visitors(set) + 1;
  sm_unlock(&registry.lock);
  return set;
}

static void end_visit(sm_streams *set) {
  sm_lock(&registry.lock);
  set->visitors--;
  sm_event_signal(&set->left);
  sm_unlock(&registry.lock);
}

static void delist(sm_streams *set) {
  sm_lock(&registry.lock);
  sm_streams **link = &registry.first;
  while (*link != set) link = &(*link)->next;
  *link = set->next;
  while (count_visitors(set)) sm_event_wait(&set->left, &registry.lock);
  sm_unlock(&registry.lock);
}

sm_log sm_streams_count_misuse(const void *owner) {
  sm_lock(&registry.lock);
  sm_streams *set = registry.first;
  while (set && set->owner != owner) set = set->next;
  if (set) sm_count(&set->counters->misuses, 1);
  sm_log log = set ? *set->log : (sm_log){.enabled = 0};
  sm_unlock(&registry.lock);
  return log;
}

/* --- The streams of a thread ------------------------------------------------------------ */

/* An entry of the thread's list. The stream exists as long as a set has that serial. */
typedef struct sm_stream_of_thread {
  struct sm_stream_of_thread *next;
  uint64_t serial;
  sm_stream *stream;
} entry;

static void free_entry(entry *e) { sm_free(&sm_malloc_allocator, e, sizeof *e); }

/* Nobody's from now on; another thread may take it over. */
static void retire(sm_stream *s) {
  (void)sm_stream_flush(s, NULL);
  atomic_store(&s->thread, NULL);
}

/* Called by the system when a thread ends that has a stream. */
static void leave_thread(void *block) {
  sm_thread *self = block;
  entry *list = self->first;
  self->first = NULL;
  self->streams = 0;
  for (entry *e = list, *next; e; e = next) {
    next = e->next;
    sm_streams *set = visit(e->serial);
    if (set) retire(e->stream);
    if (set) end_visit(set);
    free_entry(e);
  }
}

static entry *find_entry(const sm_thread *self, uint64_t serial) {
  entry *e = self->first;
  while (e && e->serial != serial) e = e->next;
  return e;
}

/* Entries of sets that are gone. */
static void prune(sm_thread *self) {
  sm_lock(&registry.lock);
  for (entry **link = &self->first, *e; (e = *link);) {
    if (find_living(e->serial)) {
      link = &e->next;
    } else {
      *link = e->next;
      free_entry(e);
    }
  }
  sm_unlock(&registry.lock);
}

static bool add_entry(sm_thread *self, sm_streams *set, sm_stream *stream) {
  prune(self);
  entry *e = sm_alloc(&sm_malloc_allocator, sizeof *e);
  if (!e || pthread_setspecific(registry.at_exit, self) != 0) {
    sm_free(&sm_malloc_allocator, e, sizeof *e);
    return false;
  }
  *e = (entry){self->first, set->serial, stream};
  self->first = e;
  return true;
}

/* --- Making streams ------------------------------------------------------------------------ */

static bool is_empty(sm_stream *s) {
  sm_lock(&s->lock);
  bool empty = !s->tensors;
  sm_unlock(&s->lock);
  return empty;
}

/* Whether the stream needs no thread any more, and then is this one's. */
static bool try_to_take(sm_stream *s, sm_thread *self) {
  sm_thread *nobody = NULL;
  if (atomic_load(&s->thread) || !atomic_compare_exchange_strong(&s->thread, &nobody, self)) return false;
  if (is_empty(s)) return true;
  atomic_store(&s->thread, NULL);
  return false;
}

static sm_stream *take_over(sm_streams *set, sm_thread *self) {
  sm_stream *s = atomic_load(&set->first);
  while (s && !try_to_take(s, self)) s = s->next;
  return s;
}

static sm_stream *make_stream(sm_streams *set, sm_thread *self) {
  sm_stream *s = sm_alloc(set->allocator, sizeof *s);
  if (!s) return NULL;
  if (!sm_stream_init(s, set)) {
    sm_free(set->allocator, s, sizeof *s);
    return NULL;
  }
  atomic_store(&s->thread, self);
  s->next = atomic_load(&set->first);
  while (!atomic_compare_exchange_weak(&set->first, &s->next, s)) continue;
  return s;
}

static sm_stream *new_stream(sm_streams *set, sm_thread *self) {
  sm_stream *s = take_over(set, self);
  if (!s) s = make_stream(set, self);
  if (!s) return NULL;
  if (!add_entry(self, set, s)) {
    atomic_store(&s->thread, NULL);
    return NULL;
  }
  sm_stream_adopt(s, atomic_fetch_add(&set->threads, 1) + 1);
  return s;
}

sm_stream *sm_streams_mine(sm_streams *set) {
  sm_thread *self = sm_thread_self();
  if (self->streams == set->serial) return self->stream;
  entry *e = find_entry(self, set->serial);
  sm_stream *s = e ? e->stream : new_stream(set, self);
  if (!s) return NULL;
  self->streams = set->serial;
  self->stream = s;
  return s;
}

/* --- Sets ---------------------------------------------------------------------------------- */

static void prepare_process(void) {
  sm_mutex_enlist(&registry.lock);
  registry.ready = sm_thread_handle_forks() && pthread_key_create(&registry.at_exit, leave_thread) == 0;
}

bool sm_streams_open(sm_streams *set) {
  (void)pthread_once(&registry.once, prepare_process);
  if (!registry.ready) return false;
  atomic_init(&set->next_id, 1);
  enlist(set);
  return true;
}

void sm_streams_close(sm_streams *set) {
  delist(set);
  prune(sm_thread_self());
  for (sm_stream *s = atomic_load(&set->first); s; s = s->next) sm_stream_await(s);
}

void sm_streams_free(sm_streams *set) {
  for (sm_stream *s = atomic_load(&set->first), *next; s; s = next) {
    next = s->next;
    sm_stream_free(s);
    sm_free(set->allocator, s, sizeof *s);
  }
}

smelt_status sm_streams_look(sm_streams *set, void (*look)(void *user, const sm_tensor *t), void *user,
                             smelt_error *err) {
  for (sm_stream *s = atomic_load(&set->first); s; s = s->next)
    SM_TRY(sm_stream_look_at_tensors(s, look, user, err));
  return SMELT_OK;
}

uint64_t sm_streams_operations(const sm_streams *set) {
  uint64_t n = 0;
  for (const sm_stream *s = atomic_load(&set->first); s; s = s->next) {
    n += atomic_load_explicit(&s->operations, memory_order_relaxed);
  }
  return n;
}

/* In the thread's own count, so that threads do not get in each other's way. */
void sm_streams_count_references(sm_streams *set, uint64_t change) {
  const sm_thread *self = sm_thread_self();
  if (self->streams != set->serial) {
    sm_count(&set->counters->live_references, change);
    return;
  }
  _Atomic uint64_t *count = &self->stream->references;
  uint64_t n = atomic_load_explicit(count, memory_order_relaxed);
  atomic_store_explicit(count, n + change, memory_order_relaxed);
}

uint64_t sm_streams_references(const sm_streams *set) {
  uint64_t n = atomic_load_explicit(&set->counters->live_references, memory_order_relaxed);
  for (const sm_stream *s = atomic_load(&set->first); s; s = s->next) {
    n += atomic_load_explicit(&s->references, memory_order_relaxed);
  }
  return n;
}
