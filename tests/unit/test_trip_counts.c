/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops that are run so and so many times between two reads: what is planned and
 * compiled for all trip counts from 1 to 100, in random order, and that nothing is the
 * second time. */
#include "api_fixture.h"

enum { TRIPS = 100, ELEMENTS = 40 };

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* The numbers 1 to TRIPS in some order. */
static void shuffle(int *trips, uint64_t *state) {
  for (int i = 0; i < TRIPS; i++) trips[i] = i + 1;
  for (int i = TRIPS - 1; i > 0; i--) {
    int at = (int)(next_random(state) % (uint64_t)(i + 1)), trip = trips[i];
    trips[i] = trips[at];
    trips[at] = trip;
  }
}

/* Scalars differ from trip to trip: they are no part of a program. */
static float scale_of(int trip) { return 0.5f + 0.001f * (float)trip; }

/* What is iterated, and the same on one number. */
typedef struct loop {
  smelt_tensor *(*run)(smelt_context *ctx, smelt_tensor *x, int trips);
  float (*expected)(float x, int trips);
  int n_ops;   /* of a trip */
  int kernels; /* that are compiled for all trip counts together, at most */
} loop;

/* Five operations, rolled: one trip, two trips, all others. */
static smelt_tensor *run_scalars(smelt_context *ctx, smelt_tensor *x, int trips) {
  (void)ctx;
  for (int trip = 0; trip < trips; trip++) {
    x = smelt_add(smelt_mul(x, scale_of(trip)), 1.25);
    x = smelt_sub(smelt_abs(smelt_sub(x, 2.0)), 0.75);
  }
  return x;
}

static float expect_scalars(float x, int trips) {
  for (int trip = 0; trip < trips; trip++) {
    x = x * scale_of(trip);
    x = x + 1.25f;
    x = x - 2;
    x = x < 0 ? -x : x;
    x = x - 0.75f;
  }
  return x;
}

static float term_of(int trip) { return (float)(trip % 7) - 3; }

/* Two operations with a new tensor in every trip, cut: 1, 2, 3, and powers of two to 64. */
static smelt_tensor *run_tensors(smelt_context *ctx, smelt_tensor *x, int trips) {
  for (int trip = 0; trip < trips; trip++) {
    float term[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) term[i] = term_of(trip);
    x = smelt_add(smelt_mul(x, scale_of(trip)), smelt_from_host(ctx, SMELT_F32, DIMS(ELEMENTS), term));
  }
  return x;
}

static float expect_tensors(float x, int trips) {
  for (int trip = 0; trip < trips; trip++) {
    x = x * scale_of(trip);
    x = x + term_of(trip);
  }
  return x;
}

static void check_loop(smelt_context *ctx, const loop *l, int trips) {
  float values[ELEMENTS];
  smelt_error err;
  smelt_tensor *x = smelt_arange(ctx, 0, ELEMENTS, 1, SMELT_F32);
  CHECK_OK(smelt_eval((const smelt_tensor *[]){x}, 1, &err), err);
  CHECK_OK(smelt_into_host(l->run(ctx, x, trips), SMELT_F32, values, sizeof values, &err), err);
  for (int i = 0; i < ELEMENTS; i++) CHECK_F64(values[i], l->expected((float)i, trips));
}

/* What this adds to the counters. */
static smelt_counters run_all(smelt_context *ctx, const loop *l, uint64_t *state) {
  int trips[TRIPS];
  smelt_counters before = counters_of(ctx);
  shuffle(trips, state);
  for (int i = 0; i < TRIPS; i++) check_loop(ctx, l, trips[i]);
  smelt_counters after = counters_of(ctx);
  after.kernels_compiled -= before.kernels_compiled;
  after.explorations -= before.explorations;
  after.plan_hits -= before.plan_hits;
  after.operations -= before.operations;
  return after;
}

static void check_all_twice(const loop *l) {
  uint64_t state = 5;
  smelt_context *ctx = open_context();
  check_loop(ctx, l, 0); /* plans and compiles what makes the input */
  smelt_counters first = run_all(ctx, l, &state);
  CHECK_I64(first.operations, TRIPS + l->n_ops * TRIPS * (TRIPS + 1) / 2);
  CHECK(first.kernels_compiled > 0 && first.kernels_compiled <= (uint64_t)l->kernels);
  CHECK(first.explorations > 0 && first.explorations <= TRIPS);
  smelt_counters second = run_all(ctx, l, &state);
  CHECK_I64(second.kernels_compiled, 0);
  CHECK_I64(second.explorations, 0);
  CHECK_I64(second.plan_hits, 2 * TRIPS);
  close_context(ctx);
}

TEST(all_trip_counts_twice) { check_all_twice(&(loop){run_scalars, expect_scalars, 5, 3}); }

TEST(all_trip_counts_with_new_tensors_twice) { check_all_twice(&(loop){run_tensors, expect_tensors, 2, 8}); }

TEST_MAIN(CASE(all_trip_counts_twice), CASE(all_trip_counts_with_new_tensors_twice))
