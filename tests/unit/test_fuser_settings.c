/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of a fuser: what each of them changes, in contexts that plan with a fuser of
 * their own, which is ElementWise in all else. Values never change. */
#include <stdio.h>

#include "api/context_state.h"
#include "api_fixture.h"
#include "drivers/drivers.h"
#include "fusers/registry.h"

enum { ROWS = 6, COLUMNS = 40, N = ROWS * COLUMNS };

/* A context, its fusers, and what it last logged. */
typedef struct fixture {
  sm_fuser own;
  const sm_fuser *fusers[3];
  smelt_context *ctx;
  char line[256];
} fixture;

static void take_line(void *user, const char *line) {
  fixture *f = user;
  (void)snprintf(f->line, sizeof f->line, "%s", line);
}

static void open_fixture(fixture *f, const char *device, const char *log, sm_fuser_settings settings) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  *f = (fixture){.own = sm_fuser_elementwise, .fusers = {&f->own, &sm_fuser_view}};
  f->own.name = "Own";
  f->own.settings = settings;
  desc.device = device;
  desc.log = log;
  desc.log_fn = take_line;
  desc.log_user = f;
  f->ctx = open_context_with(&desc);
  f->ctx->fused.options.fusers = f->fusers;
}

static smelt_tensor *matrix(smelt_context *ctx) {
  float items[N];
  for (int i = 0; i < N; i++) items[i] = (float)i / 8;
  smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, DIMS(ROWS, COLUMNS), items);
  return x;
}

/* transposed(x) + transposed(y), and whether it is that; a null device computes nothing. */
static void compute(fixture *f) {
  float sums[N];
  smelt_error err = {0};
  smelt_tensor *x = smelt_permute_dims(matrix(f->ctx), (int[]){1, 0}, 2);
  smelt_tensor *y = smelt_permute_dims(matrix(f->ctx), (int[]){1, 0}, 2);
  smelt_tensor *sum = smelt_add(x, y);
  CHECK_OK(smelt_into_host(sum, SMELT_F32, sums, sizeof sums, &err), err);
  for (int row = 0; row < ROWS && f->ctx->device.driver != &sm_driver_null; row++) {
    for (int column = 0; column < COLUMNS; column++)
      CHECK_F64(sums[column * ROWS + row], (double)(row * COLUMNS + column) / 4);
  }
}

static void check_line(const char *device, const char *log, sm_fuser_settings settings,
                       const char *expected) {
  fixture f;
  open_fixture(&f, device, log, settings);
  compute(&f);
  CHECK_CONTAINS(f.line, expected);
  close_context(f.ctx);
}

static const sm_fuser_settings all = {true, true, true}, none = {false, false, false};

static uint64_t in_place_writes(sm_fuser_settings settings) {
  fixture f;
  open_fixture(&f, "cpu", NULL, settings);
  smelt_tensor *y = smelt_exp(matrix(f.ctx));
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){y}, 1, NULL), SMELT_OK);
  smelt_drop(y);
  uint64_t writes = counters_of(f.ctx).in_place_writes;
  close_context(f.ctx);
  return writes;
}

TEST(inplace) {
  sm_fuser_settings settings = all;
  CHECK_I64(in_place_writes(settings), 1);
  settings.inplace = false;
  CHECK_I64(in_place_writes(settings), 0);
}

/* Both inputs lie transposed: one axis, as long as the result may lie so too. */
TEST(choose_output_layout) {
  sm_fuser_settings settings = all;
  check_line("cpu", "layout", settings, "[layout] over [240] ");
  settings.choose_output_layout = false;
  check_line("cpu", "layout", settings, "[layout] over [40,6] ");
}

TEST(vectorization) {
  sm_fuser_settings settings = all;
  check_line("null:metal", "layout", settings, " width=4 items=240 ");
  check_line("null:cpu-avx512", "layout", settings, " width=16 ");
  settings.vectorization = false;
  check_line("null:metal", "layout", settings, " width=1 items=240 ");
  check_line("null:cpu-avx512", "layout", settings, " width=1 ");
}

TEST(none_at_all) {
  check_line("cpu", "launch", none, "[launch] [main] Own add_");
  CHECK_I64(in_place_writes(none), 0);
}

TEST_MAIN(CASE(inplace), CASE(choose_output_layout), CASE(vectorization), CASE(none_at_all))
