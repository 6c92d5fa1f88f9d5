/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file_limit.h"
#include "base/json.h"
#include "base/thread.h"
#include "base/vec.h"

static const char head[] = "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"complete\": ",
                  not_complete[] = "false", is_complete[] = "true ", after_head[] = "}, \"traceEvents\": [\n",
                  tail[] = "\n]}\n";

struct sm_timeline {
  int file;
  uint32_t process;        /* sm_thread_process */
  sm_mutex lock;           /* guards: */
  off_t end;               /* of the events; the tail follows */
  bool any;                /* events: the next one begins with a comma */
  int error;               /* of the first write that failed; 0 */
  sm_vec(int64_t) threads; /* that have been named */
  char path[];
};

/* --- The file ------------------------------------------------------------------------- */

static bool write_at(int file, off_t at, const char *text, size_t n) {
  if (!sm_file_size_allowed((uint64_t)at + n)) return errno = EFBIG, false;
  while (n) {
    ssize_t written = pwrite(file, text, n, at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return errno = written ? errno : ENOSPC, false;
    text += written;
    at += written;
    n -= (size_t)written;
  }
  return true;
}

/* What a write left that failed in the middle is cut off; there was room for the tail. */
static void restore(const sm_timeline *t) {
  off_t size = t->end + (off_t)strlen(tail);
  (void)(write_at(t->file, t->end, tail, strlen(tail)) && ftruncate(t->file, size) == 0);
}

/* An event and the tail. The lock is held. */
static void append(sm_timeline *t, const sm_text *text) {
  if (t->error) return;
  if (text->failed) {
    t->error = ENOMEM;
  } else if (write_at(t->file, t->end, text->data, text->len)) {
    t->end += (off_t)(text->len - strlen(tail));
    t->any = true;
  } else {
    t->error = errno;
    restore(t);
  }
}

/* What was in the file goes only when there is room. */
static bool write_head(sm_timeline *t) {
  char text[sizeof head + sizeof not_complete + sizeof after_head + sizeof tail];
  int n = snprintf(text, sizeof text, "%s%s%s%s", head, not_complete, after_head, tail);
  t->end = (off_t)n - (off_t)strlen(tail);
  return write_at(t->file, 0, text, (size_t)n) && ftruncate(t->file, n) == 0;
}

/* --- Opening and closing ------------------------------------------------------------------ */

/* Opens or creates it; without O_NONBLOCK a pipe that nobody reads would wait here. */
static int open_or_create(const char *path, bool *created) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK;
  int file = open(path, flags | O_EXCL, 0666);
  *created = file >= 0;
  return file < 0 && errno == EEXIST ? open(path, flags, 0666) : file;
}

