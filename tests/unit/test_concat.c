/* SPDX-License-Identifier: Apache-2.0
 *
 * Concatenations with what is before and behind them: what is launched, and that values are
 * those of the device ref. */
#include "api_fixture.h"

enum { MOST_RESULTS = 3 };

static smelt_tensor *tensor(smelt_context *ctx, int which, int64_t rows, int64_t columns) {
  float values[256];
  for (int i = 0; i < 256; i++) values[i] = (float)((which * 5 + i * 3) % 11) / 4 - 1;
  CHECK(rows * columns <= 256);
  return smelt_from_host(ctx, SMELT_F32, DIMS(rows, columns), values);
}

static smelt_tensor *join2(smelt_tensor *x, smelt_tensor *y, int axis) {
  return smelt_concat((smelt_tensor *[]){x, y}, 2, axis);
}

static smelt_tensor *join3(smelt_tensor *x, smelt_tensor *y, smelt_tensor *z, int axis) {
  return smelt_concat((smelt_tensor *[]){x, y, z}, 3, axis);
}

/* Programs: results in `out`, how many is the answer. */
typedef int program(smelt_context *ctx, smelt_tensor **out);

static int alone(smelt_context *ctx, smelt_tensor **out) {
  out[0] = join2(tensor(ctx, 0, 2, 3), tensor(ctx, 1, 4, 3), 0);
  return 1;
}

static int inner_axis(smelt_context *ctx, smelt_tensor **out) {
  out[0] = join3(tensor(ctx, 0, 5, 3), tensor(ctx, 1, 5, 20), tensor(ctx, 2, 5, 1), 1);
  return 1;
}

static int before(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *row = smelt_from_host(ctx, SMELT_F32, DIMS(3), (float[]){1, 2, 3});
  smelt_tensor *x = smelt_exp(smelt_mul(tensor(ctx, 0, 2, 3), row));
  out[0] = join2(x, smelt_abs(tensor(ctx, 1, 4, 3)), 0);
  return 1;
}

static int behind(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = join2(tensor(ctx, 0, 5, 3), tensor(ctx, 1, 5, 17), 1);
  smelt_tensor *row = smelt_reshape(tensor(ctx, 4, 1, 20), DIMS(20));
  x = smelt_add(smelt_mul(x, tensor(ctx, 2, 5, 20)), row);
  out[0] = smelt_sub(x, tensor(ctx, 3, 5, 1));
  return 1;
}

/* The concatenation lives on too. */
static int both_wanted(smelt_context *ctx, smelt_tensor **out) {
  out[0] = join2(smelt_exp(tensor(ctx, 0, 2, 3)), tensor(ctx, 1, 4, 3), 0);
  out[1] = smelt_add(smelt_ref(out[0]), 1.5);
  return 2;
}

/* Meets the concatenation behind it only. */
static int beside(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *other = smelt_sqrt(smelt_abs(tensor(ctx, 2, 6, 3)));
  out[0] = smelt_mul(join2(tensor(ctx, 0, 2, 3), tensor(ctx, 1, 4, 3), 0), other);
  return 1;
}

static int the_same_twice(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = smelt_exp(tensor(ctx, 0, 3, 3));
  out[0] = join2(smelt_ref(x), x, 1);
  return 1;
}

/* An operand in the memory of which it is written would be read there. */
static int an_operand_behind(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = tensor(ctx, 0, 1, 3);
  out[0] = smelt_add(join2(smelt_ref(x), tensor(ctx, 1, 4, 3), 0), x);
  return 1;
}

static int an_operand_wanted(smelt_context *ctx, smelt_tensor **out) {
  out[0] = smelt_exp(tensor(ctx, 0, 2, 3));
  out[1] = join2(smelt_ref(out[0]), tensor(ctx, 1, 4, 3), 0);
  return 2;
}

static int nothing_in_one(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = join3(tensor(ctx, 0, 0, 3), smelt_exp(tensor(ctx, 1, 4, 3)), tensor(ctx, 2, 0, 3), 0);
  out[0] = smelt_mul(x, tensor(ctx, 3, 4, 3));
  return 1;
}

