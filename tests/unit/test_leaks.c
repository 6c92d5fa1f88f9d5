/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors that are alive: which they are, how large, made by what and, as this file
 * defines SMELT_DEBUG, where; on demand and when a context is destroyed. Errors say
 * where as well. */
#define SMELT_DEBUG
#include <stdio.h>
#include <stdlib.h>

#include "api_fixture.h"
#include "peer.h"

typedef struct seen {
  int n;
  smelt_leak leaks[8];
  smelt_context *ctx; /* NULL: nothing is tried */
} seen;

static void see(void *user, const smelt_leak *leak) {
  seen *s = user;
  CHECK(s->n < 8);
  CHECK_I64(leak->size, sizeof *leak);
  s->leaks[s->n++] = *leak;
}

static seen look(smelt_context *ctx) {
  seen s = {.n = 0};
  smelt_error err = {0};
  CHECK_OK(smelt_leaks(ctx, see, &s, &err), err);
  return s;
}

/* "test_leaks.c:12", whatever folder is before it. */
static void check_place(const char *where, int line) {
  char end[40];
  (void)snprintf(end, sizeof end, "test_leaks.c:%d", line);
  CHECK_CONTAINS(where, end);
}

TEST(what_is_alive) {
  smelt_context *ctx = open_context();
  CHECK_I64(look(ctx).n, 0);
  smelt_tensor *x = smelt_from_host(ctx, SMELT_I32, DIMS(2, 2), (int32_t[]){1, 2, 3, 4});
  int made_x = __LINE__ - 1;
  smelt_tensor *again = smelt_ref(x);
  smelt_tensor *y = smelt_astype(smelt_add(smelt_ref(x), /* a record that nobody can name */
                                           1),
                                 SMELT_F64);
  seen s = look(ctx);
  CHECK_I64(s.n, 2);
  CHECK_STR(s.leaks[0].operation, "astype");
  CHECK_I64(s.leaks[0].dtype, SMELT_F64);
  CHECK_I64(s.leaks[0].bytes, 32);
  CHECK_I64(s.leaks[0].references, 1);
  CHECK_STR(s.leaks[1].operation, "from_host");
  CHECK_I64(s.leaks[1].tensor, 1);
  CHECK_I64(s.leaks[1].rank, 2);
  CHECK_I64(s.leaks[1].dims[1], 2);
  CHECK_I64(s.leaks[1].bytes, 16);
  CHECK_I64(s.leaks[1].references, 2);
  check_place(s.leaks[1].where, made_x);
  smelt_drop(y);
  smelt_drop(x);
  smelt_drop(again);
  CHECK_I64(look(ctx).n, 0);
  close_context(ctx);
}

/* Each call its own place, however they are nested. */
TEST(places) {
  smelt_context *ctx = open_context();
  smelt_tensor *x = smelt_ones(ctx, SMELT_F32, DIMS(2)), *inner = NULL;
  int line = __LINE__ + 1;
  smelt_tensor *root = smelt_sqrt(smelt_ref(inner = smelt_where(smelt_greater(smelt_ref(x), 0), x, 2.0)));
  seen s = look(ctx);
  CHECK_I64(s.n, 2);
  CHECK_STR(s.leaks[0].operation, "sqrt");
  CHECK_STR(s.leaks[1].operation, "where");
  check_place(s.leaks[0].where, line);
  check_place(s.leaks[1].where, line);
  smelt_drop(root);
  line = __LINE__ + 1;
  root = smelt_sqrt(inner);
  check_place(look(ctx).leaks[0].where, line);
  CHECK_F64(value_of(smelt_sum(root, NULL, 0, false, SMELT_DTYPE_NONE)), 2);
  close_context(ctx);
}

static void keep_lines(void *user, const char *line) {
  char *lines = user;
  if (!strstr(line, "leaked")) return;
  strcat(strcat(lines, strncmp(line, "[memory] leaked: ", 17) == 0 ? line + 17 : line), "\n");
}

TEST(destroyed_with_leaks) {
  char lines[2000] = "", expected[400];
  smelt_error err = {0};
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.log = "memory";
  desc.log_fn = keep_lines;
  desc.log_user = lines;
  smelt_context *ctx = open_context_with(&desc);
  smelt_tensor *x = smelt_zeros(ctx, SMELT_F32, DIMS(3)), *y = smelt_exp(smelt_ref(x));
  CHECK(y != NULL);
  seen s = look(ctx);
  CHECK_STATUS(smelt_context_destroy(ctx, &err), SMELT_ERR_LEAK);
  (void)snprintf(expected, sizeof expected,
                 "2 references leaked: t2 f32[3] made by exp at %s, t1 f32[3] made by zeros at %s",
                 s.leaks[0].where, s.leaks[1].where);
  CHECK_STR(err.text, expected);
  (void)snprintf(expected, sizeof expected,
                 "t2 f32[3], 12 bytes, 1 reference, made by exp at %s\n"
                 "t1 f32[3], 12 bytes, 1 reference, made by zeros at %s\n",
                 s.leaks[0].where, s.leaks[1].where);
  CHECK_STR(lines, expected);
}

TEST(errors_say_where) {
  smelt_context *ctx = open_context();
  smelt_error err = {0};
  smelt_tensor *bad = smelt_add(smelt_zeros(ctx, SMELT_F32, DIMS(2)), smelt_zeros(ctx, SMELT_F32, DIMS(3)));
  int line = __LINE__ - 1;
  smelt_tensor *worse = smelt_exp(bad);
  CHECK_STATUS(smelt_check(worse, &err), SMELT_ERR_SHAPE);
  check_place(err.where, line);
  smelt_drop(worse);
  close_context(ctx);
}

/* --- Threads and callbacks ------------------------------------------------------------------ */

typedef struct keeper {
  smelt_context *ctx;
  smelt_tensor *t;
} keeper;

static void keep(void *user) {
  keeper *k = user;
  k->t = smelt_ones(k->ctx, SMELT_BOOL, DIMS(7));
}

TEST(of_all_threads) {
  smelt_context *ctx = open_context();
  keeper k = {.ctx = ctx};
  peer other;
  peer_open(&other);
  peer_do(&other, keep, &k);
  smelt_tensor *own = number(ctx, 1);
  seen s = look(ctx);
  CHECK_I64(s.n, 2);
  CHECK_I64(s.leaks[0].bytes + s.leaks[1].bytes, 7 + 4);
  smelt_drop(k.t);
  smelt_drop(own);
  peer_close(&other);
  close_context(ctx);
}

static void record_meanwhile(void *user, const smelt_leak *leak) {
  seen *s = user;
  CHECK_STR(leak->operation, "from_host");
  smelt_counters c = SMELT_COUNTERS_INIT;
  CHECK_STATUS(smelt_context_counters(s->ctx, &c), SMELT_OK); /* no lock is held */
  s->n++;
}

TEST(callbacks_and_mistakes) {
  smelt_context *ctx = open_context();
  smelt_error err = {0};
  seen s = {.ctx = ctx};
  smelt_tensor *x = number(ctx, 1);
  CHECK_OK(smelt_leaks(ctx, record_meanwhile, &s, &err), err);
  CHECK_I64(s.n, 1);
  CHECK_STATUS(smelt_leaks(NULL, see, &s, &err), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_leaks(ctx, NULL, &s, &err), SMELT_ERR_ARGUMENT);
  smelt_drop(x);
  close_context(ctx);
}

TEST_MAIN(CASE(what_is_alive), CASE(places), CASE(destroyed_with_leaks), CASE(errors_say_where),
          CASE(of_all_threads), CASE(callbacks_and_mistakes))
