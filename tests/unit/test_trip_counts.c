/* SPDX-License-Identifier: Apache-2.0
 *
 * A loop of five operations, run so and so many times between two reads: what is
 * planned and compiled for all trip counts from 1 to 100, in random order, and that
 * nothing is the second time. */
#include "api_fixture.h"

/* Kernels that are compiled for all trip counts together, at most: loops are not rolled. A
 * kernel takes up to 256 operations, so there is one for each trip count up to 51; above,
 * there is one of 256 operations that all share, and one for what each has left. */
enum { FIRST_PASS_KERNELS = 51 + 1 + 49 };

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

static smelt_tensor *run_loop(smelt_tensor *x, int trips) {
  for (int trip = 0; trip < trips; trip++) {
    x = smelt_add(smelt_mul(x, scale_of(trip)), 1.25);
    x = smelt_sub(smelt_abs(smelt_sub(x, 2.0)), 0.75);
  }
  return x;
}

static float expected(float x, int trips) {
  for (int trip = 0; trip < trips; trip++) {
    x = x * scale_of(trip);
    x = x + 1.25f;
    x = x - 2;
    x = x < 0 ? -x : x;
    x = x - 0.75f;
  }
  return x;
}

static void check_loop(smelt_context *ctx, int trips) {
  float values[ELEMENTS];
  smelt_error err;
  smelt_tensor *x = smelt_arange(ctx, 0, ELEMENTS, 1, SMELT_F32);
  CHECK_OK(smelt_eval((const smelt_tensor *[]){x}, 1, &err), err);
  CHECK_OK(smelt_into_host(run_loop(x, trips), SMELT_F32, values, sizeof values, &err), err);
  for (int i = 0; i < ELEMENTS; i++) CHECK_F64(values[i], expected((float)i, trips));
}

/* What this adds to the counters. */
static smelt_counters run_all(smelt_context *ctx, uint64_t *state) {
  int trips[TRIPS];
  smelt_counters before = counters_of(ctx);
  shuffle(trips, state);
  for (int i = 0; i < TRIPS; i++) check_loop(ctx, trips[i]);
  smelt_counters after = counters_of(ctx);
  after.kernels_compiled -= before.kernels_compiled;
  after.explorations -= before.explorations;
  after.plan_hits -= before.plan_hits;
  after.operations -= before.operations;
  return after;
}

TEST(all_trip_counts_twice) {
  uint64_t state = 5;
  smelt_context *ctx = open_context();
  check_loop(ctx, 0); /* plans and compiles what makes the input */
  smelt_counters first = run_all(ctx, &state);
  CHECK_I64(first.operations, TRIPS + 5 * TRIPS * (TRIPS + 1) / 2);
  CHECK(first.kernels_compiled > 0 && first.kernels_compiled <= FIRST_PASS_KERNELS);
  CHECK(first.explorations > 0 && first.explorations <= TRIPS);
  smelt_counters second = run_all(ctx, &state);
  CHECK_I64(second.kernels_compiled, 0);
  CHECK_I64(second.explorations, 0);
  CHECK_I64(second.plan_hits, 2 * TRIPS);
  close_context(ctx);
}

TEST_MAIN(CASE(all_trip_counts_twice))
