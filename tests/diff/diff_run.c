/* SPDX-License-Identifier: Apache-2.0
 *
 * Running programs and comparing what they observe. */
#define _DEFAULT_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "diff_program.h"

const way ways[] = {
    {.name = "ref", .device = "ref"},
    {.name = "ref, tight segments", .device = "ref", .tight_segments = true},
    {.name = "cpu", .device = "cpu", .fusion = SMELT_ON},
    {.name = "cpu, no fusion", .device = "cpu", .fusion = SMELT_OFF},
    {.name = "cpu, interpreted", .device = "cpu", .fusion = SMELT_ON, .interpreted = true},
    {.name = "cpu, interpreted, tight kernels",
     .device = "cpu",
     .fusion = SMELT_ON,
     .interpreted = true,
     .tight_kernels = true},
    {.name = "cpu, interpreted, tight kernels and segments",
     .device = "cpu",
     .fusion = SMELT_ON,
     .interpreted = true,
     .tight_kernels = true,
     .tight_segments = true},
};
const int n_ways = sizeof ways / sizeof ways[0];

/* --- Steps ------------------------------------------------------------------------------ */

typedef struct runner {
  const program *p;
  smelt_context *ctx;
  smelt_tensor *tokens[MAX_STEPS]; /* by name; a taken one keeps its token */
  bool held[MAX_STEPS];
  observations *seen;
} runner;

static void define(runner *r, int name, smelt_tensor *token) {
  observation *o = &r->seen->steps[name];
  r->tokens[name] = token;
  r->held[name] = true;
  o->status = smelt_check(token, NULL);
  o->dtype = smelt_dtype_of(token);
  o->rank = smelt_dims(token, o->dims);
}

static void run_input(runner *r, int name) {
  const step *s = &r->p->steps[name];
  size_t count = 1;
  for (int axis = 0; axis < s->rank; axis++) count *= (size_t)s->dims[axis];
  void *data = input_elements(s, count);
  define(r, name, smelt_from_host(r->ctx, s->dtype, s->rank, s->dims, data));
  free(data);
}

static smelt_tensor *operand_token(runner *r, const operand *o) {
  if (o->use == USE_KEEP) return smelt_ref(r->tokens[o->name]);
  if (o->use == USE_TAKE) {
    r->held[o->name] = false;
    return r->tokens[o->name];
  }
  if (o->scalar.kind == SM_KIND_BOOL) return smelt_scalar_bool(o->scalar.as.b);
  if (o->scalar.kind == SM_KIND_FLOAT) return smelt_scalar_f64(o->scalar.as.f64);
  return smelt_scalar_i64(o->scalar.as.i64);
}

static void run_call(runner *r, int name) {
  const step *s = &r->p->steps[name];
  smelt_tensor *tokens[MAX_OPERANDS];
  for (int i = 0; i < s->n; i++) tokens[i] = operand_token(r, &s->operands[i]);
  smelt_attrs attrs = step_attrs(s);
  define(r, name, smelt_call(r->ctx, s->op, tokens, (size_t)s->n, &attrs));
}

static void run_read(runner *r, int at, bool takes) {
  int name = r->p->steps[at].operands[0].name;
  smelt_tensor *t = r->tokens[name];
  observation *o = &r->seen->steps[at];
  o->dtype = smelt_dtype_of(t);
  o->rank = smelt_dims(t, o->dims);
  int64_t count = smelt_count(t);
  o->bytes = count > 0 ? (size_t)count * smelt_dtype_size(o->dtype) : 0;
  o->data = malloc(o->bytes + 1);
  if (takes) r->held[name] = false;
  o->status = takes ? smelt_into_host(t, o->dtype, o->data, o->bytes, NULL)
                    : smelt_read(t, o->dtype, o->data, o->bytes, NULL);
}

static void run_eval(runner *r, int at) {
  const step *s = &r->p->steps[at];
  const smelt_tensor *list[MAX_OPERANDS];
  for (int i = 0; i < s->n; i++) list[i] = r->tokens[s->operands[i].name];
  r->seen->steps[at].status = smelt_eval(list, (size_t)s->n, NULL);
}