static int nothing_at_all(smelt_context *ctx, smelt_tensor **out) {
  out[0] = smelt_exp(join2(tensor(ctx, 0, 0, 3), tensor(ctx, 1, 0, 3), 0));
  return 1;
}

static int views(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = smelt_swapaxes(tensor(ctx, 0, 7, 4), 0, 1),
               *y = smelt_flip(tensor(ctx, 1, 4, 9), NULL, 0);
  out[0] = smelt_mul(join2(x, y, 1), smelt_swapaxes(tensor(ctx, 2, 16, 4), 0, 1));
  return 1;
}

static int one_in_another(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = join2(tensor(ctx, 0, 2, 3), tensor(ctx, 1, 4, 3), 0);
  out[0] = smelt_abs(join2(smelt_add(x, 1.0), tensor(ctx, 2, 6, 3), 1));
  return 1;
}

/* What depends on its place stays a kernel of its own. */
static int places(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = smelt_arange(ctx, 0, 6, 1, SMELT_F32), *y = smelt_arange(ctx, 5, 0, -1, SMELT_F32);
  out[0] = smelt_mul(join2(x, y, 0), smelt_arange(ctx, 1, 12, 1, SMELT_F32));
  return 1;
}

static int halves(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = smelt_exp(smelt_astype(tensor(ctx, 0, 2, 3), SMELT_F16));
  smelt_tensor *y = smelt_astype(tensor(ctx, 1, 4, 3), SMELT_F16);
  out[0] = smelt_astype(smelt_mul(join2(x, y, 0), 3), SMELT_F32);
  return 1;
}

static int twelve(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *list[12];
  for (int i = 0; i < 12; i++) list[i] = smelt_add(tensor(ctx, i, 2, 1 + i % 3), 0.5 + i);
  out[0] = smelt_concat(list, 12, 1);
  return 1;
}

static const struct {
  program *run;
  uint64_t launches, read, written;
} expectations[] = {
    {alone, 1, 72, 72},
    {inner_axis, 1, 480, 480},
    {before, 1, 72 + 12, 72},
    {behind, 1, 400 + 400 + 80 + 2 * 20, 400},
    {both_wanted, 1, 72, 144},
    {beside, 1, 144, 72},
    {the_same_twice, 1, 72, 72},
    {an_operand_behind, 1, 12 + 48 + 12, 60},
    {an_operand_wanted, 2, 24 + 72, 24 + 72},
    {nothing_in_one, 1, 96, 48},
    {nothing_at_all, 0, 0, 0},
    {views, 1, 2L * 256, 256},
    {one_in_another, 2, 72 + 144, 72 + 144},
    {places, 4, 44 + 44, 24 + 20 + 44 + 44},
    {halves, 1, 72, 72},
};

/* What the program has counted until its values are read. */
static smelt_counters run(const smelt_context_desc *desc, program *function) {
  smelt_context *ctx = open_context_with(desc), *ref = open_device("ref");
  smelt_tensor *out[MOST_RESULTS], *expected[MOST_RESULTS];
  smelt_error err;
  int n = function(ctx, out);
  CHECK_I64(function(ref, expected), n);
  CHECK_OK(smelt_sync(ctx, &err), err);
  smelt_counters counters = counters_of(ctx);
  for (int i = 0; i < n; i++) check_same_values(out[i], expected[i]);
  close_context(ctx);
  close_context(ref);
  return counters;
}

TEST(launches_bytes_and_values) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.mode = SMELT_MODE_STRICT; /* halves keep their bits */
  for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
    smelt_counters c = run(&desc, expectations[i].run);
    CHECK_I64(c.launches, expectations[i].launches);
    CHECK_I64(c.bytes_read, expectations[i].read);
    CHECK_I64(c.bytes_written, expectations[i].written);
  }
}

TEST(one_by_one) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.fusion = SMELT_OFF;
  desc.mode = SMELT_MODE_STRICT;
  for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++)
    (void)run(&desc, expectations[i].run);
}

/* More operands than a record has become several records: four, and one of them. */
TEST(many_operands) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  CHECK_I64(run(&desc, twelve).launches, 5);
}

TEST_MAIN(CASE(launches_bytes_and_values), CASE(one_by_one), CASE(many_operands))
