/* SPDX-License-Identifier: Apache-2.0
 *
 * Small clusters that are done again by their readers: what is launched, read and written,
 * for which sizes a plan is searched again, and that values are those of the device ref. */
#include "api_fixture.h"

enum { COLUMNS = 3, MOST_RESULTS = 4 };

static smelt_tensor *row(smelt_context *ctx) {
  return smelt_from_host(ctx, SMELT_F32, DIMS(COLUMNS), (float[]){0.5f, -1, 2});
}

static smelt_tensor *matrix(smelt_context *ctx, int64_t rows) {
  float values[64];
  CHECK(rows * COLUMNS <= 64);
  for (int i = 0; i < 64; i++) values[i] = (float)(i % 7) - 3;
  return smelt_from_host(ctx, SMELT_F32, DIMS(rows, COLUMNS), values);
}

/* Programs over a matrix of `rows` rows: results in `out`, how many is the answer. */
typedef int program(smelt_context *ctx, int64_t rows, smelt_tensor **out);

static int one_reader(smelt_context *ctx, int64_t rows, smelt_tensor **out) {
  out[0] = smelt_add(smelt_exp(smelt_mul(row(ctx), 2)), matrix(ctx, rows));
  return 1;
}

/* Kernels of different shapes. */
static int two_readers(smelt_context *ctx, int64_t rows, smelt_tensor **out) {
  smelt_tensor *t = smelt_abs(row(ctx));
  out[0] = smelt_mul(matrix(ctx, rows), smelt_ref(t));
  out[1] = smelt_exp(smelt_add(matrix(ctx, rows + 1), t));
  return 2;
}

/* Two operands of the small one, one of them broadcast. */
static int two_operands(smelt_context *ctx, int64_t rows, smelt_tensor **out) {
  smelt_tensor *one = smelt_from_host(ctx, SMELT_F32, DIMS(1, 1), (float[]){3});
  out[0] = smelt_mul(matrix(ctx, rows), smelt_neg(smelt_sub(row(ctx), one)));
  return 1;
}

/* Three operands cost more bytes than the result. */
static int costly(smelt_context *ctx, int64_t rows, smelt_tensor **out) {
  smelt_tensor *t = smelt_mul(smelt_add(row(ctx), row(ctx)), row(ctx));
  for (int i = 0; i < 2; i++) out[i] = smelt_mul(matrix(ctx, rows + i), i ? t : smelt_ref(t));
  return 2;
}

static int wanted(smelt_context *ctx, int64_t rows, smelt_tensor **out) {
  out[0] = smelt_exp(row(ctx));
  out[1] = smelt_mul(matrix(ctx, rows), smelt_ref(out[0]));
  return 2;
}

/* What depends on the place in the small one is not computed at another. */
static int placed(smelt_context *ctx, int64_t rows, smelt_tensor **out) {
  smelt_tensor *t = smelt_arange(ctx, 0, COLUMNS, 1, SMELT_F32);
  out[0] = smelt_mul(matrix(ctx, rows), t);
  return 1;
}

static int under_a_view(smelt_context *ctx, int64_t rows, smelt_tensor **out) {
  out[0] = smelt_mul(matrix(ctx, rows), smelt_flip(smelt_exp(row(ctx)), NULL, 0));
  return 1;
}

static int selected_from(smelt_context *ctx, int64_t rows, smelt_tensor **out) {
  smelt_tensor *index = smelt_from_host(ctx, SMELT_I32, DIMS(COLUMNS), (int32_t[]){2, 0, 1});
  out[0] = smelt_mul(matrix(ctx, rows), smelt_take(smelt_exp(row(ctx)), index, 0));
  return 1;
}

/* Five records are too many. */
static int long_one(smelt_context *ctx, int64_t rows, smelt_tensor **out) {
  smelt_tensor *t = row(ctx);
  for (int i = 0; i < 5; i++) t = i % 2 ? smelt_abs(t) : smelt_exp(t);
  out[0] = smelt_mul(matrix(ctx, rows), t);
  return 1;
}

typedef struct expectation {
  program *run;
  int64_t rows;
  uint64_t launches, read, written;
} expectation;

static const expectation expectations[] = {
    {one_reader, 2, 1, 12 + 24, 24},
    {one_reader, 4, 1, 12 + 48, 48},
    {one_reader, 5, 2, 2 * 12 + 60, 12 + 60},
    {two_readers, 1, 2, 2 * 12 + 12 + 24, 12 + 24},
    {two_readers, 2, 3, 3 * 12 + 24 + 36, 12 + 24 + 36},
    {two_operands, 2, 1, 12 + 4 + 24, 24},
    {costly, 1, 3, 3 * 12 + 2 * 12 + 12 + 24, 12 + 12 + 24},
    {wanted, 2, 2, 2 * 12 + 24, 12 + 24},
    {placed, 2, 2, 12 + 24, 12 + 24},
    {under_a_view, 2, 2, 2 * 12 + 24, 12 + 24},
    {selected_from, 2, 3, 12 + 2 * 12 + 12 + 24, 12 + 12 + 24},
    {long_one, 2, 2, 2 * 12 + 24, 12 + 24},
};

/* Runs the program on both devices; what `ctx` has counted until its values are read. */
static smelt_counters run(smelt_context *ctx, smelt_context *ref, program *function, int64_t rows) {
  smelt_tensor *out[MOST_RESULTS], *expected[MOST_RESULTS];
  smelt_error err;
  int n = function(ctx, rows, out);
  CHECK_I64(function(ref, rows, expected), n);
  CHECK_OK(smelt_sync(ctx, &err), err);
  smelt_counters counters = counters_of(ctx);
  for (int i = 0; i < n; i++) check_same_values(out[i], expected[i]);
  return counters;
}

TEST(launches_bytes_and_values) {
  smelt_context *ref = open_device("ref");
  for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
    const expectation *e = &expectations[i];
    smelt_context *ctx = open_context();
    smelt_counters c = run(ctx, ref, e->run, e->rows);
    CHECK_I64(c.launches, e->launches);
    CHECK_I64(c.bytes_read, e->read);
    CHECK_I64(c.bytes_written, e->written);
    close_context(ctx);
  }
  close_context(ref);
}

/* How often an element is computed is in the key of a plan as far as it decides: once, up to
 * twice, up to four times, more often. */
TEST(a_plan_for_every_ratio) {
  static const int64_t rows[] = {2, 3, 4, 5, 9, 20, 4, 2};
  static const int searched[] = {1, 1, 0, 1, 0, 0, 0, 0};
  smelt_context *ctx = open_context(), *ref = open_device("ref");
  uint64_t explorations = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint64_t launches = counters_of(ctx).launches;
    smelt_counters c = run(ctx, ref, one_reader, rows[i]);
    CHECK_I64(c.launches - launches, rows[i] <= 4 ? 1 : 2);
    CHECK_I64(c.explorations - explorations, searched[i]);
    explorations = c.explorations;
    CHECK_I64(c.guard_misses, explorations - 1);
  }
  close_context(ctx);
  close_context(ref);
}

TEST_MAIN(CASE(launches_bytes_and_values), CASE(a_plan_for_every_ratio))