static void run_drop(runner *r, int name) {
  smelt_drop(r->tokens[name]);
  r->held[name] = false;
}

static void run_step(runner *r, int i) {
  const step *s = &r->p->steps[i];
  switch (s->kind) {
    case STEP_NONE:
      break;
    case STEP_INPUT:
      run_input(r, i);
      break;
    case STEP_CALL:
      run_call(r, i);
      break;
    case STEP_DROP:
      run_drop(r, s->operands[0].name);
      break;
    case STEP_READ:
      run_read(r, i, false);
      break;
    case STEP_INTO_HOST:
      run_read(r, i, true);
      break;
    case STEP_EVAL:
      run_eval(r, i);
      break;
    case STEP_SYNC:
      r->seen->steps[i].status = smelt_sync(r->ctx, NULL);
      break;
    case STEP_SEED:
      r->seen->steps[i].status = smelt_seed(r->ctx, s->seed);
      break;
  }
}

/* --- A program --------------------------------------------------------------------------- */

smelt_context *open_way(const program *p, const way *w) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.device = w->device;
  desc.fusion = w->fusion;
  /* What is the same everywhere; without fusion it is what every mode does. */
  desc.mode = w->fusion == SMELT_OFF ? SMELT_MODE_DEFAULT : SMELT_MODE_STRICT;
  if (w->tight_kernels) desc.max_ops = p->max_ops;
  if (w->tight_segments) desc.max_segment_ops = p->max_segment;
  return smelt_context_create(&desc, NULL);
}

static void close_runner(runner *r) {
  smelt_counters c = SMELT_COUNTERS_INIT;
  smelt_error err = {.code = SMELT_OK};
  for (int i = 0; i < r->p->n; i++) {
    if (r->held[i]) smelt_drop(r->tokens[i]);
  }
  (void)smelt_sync(r->ctx, NULL);
  (void)smelt_context_counters(r->ctx, &c);
  smelt_status status = smelt_context_destroy(r->ctx, &err);
  observations *seen = r->seen;
  seen->operations = c.operations;
  seen->misuses = c.misuses;
  seen->clean = status == SMELT_OK && c.live_bytes == 0 && c.live_references == 0;
  (void)snprintf(seen->complaint, sizeof seen->complaint,
                 "in the end %" PRIu64 " bytes and %" PRIu64 " references are in use. %s", c.live_bytes,
                 c.live_references, err.text);
}

/* Without code from the cache and without libLLVM kernels are interpreted. */
static void choose_code(const way *w) {
  static const char *const settings[] = {"SMELT_LLVM", "SMELT_CACHE"};
  for (int i = 0; i < 2; i++) {
    if (w->interpreted) (void)setenv(settings[i], "0", 1);
    else (void)unsetenv(settings[i]);
  }
}

observations *run_program(const program *p, const way *w) {
  runner *r = calloc(1, sizeof *r);
  r->p = p;
  r->seen = calloc(1, sizeof *r->seen);
  choose_code(w);
  r->ctx = open_way(p, w);
  for (int i = 0; i < p->n; i++) run_step(r, i);
  close_runner(r);
  observations *seen = r->seen;
  free(r);
  return seen;
}

void free_observations(observations *o) {
  for (int i = 0; i < MAX_STEPS; i++) free(o->steps[i].data);
  free(o);
}

/* --- Comparing ----------------------------------------------------------------------------- */

static bool same_element(smelt_dtype dtype, const unsigned char *a, const unsigned char *b) {
  size_t size = smelt_dtype_size(dtype);
  if (memcmp(a, b, size) == 0) return true;
  if (sm_kind_of(dtype) != SM_KIND_FLOAT) return false;
  return isnan(sm_scalar_of(dtype, a).as.f64) && isnan(sm_scalar_of(dtype, b).as.f64);
}

