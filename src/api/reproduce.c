/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "api/reproduce.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/context_state.h"
#include "base/error.h"
#include "base/file_limit.h"
#include "core/mode.h"
#include "ir/smt.h"
#include "smelt/observe.h"

/* --- A segment as text ------------------------------------------------------------------ */

/* A segment on its way to a file. */
typedef struct writing {
  const smelt_context *ctx;
  sm_buffer *const *buffers; /* of a job, by value; NULL: those of the tensors */
  const sm_segment *segment;
  sm_arena arena; /* of elements */
  sm_text text;
} writing;

static const void *elements_of(void *user, const sm_value *value) {
  writing *w = user;
  const sm_tensor *t = value->tensor;
  const sm_buffer *buffer = w->buffers ? w->buffers[value - w->segment->values.items] : t->buffer;
  void *elements =
      buffer ? sm_arena_alloc(&w->arena, (size_t)sm_shape_bytes(&value->shape, value->dtype)) : NULL;
  bool read = elements && sm_buffer_read(buffer, value->dtype, &value->shape, elements, NULL) == SMELT_OK;
  return read ? elements : NULL;
}

/* What of the context decides what its segments become. */
static void add_preamble(const smelt_context *ctx, sm_text *text) {
  const sm_limits *limits = &ctx->fused.options.limits;
  sm_text_addf(text, "# A segment of a program with Smelt " SMELT_VERSION " on %s\n", ctx->name);
  if (!ctx->fusion) sm_text_add(text, "option fusion off\n");
  if (ctx->mode != SMELT_MODE_DEFAULT) sm_text_addf(text, "option mode %s\n", sm_mode_name(ctx->mode));
  if (limits->exact) sm_text_addf(text, "option max_ops %d\n", limits->max_ops);
}

static void print_segment(void *user, const sm_segment *segment) {
  writing *w = user;
  sm_text preamble;
  sm_text_init(&preamble, &sm_malloc_allocator);
  sm_arena_init(&w->arena, &sm_malloc_allocator);
  add_preamble(w->ctx, &preamble);
  w->segment = segment;
  sm_smt_print(&w->text, segment,
               &(sm_smt_writing){.preamble = preamble.data, .shows = true, .source = elements_of, .user = w});
  w->text.failed = w->text.failed || preamble.failed;
  sm_arena_free(&w->arena);
  sm_text_free(&preamble);
}

/* The same program in C. */
static smelt_status translate(const sm_text *smt, sm_text *c, smelt_error *err) {
  sm_smt program;
  SM_TRY(sm_smt_parse(&sm_malloc_allocator, smt->data, smt->len, &program, err));
  sm_smt_print_c(c, &program);
  sm_smt_free(&program);
  return SMELT_OK;
}

/* --- Files -------------------------------------------------------------------------------- */

static bool write_text(FILE *file, const sm_text *text) {
  if (!sm_file_size_allowed(text->len)) return errno = EFBIG, false;
  return fwrite(text->data, 1, text->len, file) == text->len && fflush(file) == 0;
}

/* A file that cannot be written whole is not left. */
static smelt_status save(const char *path, const sm_text *text, smelt_error *err) {
  if (text->failed) return sm_error_memory(err, "a reproducer");
  FILE *file = fopen(path, "we");
  bool written = file && write_text(file, text);
  int cause = errno;
  if (file && fclose(file) != 0 && written) written = false, cause = errno;
  if (written) return SMELT_OK;
  if (file) (void)unlink(path);
  return sm_error_set(err, SMELT_ERR_IO, "%.200s: %s", path, strerror(cause));
}

static smelt_status save_as_c(const char *path, const sm_text *smt, smelt_error *err) {
  sm_text c;
  sm_text_init(&c, &sm_malloc_allocator);
  smelt_status status = smt->failed ? sm_error_memory(err, "a reproducer") : translate(smt, &c, err);
  if (status == SMELT_OK) status = save(path, &c, err);
  sm_text_free(&c);
  return status;
}

/* --- On demand ------------------------------------------------------------------------------ */

static bool ends_with(const char *path, const char *ending) {
  size_t n = strlen(path), k = strlen(ending);
  return n > k && strcmp(path + n - k, ending) == 0;
}

smelt_status smelt_reproduce(smelt_context *ctx, const char *path, smelt_error *err) {
  bool c = path && ends_with(path, ".c");
  if (!ctx || !path || (!c && !ends_with(path, ".smt")))
    return sm_error_set(err, SMELT_ERR_ARGUMENT,
                        "smelt_reproduce: no context, or a path that ends in neither .smt nor .c");
  sm_stream *stream = sm_context_stream(ctx, err);
  if (!stream) return SMELT_ERR_MEMORY;
  writing w = {.ctx = ctx};
  sm_text_init(&w.text, &sm_malloc_allocator);
  smelt_status status = sm_stream_look(stream, print_segment, &w, err);
  if (status == SMELT_OK) status = (c ? save_as_c : save)(path, &w.text, err);
  sm_text_free(&w.text);
  return status;
}

/* --- Of jobs that fail ------------------------------------------------------------------------- */

