/* SPDX-License-Identifier: Apache-2.0
 *
 * For every reason why two operations are not in one kernel a program that has it: told by
 * the log, by an explanation and to an observer. */
#include <stdio.h>

#include "api_fixture.h"
#include "plan/fuser.h"

/* What was told. */
typedef struct told {
  const char *reason, *meaning;
  int lines, events;
} told;

static void take_line(void *user, const char *line) {
  told *t = user;
  char part[200];
  (void)snprintf(part, sizeof part, ": %s (%s)", t->reason, t->meaning);
  t->lines += strstr(line, "[refuse] ") == line && strstr(line, part);
}

static void take_event(void *user, const smelt_apart_event *event) {
  told *t = user;
  t->events += strcmp(event->reason, t->reason) == 0 && strcmp(event->meaning, t->meaning) == 0;
}

static int count_edges(const smelt_explanation *e, const told *t) {
  int n = 0;
  for (size_t i = 0; i < smelt_explanation_edges(e); i++) {
    smelt_explained_edge edge = {.size = sizeof edge};
    CHECK_STATUS(smelt_explanation_edge(e, i, &edge), SMELT_OK);
    n += strcmp(edge.reason, t->reason) == 0 && strcmp(edge.meaning, t->meaning) == 0;
  }
  return n;
}

/* --- Programs -------------------------------------------------------------------------------- */

typedef smelt_tensor *program(smelt_context *ctx);

static smelt_tensor *four(smelt_context *ctx) {
  return smelt_from_host(ctx, SMELT_F32, DIMS(4), (float[4]){1});
}

static smelt_tensor *chain(smelt_context *ctx) { return smelt_sqrt(smelt_exp(smelt_sin(four(ctx)))); }

static smelt_tensor *iterate(smelt_context *ctx) {
  smelt_tensor *x = four(ctx);
  for (int i = 0; i < 5; i++) x = smelt_add(smelt_mul(x, 2), four(ctx));
  return x;
}

static smelt_tensor *add_many(smelt_context *ctx) {
  smelt_tensor *x = four(ctx);
  for (const char *order = "+-<+<-+-<-+<+-<+<-+<+-<-+-<"; *order; order++) {
    smelt_tensor *y = four(ctx);
    x = *order == '<' ? smelt_minimum(x, y) : *order == '+' ? smelt_add(x, y) : smelt_sub(x, y);
  }
  return x;
}

static smelt_tensor *broadcast(smelt_context *ctx) {
  smelt_tensor *row = smelt_from_host(ctx, SMELT_F32, DIMS(1, 2), (float[]){0, 1});
  smelt_tensor *column = smelt_from_host(ctx, SMELT_F32, DIMS(5, 1), (float[5]){0});
  return smelt_add(smelt_exp(row), column);
}

static smelt_tensor *view(smelt_context *ctx) { return smelt_flip(smelt_exp(four(ctx)), NULL, 0); }

static smelt_tensor *around_a_view(smelt_context *ctx) {
  smelt_tensor *y = smelt_exp(four(ctx));
  return smelt_add(smelt_ref(y), smelt_flip(y, NULL, 0));
}

static smelt_tensor *select_from(smelt_context *ctx, smelt_tensor *x) {
  int64_t indices[40] = {0};
  return smelt_take(x, smelt_from_host(ctx, SMELT_I64, DIMS(40), indices), 0);
}

static smelt_tensor *sum_selected(smelt_context *ctx) {
  return smelt_sum(select_from(ctx, four(ctx)), NULL, 0, false, SMELT_DTYPE_NONE);
}

static smelt_tensor *select_computed(smelt_context *ctx) { return select_from(ctx, smelt_exp(four(ctx))); }

static smelt_status same_shape(void *user, const smelt_array *x, size_t n, smelt_array *result,
                               smelt_error *err) {
  (void)user, (void)n, (void)err;
  *result = x[0];
  return SMELT_OK;
}

static smelt_status copy(void *user, const smelt_array *x, size_t n, smelt_array *result, smelt_error *err) {
  (void)user, (void)n, (void)err;
  memcpy(result->data, x[0].data, 4 * sizeof(float));
  return SMELT_OK;
}

static smelt_tensor *call_function(smelt_context *ctx) {
  smelt_op_desc desc = SMELT_OP_DESC_INIT;
  smelt_error err;
  desc.name = "copy";
  desc.n_operands = 1;
  desc.shape = same_shape;
  desc.kernel = copy;
  CHECK_OK(smelt_op_register(ctx, &desc, &err), err);
  smelt_tensor *x = four(ctx);
  return smelt_exp(smelt_call(ctx, "copy", &x, 1, NULL));
}

/* --- Reasons ------------------------------------------------------------------------------------ */

static const struct row {
  sm_reason reason;
  program *record;
  const char *device; /* NULL: cpu */
  int max_ops;        /* 0: as many as there are */
  smelt_switch fusion;
} rows[] = {
    {SM_REASON_FUSION_OFF, chain, NULL, 0, SMELT_OFF},
    {SM_REASON_VARIANT, sum_selected, NULL, 0, SMELT_ON},
    {SM_REASON_OPS, chain, NULL, 2, SMELT_ON},
    {SM_REASON_REPEAT, iterate, NULL, 0, SMELT_ON},
    {SM_REASON_BINDINGS, add_many, "null:metal", 0, SMELT_ON},
    {SM_REASON_SHAPE, broadcast, NULL, 0, SMELT_ON},
    {SM_REASON_VIEW, view, NULL, 0, SMELT_ON},
    {SM_REASON_MEMORY, select_computed, NULL, 0, SMELT_ON},
    {SM_REASON_OPAQUE, call_function, NULL, 0, SMELT_ON},
    {SM_REASON_PATH, around_a_view, NULL, 0, SMELT_ON},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static void check_row(const struct row *row) {
  told t = {.reason = sm_reason_code(row->reason), .meaning = sm_reason_sentence(row->reason)};
  smelt_observer observer = SMELT_OBSERVER_INIT;
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  smelt_explanation *e;
  smelt_error err;
  observer.user = desc.log_user = &t;
  observer.apart = take_event;
  desc.observer = &observer;
  desc.log = "refuse";
  desc.log_fn = take_line;
  desc.device = row->device;
  desc.max_ops = row->max_ops;
  desc.fusion = row->fusion;
  smelt_context *ctx = open_context_with(&desc);
  CHECK_OK(smelt_explain_begin(ctx, &err), err);
  smelt_tensor *result = row->record(ctx);
  CHECK_OK(smelt_eval((const smelt_tensor *[]){result}, 1, &err), err);
  CHECK_OK(smelt_explain_end(ctx, &e, &err), err);
  int edges = count_edges(e, &t);
  CHECK(edges > 0);
  CHECK_I64(t.lines, edges);
  CHECK_I64(t.events, edges);
  smelt_explanation_free(e);
  smelt_drop(result);
  close_context(ctx);
}

TEST(every_reason_is_told) {
  CHECK_I64(N_ROWS, SM_REASON_COUNT - 1); /* all but "ok", in their order */
  for (int i = 0; i < N_ROWS; i++) {
    CHECK_I64(rows[i].reason, i + 1);
    check_row(&rows[i]);
  }
}

TEST_MAIN(CASE(every_reason_is_told))