/* A regular file that is nobody else's; -1 with errno. */
static int open_file(const char *path, bool *created) {
  struct stat st;
  int file = open_or_create(path, created);
  if (file < 0) return -1;
  bool regular = fstat(file, &st) == 0 && S_ISREG(st.st_mode);
  if (!regular) errno = ESPIPE;
  if (regular && flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  int cause = errno;
  (void)close(file);
  errno = cause;
  return -1;
}

static smelt_status fail(const char *path, int cause, smelt_error *err) {
  const char *why = cause == EWOULDBLOCK ? "another trace is being written to it"
                    : cause == ESPIPE    ? "a trace needs a regular file"
                                         : strerror(cause);
  return sm_error_set(err, SMELT_ERR_IO, "%.200s: %s", path, why);
}

static void free_timeline(sm_timeline *t) {
  (void)close(t->file);
  sm_mutex_destroy(&t->lock);
  sm_vec_free(&sm_malloc_allocator, &t->threads);
  sm_free(&sm_malloc_allocator, t, sizeof *t + strlen(t->path) + 1);
}

/* Takes the file over. */
static sm_timeline *new_timeline(const char *path, int file) {
  size_t n = strlen(path) + 1;
  sm_timeline *t = sm_calloc(&sm_malloc_allocator, 1, sizeof *t + n);
  if (t && sm_mutex_init(&t->lock, SM_LOCK_TIMELINE)) {
    t->file = file;
    t->process = sm_thread_process();
    memcpy(t->path, path, n);
    return t;
  }
  sm_free(&sm_malloc_allocator, t, sizeof *t + n);
  (void)close(file);
  return NULL;
}

/* Takes the file over. */
static smelt_status begin(const char *path, int file, sm_timeline **out, smelt_error *err) {
  sm_timeline *t = new_timeline(path, file);
  if (!t) return sm_error_memory(err, "a trace");
  if (write_head(t)) return *out = t, SMELT_OK;
  smelt_status status = fail(path, errno, err);
  free_timeline(t);
  return status;
}

smelt_status sm_timeline_open(const char *path, sm_timeline **out, bool *busy, smelt_error *err) {
  bool created;
  int file = open_file(path, &created);
  *out = NULL;
  *busy = file < 0 && errno == EWOULDBLOCK;
  if (file < 0) return fail(path, errno, err);
  smelt_status status = begin(path, file, out, err);
  if (status != SMELT_OK && created) (void)unlink(path);
  return status;
}

smelt_status sm_timeline_close(sm_timeline *t, smelt_error *err) {
  if (!t) return SMELT_OK;
  smelt_status status = SMELT_OK;
  bool own = t->process == sm_thread_process();
  if (own && !t->error && !write_at(t->file, (off_t)strlen(head), is_complete, strlen(is_complete)))
    t->error = errno;
  if (own && t->error) {
    status = t->error == ENOMEM ? SMELT_ERR_MEMORY : SMELT_ERR_IO;
    sm_error_set(err, status, "%.200s: the trace is not complete: %s", t->path, strerror(t->error));
  }
  free_timeline(t);
  return status;
}

/* --- Events ----------------------------------------------------------------------------------- */

static void begin_event(sm_text *text, const char *phase, const char *name, int64_t thread) {
  sm_json_open(text, NULL, '{');
  sm_json_string(text, "ph", phase);
  sm_json_string(text, "name", name);
  sm_json_integer(text, "pid", getpid());
  sm_json_integer(text, "tid", thread);
}

static void add_facts(sm_text *text, const sm_fact *facts, size_t n) {
  sm_json_open(text, "args", '{');
  for (size_t i = 0; i < n; i++) {
    if (facts[i].text) sm_json_string(text, facts[i].name, facts[i].text);
    else sm_json_integer(text, facts[i].name, (int64_t)facts[i].number);
  }
  sm_json_close(text, '}');
  sm_json_close(text, '}');
}

static void add_span(sm_text *text, const sm_span *span, int64_t end, const sm_fact *facts, size_t n) {
  begin_event(text, "X", span->name, span->thread);
  sm_json_string(text, "cat", span->category);
  sm_json_number(text, "ts", (double)span->begin / 1e3);
  sm_json_number(text, "dur", (double)(end - span->begin) / 1e3);
  add_facts(text, facts, n);
}

/* An event with the thread's name, when it is seen for the first time. The lock is held. */
static void add_thread(sm_timeline *t, sm_text *text, int64_t thread) {
  char name[40];
  for (size_t i = 0; i < t->threads.len; i++) {
    if (t->threads.items[i] == thread) return;
  }
  if (!sm_vec_push(&sm_malloc_allocator, &t->threads, thread)) return;
  if (thread == (int64_t)getpid()) (void)snprintf(name, sizeof name, "main");
  else (void)snprintf(name, sizeof name, "thread %" PRId64, thread);
  begin_event(text, "M", "thread_name", thread);
  add_facts(text, &(sm_fact){.name = "name", .text = name}, 1);
  sm_text_add(text, ",\n");
}

void sm_timeline_write(sm_timeline *t, sm_span span, const sm_fact *facts, size_t n) {
  if (t->process != sm_thread_process()) return;
  sm_text text;
  int64_t end = sm_os_now();
  if (!span.thread) span.thread = sm_os_thread();
  sm_text_init(&text, &sm_malloc_allocator);
  sm_lock(&t->lock);
  if (t->any) sm_text_add(&text, ",\n");
  add_thread(t, &text, span.thread);
  add_span(&text, &span, end, facts, n);
  sm_text_add(&text, tail);
  append(t, &text);
  sm_unlock(&t->lock);
  sm_text_free(&text);
}