/* The two files of a job. */
typedef struct files {
  sm_text smt, c;
  bool in_c;           /* C has all that is in the segment */
  smelt_status status; /* of writing them */
  smelt_error err;
} files;

static void name_files(sm_reproducing *r, files *f) {
  uint64_t number = atomic_fetch_add(&r->segments, 1) + 1;
  sm_text_init(&f->smt, &sm_malloc_allocator);
  sm_text_init(&f->c, &sm_malloc_allocator);
  sm_text_addf(&f->smt, "%s/segment-%ld-%" PRIu64 ".smt", r->folder.data, (long)getpid(), number);
  sm_text_addf(&f->c, "%s/segment-%ld-%" PRIu64 ".c", r->folder.data, (long)getpid(), number);
}

static void write_files(const smelt_context *ctx, const sm_job *job, files *f) {
  writing w = {.ctx = ctx, .buffers = job->buffers};
  sm_text_init(&w.text, &sm_malloc_allocator);
  print_segment(&w, job->segment);
  bool named = !f->smt.failed && !f->c.failed;
  f->status = named ? save(f->smt.data, &w.text, &f->err) : sm_error_memory(&f->err, "a reproducer");
  smelt_status c = f->status == SMELT_OK ? save_as_c(f->c.data, &w.text, &f->err) : f->status;
  f->in_c = c == SMELT_OK;
  if (c != SMELT_ERR_FORMAT) f->status = c; /* a form that C has not: of a custom operation */
  sm_text_free(&w.text);
}

static void remove_files(const files *f) {
  if (!f->smt.failed) (void)unlink(f->smt.data);
  if (!f->c.failed) (void)unlink(f->c.data);
}

/* Says in an error, where there is room, how to have it again. Nobody else has the cause yet. */
static void tell(sm_cause *cause, const files *f) {
  char *text = cause->error.text, note[sizeof cause->error.text];
  if (cause == sm_cause_of_memory() || strstr(text, "; reproduced by ")) return;
  int n = f->status == SMELT_OK ? snprintf(note, sizeof note, "; reproduced by %s", f->smt.data)
                                : snprintf(note, sizeof note, "; not reproduced: %s", f->err.text);
  if (n > 0 && strlen(text) + (size_t)n < sizeof cause->error.text) strcat(text, note);
}

/* Whether a live result has failed; all that have are told. */
static bool tell_failures(const sm_job *job, const files *f) {
  bool any = false;
  for (size_t v = 0; v < job->segment->values.len; v++) {
    const sm_value *value = &job->segment->values.items[v];
    if (value->producer == SM_NO_OP || !value->live || !job->causes[v]) continue;
    tell(job->causes[v], f);
    any = true;
  }
  return any;
}

static void log_files(const smelt_context *ctx, const files *f) {
  if (!sm_log_on(&ctx->log, SM_LOG_POISON)) return;
  sm_text line;
  sm_text_init(&line, &sm_malloc_allocator);
  if (f->status == SMELT_OK)
    sm_text_addf(&line, "[poison] reproducers: %s%s%s", f->smt.data, f->in_c ? ", " : "",
                 f->in_c ? f->c.data : "");
  else sm_text_addf(&line, "[poison] no reproducer: %s", f->err.text);
  sm_log_text(&ctx->log, &line);
}

/* A source that failed is no segment's own fault. */
static bool has_failed_source(const sm_job *job) {
  for (size_t v = 0; v < job->segment->values.len; v++) {
    if (job->causes[v]) return true;
  }
  return false;
}

static void run_reproducibly(void *self, sm_job *job) {
  smelt_context *ctx = self;
  sm_reproducing *r = &ctx->reproducing;
  if (has_failed_source(job)) {
    r->inner.run(r->inner.self, job);
    return;
  }
  files f;
  name_files(r, &f);
  write_files(ctx, job, &f);
  r->inner.run(r->inner.self, job);
  bool failed = tell_failures(job, &f);
  if (failed) log_files(ctx, &f);
  if (!failed || f.status != SMELT_OK) remove_files(&f);
  sm_text_free(&f.smt);
  sm_text_free(&f.c);
}

/* errno says why not. */
static bool is_writable_folder(const char *path) {
  struct stat found;
  if (stat(path, &found) != 0) return false;
  if (S_ISDIR(found.st_mode)) return access(path, W_OK | X_OK) == 0;
  errno = ENOTDIR;
  return false;
}

smelt_status sm_reproduce_into(smelt_context *ctx, const char *folder, smelt_error *err) {
  sm_reproducing *r = &ctx->reproducing;
  if (!folder) folder = secure_getenv("SMELT_REPRODUCE");
  if (!folder || !*folder) return SMELT_OK;
  if (!is_writable_folder(folder))
    return sm_error_set(err, SMELT_ERR_IO, "%.200s: no folder for reproducers: %s", folder, strerror(errno));
  sm_text_add(&r->folder, folder);
  if (r->folder.failed) return sm_error_memory(err, "reproducers");
  r->inner = ctx->streams.executor;
  ctx->streams.executor.self = ctx;
  ctx->streams.executor.run = run_reproducibly;
  return SMELT_OK;
}

void sm_reproducing_free(sm_reproducing *r) { sm_text_free(&r->folder); }
