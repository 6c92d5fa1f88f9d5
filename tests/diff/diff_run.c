/* SPDX-License-Identifier: Apache-2.0
 *
 * Running programs. */
#define _DEFAULT_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "diff_program.h"

const way ways[N_WAYS] = {
    {.name = "ref", .device = "ref", .mode = SMELT_MODE_STRICT},
    {.name = "ref, tight segments", .device = "ref", .tight_segments = true, .mode = SMELT_MODE_STRICT},
    {.name = "fusion", .lasting = true, .mode = SMELT_MODE_STRICT},
    /* What every mode does without fusion. */
    {.name = "no fusion", .fusion = SMELT_OFF, .lasting = true},
    {.name = "interpreted", .interpreted = true, .lasting = true, .mode = SMELT_MODE_STRICT},
    {.name = "interpreted, tight kernels",
     .interpreted = true,
     .tight_kernels = true,
     .mode = SMELT_MODE_STRICT},
    {.name = "interpreted, tight kernels and segments",
     .interpreted = true,
     .tight_kernels = true,
     .tight_segments = true,
     .mode = SMELT_MODE_STRICT},
    {.name = "default mode, interpreted", .interpreted = true, .peer = 7},
    {.name = "default mode", .lasting = true, .peer = 7},
    {.name = "fast mode, interpreted", .interpreted = true, .mode = SMELT_MODE_FAST, .peer = 9},
    {.name = "fast mode", .lasting = true, .mode = SMELT_MODE_FAST, .peer = 9},
};

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
  void *data = input_elements(s);
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
  smelt_tensor *second = NULL;
  if (has_second(r->p, name)) attrs.indices = &second;
  define(r, name, smelt_call(r->ctx, s->op, tokens, (size_t)s->n, &attrs));
  if (attrs.indices) define(r, name + 1, second);
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
    case STEP_SECOND: /* by the call */
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

/* Without code from the cache and without libLLVM kernels are interpreted. */
static void choose_code(const way *w) {
  static const char *const settings[] = {"SMELT_LLVM", "SMELT_CACHE"};
  for (int i = 0; i < 2; i++) {
    if (w->interpreted) (void)setenv(settings[i], "0", 1);
    else (void)unsetenv(settings[i]);
  }
}

smelt_context *open_way(const program *p, const way *w) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.device = w->device;
  desc.fusion = w->fusion ? w->fusion : SMELT_ON;
  desc.mode = w->mode;
  if (w->tight_kernels) desc.max_ops = p->max_ops;
  if (w->tight_segments) desc.max_segment_ops = p->max_segment;
  choose_code(w);
  return smelt_context_create(&desc, NULL);
}

static smelt_context *lasting[N_WAYS];

static smelt_context *context_of(const program *p, const way *w) {
  if (!w->lasting) return open_way(p, w);
  smelt_context **own = &lasting[w - ways];
  if (!*own) *own = open_way(p, w);
  return *own;
}

bool close_lasting_ways(void) {
  bool clean = true;
  for (int w = 0; w < N_WAYS; w++) {
    if (lasting[w] && smelt_context_destroy(lasting[w], NULL) != SMELT_OK) clean = false;
    lasting[w] = NULL;
  }
  return clean;
}

static void drop_held(runner *r) {
  for (int i = 0; i < r->p->n; i++) {
    if (r->held[i]) smelt_drop(r->tokens[i]);
  }
  (void)smelt_sync(r->ctx, NULL);
}

/* What the context has counted since `before`. */
static void close_runner(runner *r, const way *w, const smelt_counters *before) {
  smelt_counters c = SMELT_COUNTERS_INIT;
  smelt_error err = {.code = SMELT_OK};
  drop_held(r);
  (void)smelt_context_counters(r->ctx, &c);
  if (!w->lasting) (void)smelt_context_destroy(r->ctx, &err);
  observations *seen = r->seen;
  seen->operations = c.operations - before->operations;
  seen->misuses = c.misuses - before->misuses;
  seen->clean = err.code == SMELT_OK && c.live_bytes == 0 && c.live_references == 0;
  (void)snprintf(seen->complaint, sizeof seen->complaint,
                 "in the end %" PRIu64 " bytes and %" PRIu64 " references are in use. %s", c.live_bytes,
                 c.live_references, err.text);
}

observations *run_program(const program *p, const way *w) {
  smelt_counters before = SMELT_COUNTERS_INIT;
  runner *r = calloc(1, sizeof *r);
  r->p = p;
  r->seen = calloc(1, sizeof *r->seen);
  r->ctx = context_of(p, w);
  (void)smelt_context_counters(r->ctx, &before);
  for (int i = 0; i < p->n; i++) run_step(r, i);
  close_runner(r, w, &before);
  observations *seen = r->seen;
  free(r);
  return seen;
}

void free_observations(observations *o) {
  for (int i = 0; i < MAX_STEPS; i++) free(o->steps[i].data);
  free(o);
}

/* --- In a process of its own ------------------------------------------------------------------ */

enum { SECONDS_PER_PROGRAM = 60, STATUS_AGREES = 10, STATUS_DIFFERS = 11 };

/* Ends by exit, so that a leak checker can have its say. */
_Noreturn static void judge_and_exit(const program *p, FILE *out) {
  (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  (void)alarm(SECONDS_PER_PROGRAM);
  bool good = agrees(p, out);
  exit(close_lasting_ways() && good ? STATUS_AGREES : STATUS_DIFFERS);
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
