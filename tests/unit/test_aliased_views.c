/* SPDX-License-Identifier: Apache-2.0
 *
 * Results that could be written over memory that a view or a selection still looks at:
 * small programs on the processor (fused, unfused, interpreted) against the reference,
 * with how many results are written over operands. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include "api_fixture.h"

enum { N = 300, MOST = 4 * N };

/* [1, 2, ..., N] in memory of its own, alone. */
static smelt_tensor *line(smelt_context *ctx) {
  float items[N];
  for (int i = 0; i < N; i++) items[i] = (float)i + 1;
  return smelt_from_host(ctx, SMELT_F32, DIMS(N), items);
}

static smelt_tensor *numbers(smelt_context *ctx) {
  int64_t items[N];
  for (int64_t i = 0; i < N; i++) items[i] = (7 * i + 3) % N - (i % 3 == 0 ? N : 0);
  return smelt_from_host(ctx, SMELT_I64, DIMS(N), items);
}

static smelt_tensor *part(smelt_tensor *x, int64_t start, int64_t stop, int64_t step) {
  smelt_range range = {start, stop, step};
  return smelt_slice(x, &range, 1);
}

static smelt_tensor *both(smelt_tensor *x, smelt_tensor *y) {
  return smelt_concat((smelt_tensor *[]){x, y}, 2, 0);
}

/* Computes it now. */
static smelt_tensor *made(smelt_tensor *t) {
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){t}, 1, NULL), SMELT_OK);
  return t;
}

/* --- Programs ---------------------------------------------------------------------------------- */

static smelt_tensor *plus_its_flip(smelt_context *ctx) {
  smelt_tensor *x = line(ctx), *flipped = smelt_flip(smelt_ref(x), NULL, 0);
  return smelt_add(x, flipped);
}

/* With the flip recorded and run before. */
static smelt_tensor *plus_its_computed_flip(smelt_context *ctx) {
  smelt_tensor *x = line(ctx), *flipped = made(smelt_flip(smelt_ref(x), NULL, 0));
  return smelt_sub(x, flipped);
}

static smelt_tensor *overlapping_slices(smelt_context *ctx) {
  smelt_tensor *x = line(ctx), *left = part(smelt_ref(x), 0, -1, 1);
  return smelt_mul(left, part(x, 1, N, 1));
}

/* The operand's own elements and shifted ones. */
static smelt_tensor *shifted_into_itself(smelt_context *ctx) {
  smelt_tensor *x = line(ctx), *shifted = both(part(smelt_ref(x), 1, N, 1), part(smelt_ref(x), 0, 1, 1));
  return smelt_sub(x, shifted);
}

static smelt_tensor *view_kept(smelt_context *ctx) {
  smelt_tensor *x = line(ctx), *view = part(smelt_ref(x), 10, 200, 3);
  smelt_tensor *y = smelt_mul(smelt_add(x, 1), 2);
  return both(view, y);
}

/* A copy of a part is made only after what could have been written over it. */
static smelt_tensor *view_read_later(smelt_context *ctx) {
  smelt_tensor *x = made(smelt_mul(line(ctx), 3)), *view = smelt_flip(smelt_ref(x), NULL, 0);
  smelt_tensor *y = made(smelt_exp2(smelt_mul(x, 0.01)));
  return smelt_add(smelt_mul(view, 2), y);
}

static smelt_tensor *slice_of_what_dies(smelt_context *ctx) {
  smelt_tensor *view = part(smelt_mul(line(ctx), 2), 5, 250, 2);
  for (int i = 0; i < 3; i++) smelt_drop(made(smelt_add(line(ctx), i)));
  return smelt_add(view, 1);
}

static smelt_tensor *broadcast_operand(smelt_context *ctx) {
  smelt_tensor *wide = smelt_broadcast_to(line(ctx), DIMS(2, N));
  return smelt_add(wide, 1);
}

static smelt_tensor *views_of_views(smelt_context *ctx) {
  smelt_tensor *x = line(ctx), *back = part(smelt_ref(x), N - 1, -N - 1, -2);
  smelt_tensor *again = part(back, N / 2 - 1, -N, -1), *other = part(x, 1, N, 2);
  return smelt_sub(smelt_mul(again, 3), other);
}

static float borrowed[N];

static smelt_tensor *borrowed_memory(smelt_context *ctx) {
  for (int i = 0; i < N; i++) borrowed[i] = (float)i;
  smelt_tensor *x = smelt_wrap(ctx, SMELT_F32, DIMS(N), borrowed, NULL, NULL);
  smelt_tensor *y = made(smelt_add(smelt_flip(x, NULL, 0), 1));
  for (int i = 0; i < N; i++) CHECK_F64(borrowed[i], i);
  return y;
}