/* The first element that differs, -1 if none does. */
static int64_t first_difference(const observation *a, const observation *b) {
  size_t size = smelt_dtype_size(a->dtype);
  for (size_t i = 0; i * size < a->bytes; i++) {
    if (!same_element(a->dtype, a->data + i * size, b->data + i * size)) return (int64_t)i;
  }
  return -1;
}

static bool same_type(const observation *a, const observation *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         (a->rank <= 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0);
}

static void print_element(FILE *out, const observation *o, int64_t i) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_scalar_print(&text, sm_scalar_of(o->dtype, o->data + (size_t)i * smelt_dtype_size(o->dtype)));
  (void)fprintf(out, "%s", text.data);
  sm_text_free(&text);
}

static bool same_step(const way *w, int at_step, const observation *judge, const observation *other,
                      FILE *out) {
  if (judge->status != other->status) {
    if (out)
      (void)fprintf(out, "# %s: step %d is %s, expected %s\n", w->name, at_step,
                    smelt_status_name(other->status), smelt_status_name(judge->status));
    return false;
  }
  if (!same_type(judge, other)) {
    if (out) (void)fprintf(out, "# %s: step %d has another dtype or shape\n", w->name, at_step);
    return false;
  }
  int64_t at = judge->data && judge->status == SMELT_OK ? first_difference(judge, other) : -1;
  if (at < 0) return true;
  if (!out) return false;
  (void)fprintf(out, "# %s: element %" PRId64 " read by step %d is ", w->name, at, at_step);
  print_element(out, other, at);
  (void)fprintf(out, ", expected ");
  print_element(out, judge, at);
  (void)fprintf(out, "\n");
  return false;
}

static bool same_end(const way *w, const observations *judge, const observations *other, FILE *out) {
  if (!other->clean) {
    if (out) (void)fprintf(out, "# %s: %s\n", w->name, other->complaint);
    return false;
  }
  if (judge->operations == other->operations && judge->misuses == other->misuses) return true;
  if (out) {
    (void)fprintf(
        out, "# %s: %" PRIu64 " operations and %" PRIu64 " misuses, expected %" PRIu64 " and %" PRIu64 "\n",
        w->name, other->operations, other->misuses, judge->operations, judge->misuses);
  }
  return false;
}

static bool same(const program *p, const way *w, const observations *judge, const observations *other,
                 FILE *out) {
  for (int i = 0; i < p->n; i++) {
    if (!same_step(w, i, &judge->steps[i], &other->steps[i], out)) return false;
  }
  return same_end(w, judge, other, out);
}

bool agrees(const program *p, FILE *out) {
  observations *judge = run_program(p, &ways[0]);
  bool all = same_end(&ways[0], judge, judge, out);
  for (int w = 1; w < n_ways; w++) {
    observations *other = run_program(p, &ways[w]);
    if (!same(p, &ways[w], judge, other, out)) all = false;
    free_observations(other);
  }
  free_observations(judge);
  return all;
}

/* --- In a process of its own ------------------------------------------------------------------ */

enum { SECONDS_PER_PROGRAM = 60, STATUS_AGREES = 10, STATUS_DIFFERS = 11 };

/* Ends by exit, so that a leak checker can have its say. */
_Noreturn static void judge_and_exit(const program *p, FILE *out) {
  (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  (void)alarm(SECONDS_PER_PROGRAM);
  exit(agrees(p, out) ? STATUS_AGREES : STATUS_DIFFERS);
}

verdict judge_apart(const program *p, FILE *out) {
  (void)fflush(NULL);
  int status = 0;
  pid_t child = fork();
  if (child == 0) judge_and_exit(p, out);
  if (child < 0 || waitpid(child, &status, 0) != child) return CRASHES;
  if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_AGREES) return AGREES;
  if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_DIFFERS) return DIFFERS;
  if (out && WIFSIGNALED(status)) (void)fprintf(out, "# killed by %s\n", strsignal(WTERMSIG(status)));
  return CRASHES;
}
