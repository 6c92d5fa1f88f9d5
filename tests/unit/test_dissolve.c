/* SPDX-License-Identifier: Apache-2.0
 *
 * Creations and conversions that are done again by their readers: what is launched, read
 * and written, and that values are those of the device ref. */
#include <stdlib.h>

#include "api_fixture.h"

static smelt_tensor *matrix(smelt_context *ctx) {
  float values[6] = {1, -2, 3, -4, 5, -6};
  return smelt_from_host(ctx, SMELT_F32, DIMS(2, 3), values);
}

static smelt_tensor *row(smelt_context *ctx) {
  return smelt_from_host(ctx, SMELT_I32, DIMS(3), (int32_t[]){10, 20, 30});
}

/* Programs: results in `out`, how many is the answer. */
typedef int program(smelt_context *ctx, smelt_tensor **out);

static int creation(smelt_context *ctx, smelt_tensor **out) {
  out[0] = smelt_add(matrix(ctx), smelt_full(ctx, 2.5, SMELT_F32, DIMS(3)));
  return 1;
}

static int conversion(smelt_context *ctx, smelt_tensor **out) {
  out[0] = smelt_mul(matrix(ctx), smelt_astype(row(ctx), SMELT_F32));
  return 1;
}

/* Promotion inserts conversions. */
static int promotion(smelt_context *ctx, smelt_tensor **out) {
  out[0] = smelt_mul(matrix(ctx), smelt_astype(row(ctx), SMELT_F64));
  return 1;
}

static int chain_of_conversions(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *t = smelt_zeros(ctx, SMELT_I8, DIMS(3));
  t = smelt_astype(smelt_positive(smelt_astype(t, SMELT_I16)), SMELT_F32);
  out[0] = smelt_exp(smelt_add(matrix(ctx), t));
  return 1;
}

/* What is wanted itself is computed as ever. */
static int wanted(smelt_context *ctx, smelt_tensor **out) {
  out[0] = smelt_astype(row(ctx), SMELT_F32);
  out[1] = smelt_mul(matrix(ctx), smelt_ref(out[0]));
  return 2;
}

/* A view needs its operand's memory. */
static int under_a_view(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *t = smelt_flip(smelt_astype(row(ctx), SMELT_F32), NULL, 0);
  out[0] = smelt_mul(matrix(ctx), t);
  return 1;
}

/* Two kernels of different shapes. */
static int two_readers(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *t = smelt_astype(row(ctx), SMELT_F32);
  out[0] = smelt_mul(matrix(ctx), smelt_ref(t));
  out[1] = smelt_exp(t);
  return 2;
}

/* Reading f64 four times costs more than writing and reading f16. */
static int narrow(smelt_context *ctx, smelt_tensor **out) {
  double values[3] = {1, 2, 3};
  smelt_tensor *t = smelt_astype(smelt_from_host(ctx, SMELT_F64, DIMS(3), values), SMELT_F16);
  for (int i = 0; i < 4; i++) {
    smelt_tensor *other = smelt_full(ctx, i, SMELT_F16, DIMS(2 + i, 3));
    out[i] = smelt_mul(smelt_sin(other), i < 3 ? smelt_ref(t) : t);
  }
  return 4;
}

typedef struct expectation {
  program *run;
  int64_t launches, read, written; /* bytes */
} expectation;

static const expectation expectations[] = {
    {creation, 1, 24, 24},
    {conversion, 1, 36, 24},
    {promotion, 1, 36, 48},
    {chain_of_conversions, 1, 24, 24},
    {wanted, 2, 12 + 36, 12 + 24},
    {under_a_view, 2, 12 + 36, 12 + 24},
    {two_readers, 2, 36 + 12, 24 + 12},
    {narrow, 5, 24 + 4 * 6, 6 + 6 * (2 + 3 + 4 + 5)},
};

static void check_expectation(const expectation *e) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.mode = SMELT_MODE_STRICT; /* halves keep their bits */
  smelt_context *cpu = open_context_with(&desc), *ref = open_device("ref");
  smelt_tensor *out[4], *expected[4];
  smelt_error err;
  int n = e->run(cpu, out);
  CHECK_I64(e->run(ref, expected), n);
  CHECK_OK(smelt_sync(cpu, &err), err);
  smelt_counters c = counters_of(cpu);
  CHECK_I64(c.launches, e->launches);
  CHECK_I64(c.bytes_read, e->read);
  CHECK_I64(c.bytes_written, e->written);
  for (int i = 0; i < n; i++) check_same_values(out[i], expected[i]);
  close_context(cpu);
  close_context(ref);
}

TEST(launches_bytes_and_values) {
  for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++)
    check_expectation(&expectations[i]);
}

/* What dissolves counts for no limit, one that was set included. */
TEST(with_a_limit) {
  for (int64_t max_ops = 1; max_ops <= 10; max_ops += 9) {
    smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
    desc.max_ops = max_ops;
    smelt_context *ctx = open_context_with(&desc);
    smelt_tensor *out[4];
    smelt_error err;
    CHECK_I64(creation(ctx, out), 1);
    CHECK_OK(smelt_sync(ctx, &err), err);
    CHECK_I64(counters_of(ctx).launches, 1);
    smelt_drop(out[0]);
    close_context(ctx);
  }
}

/* Long chains of nothing but conversions. */
TEST(many_conversions) {
  smelt_context *ctx = open_context();
  smelt_tensor *t = row(ctx);
  for (int i = 0; i < 400; i++) t = smelt_astype(t, i % 2 ? SMELT_I32 : SMELT_I64);
  t = smelt_add(t, smelt_zeros(ctx, SMELT_I32, DIMS(2, 3)));
  smelt_error err;
  int32_t values[6];
  CHECK_OK(smelt_into_host(t, SMELT_I32, values, sizeof values, &err), err);
  for (int i = 0; i < 6; i++) CHECK_I64(values[i], 10 * (i % 3 + 1));
  CHECK_I64(counters_of(ctx).launches, 1);
  close_context(ctx);
}

TEST_MAIN(CASE(launches_bytes_and_values), CASE(with_a_limit), CASE(many_conversions))