static smelt_tensor *transposed_and_itself(smelt_context *ctx) {
  smelt_tensor *x = smelt_reshape(line(ctx), DIMS(10, 30));
  smelt_tensor *square = smelt_reshape(part(smelt_reshape(x, DIMS(N)), 0, 256, 1), DIMS(16, 16));
  smelt_tensor *own = made(smelt_mul(square, 1));
  return smelt_sub(smelt_ref(own), smelt_permute_dims(own, NULL, 0));
}

/* What is selected from is read anywhere, ... */
static smelt_tensor *plus_some_of_it(smelt_context *ctx) {
  smelt_tensor *x = line(ctx), *some = smelt_take(smelt_ref(x), numbers(ctx), 0);
  return smelt_add(x, some);
}

/* ... also where it says the places, ... */
static smelt_tensor *of_itself(smelt_context *ctx) {
  smelt_tensor *x = numbers(ctx);
  return smelt_take(smelt_ref(x), x, 0);
}

/* ... and also in a kernel's other block. */
static smelt_tensor *beside_some_of_it(smelt_context *ctx) {
  smelt_tensor *x = line(ctx), *doubled = smelt_mul(smelt_ref(x), 2);
  smelt_tensor *some = smelt_take(x, numbers(ctx), 0);
  return both(doubled, smelt_mul(some, 3));
}

/* Indices are read at their own places. */
static smelt_tensor *over_the_indices(smelt_context *ctx) {
  smelt_tensor *table = numbers(ctx), *indices = smelt_add(numbers(ctx), 5);
  return smelt_take(table, made(indices), 0);
}

static smelt_tensor *parts_of_itself(smelt_context *ctx) {
  smelt_tensor *x = made(smelt_add(line(ctx), 1)), *back = smelt_flip(smelt_ref(x), NULL, 0);
  return smelt_add(both(smelt_ref(x), back), both(x, line(ctx)));
}

typedef struct hazard {
  smelt_tensor *(*make)(smelt_context *ctx);
  int64_t writes; /* results written over operands, fused */
} hazard;

static const hazard hazards[] = {
    {plus_its_flip, 0},  {plus_its_computed_flip, 0}, {overlapping_slices, 0},    {shifted_into_itself, 0},
    {view_kept, 0},      {view_read_later, 2},        {slice_of_what_dies, 4},    {broadcast_operand, 0},
    {views_of_views, 0}, {borrowed_memory, 0},        {transposed_and_itself, 0}, {plus_some_of_it, 0},
    {of_itself, 0},      {beside_some_of_it, 0},      {over_the_indices, 2},      {parts_of_itself, 1},
};

/* --- Ways to run them ----------------------------------------------------------------------------- */

typedef struct outcome {
  int64_t n, writes;
  double items[MOST];
} outcome;

static outcome run(const hazard *h, const char *device, smelt_switch fusion) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  smelt_error err;
  outcome o;
  desc.device = device;
  desc.fusion = fusion;
  smelt_context *ctx = open_context_with(&desc);
  smelt_tensor *t = made(h->make(ctx));
  o.writes = (int64_t)counters_of(ctx).in_place_writes;
  t = smelt_astype(t, SMELT_F64);
  o.n = smelt_count(t);
  CHECK(o.n <= MOST);
  CHECK_OK(smelt_into_host(t, SMELT_F64, o.items, (size_t)o.n * sizeof *o.items, &err), err);
  close_context(ctx);
  return o;
}

static void check_hazard(const hazard *h) {
  outcome right = run(h, "ref", SMELT_ON);
  for (int way = 0; way < tries(4, 2); way++) {
    CHECK_I64(way & 2 ? setenv("SMELT_LLVM", "0", 1) : unsetenv("SMELT_LLVM"), 0);
    outcome o = run(h, NULL, way & 1 ? SMELT_OFF : SMELT_ON);
    CHECK_I64(o.n, right.n);
    for (int64_t i = 0; i < o.n; i++) CHECK_F64(o.items[i], right.items[i]);
    if (!(way & 1)) CHECK_I64(o.writes, h->writes);
  }
}

TEST(memory_that_is_still_looked_at) {
  for (size_t i = 0; i < sizeof hazards / sizeof hazards[0]; i++) check_hazard(&hazards[i]);
}

TEST_MAIN(CASE(memory_that_is_still_looked_at))
