/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that iterate: the device cpu, which rolls them, gives the bits of the device
 * ref, which does one operation after the other; and the number of iterations makes no
 * new kernels. */
#include <stdio.h>

#include "api_fixture.h"

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static int below(uint64_t *state, int n) { return (int)(next_random(state) % (uint64_t)n); }

/* --- Random loops ----------------------------------------------------------------------- */

enum { BODY = 7, CARRIED = 3, INVARIANTS = 3, KEPT = 4, ELEMENTS = 3 * 37 };

/* One operation of a body: its operands are carried values, invariants, results of the
 * body before it, or a scalar. */
typedef struct body_op {
  int code, x, y;
} body_op;

typedef struct loop_program {
  smelt_dtype dtype;
  int trips, n_body, n_carried, before, behind;
  int functions; /* with each operation before and behind: many make a kernel of segments */
  body_op body[BODY];
  int result[CARRIED]; /* which body result each carried value becomes */
  int shape[INVARIANTS + CARRIED];
  int kept_trip, kept_op; /* a result that lives on */
} loop_program;

static loop_program random_program(uint64_t seed) {
  static const smelt_dtype dtypes[] = {SMELT_F32, SMELT_F32, SMELT_F64, SMELT_I32,
                                       SMELT_U8,  SMELT_F16, SMELT_BF16};
  uint64_t state = seed;
  loop_program p = {.dtype = dtypes[below(&state, 7)]};
  p.trips = 1 + below(&state, below(&state, 4) ? 12 : 60);
  bool floating = p.dtype == SMELT_F32 || p.dtype == SMELT_F64;
  p.functions = floating && !below(&state, 3) ? 20 : 0;
  p.n_body = 1 + below(&state, BODY);
  p.n_carried = 1 + below(&state, CARRIED);
  p.before = below(&state, 3);
  p.behind = below(&state, 3);
  for (int i = 0; i < p.n_body; i++) {
    int choices = CARRIED + INVARIANTS + i;
    p.body[i] = (body_op){below(&state, 6), below(&state, choices), below(&state, choices + 2)};
  }
  p.body[0].x = 0;
  for (int c = 0; c < p.n_carried; c++) p.result[c] = p.n_body - 1 - below(&state, c ? p.n_body : 1);
  for (int i = 0; i < INVARIANTS + CARRIED; i++) p.shape[i] = below(&state, 4);
  p.kept_trip = below(&state, 3) ? -1 : below(&state, p.trips);
  p.kept_op = below(&state, p.n_body);
  return p;
}

/* [3,37], [37], [3,1] or [1]. */
static smelt_tensor *operand(smelt_context *ctx, const loop_program *p, int which) {
  static const int ranks[] = {2, 1, 2, 1};
  static const int64_t dims[][2] = {{3, 37}, {37, 0}, {3, 1}, {1, 0}};
  int shape = which == CARRIED ? 0 : p->shape[which];
  int64_t n = dims[shape][0] * (ranks[shape] == 2 ? dims[shape][1] : 1);
  float values[ELEMENTS];
  for (int64_t i = 0; i < n; i++) values[i] = (float)((i * 7 + (int64_t)which * 3) % 11) / 8;
  smelt_tensor *t = smelt_from_host(ctx, SMELT_F32, ranks[shape], dims[shape], values);
  return smelt_astype(t, p->dtype);
}

static smelt_tensor *apply(int code, smelt_tensor *x, smelt_tensor *y) {
  switch (code) {
    case 0:
      return smelt_add(x, y);
    case 1:
      return smelt_mul(x, y);
    case 2:
      return smelt_maximum(x, y);
    case 3:
      return smelt_sub(y, x);
    case 4:
      return smelt_where(smelt_less(smelt_ref(x), smelt_ref(y)), y, x);
    default:
      return smelt_minimum(smelt_mul(x, 3), y);
  }
}

/* One trip: `values` holds carried values, invariants, then results. */
static void run_trip(const loop_program *p, int trip, smelt_tensor **values) {
  for (int i = 0; i < p->n_body; i++) {
    const body_op *o = &p->body[i];
    smelt_tensor *x = smelt_ref(values[o->x]);
    bool is_scalar = o->y >= CARRIED + INVARIANTS + i;
    smelt_tensor *y = is_scalar ? smelt_scalar_i64(1 + (trip + o->y) % 5) : smelt_ref(values[o->y]);
    values[CARRIED + INVARIANTS + i] = apply(o->code, x, y);
  }
}

static void end_trip(const loop_program *p, smelt_tensor **values) {
  smelt_tensor *carried[CARRIED];
  smelt_tensor **results = values + CARRIED + INVARIANTS;
  for (int c = 0; c < p->n_carried; c++) carried[c] = smelt_ref(results[p->result[c]]);
  for (int c = 0; c < p->n_carried; c++) {
    smelt_drop(values[c]);
    values[c] = carried[c];
  }
  for (int i = 0; i < p->n_body; i++) smelt_drop(results[i]);
}

typedef struct outcome {
  unsigned char bytes[CARRIED + 1][ELEMENTS * 8];
  int64_t count[CARRIED + 1];
} outcome;

static void read_result(smelt_tensor *t, smelt_dtype dtype, outcome *out, int which) {
  int64_t dims[SMELT_MAX_RANK], n = 1;
  smelt_error err;
  int rank = smelt_dims(t, dims);
  for (int i = 0; i < rank; i++) n *= dims[i];
  CHECK(n <= ELEMENTS);
  out->count[which] = n;
  CHECK_OK(smelt_into_host(t, dtype, out->bytes[which], (size_t)n * smelt_dtype_size(dtype), &err), err);
}

/* In an order without repetition, which would make a loop of them. */
static smelt_tensor *many_functions(const loop_program *p, smelt_tensor *x) {
  uint64_t state = (uint64_t)p->n_body;
  for (int i = 0; i < p->functions; i++) x = below(&state, 2) ? smelt_tanh(x) : smelt_sin(x);
  return x;
}

static void run_program(smelt_context *ctx, const loop_program *p, outcome *out) {
  smelt_tensor *values[CARRIED + INVARIANTS + BODY], *kept = NULL;
  for (int i = 0; i < CARRIED + INVARIANTS; i++) values[i] = operand(ctx, p, i);
  for (int i = 0; i < p->before; i++)
    values[0] = many_functions(p, smelt_add(values[0], smelt_ref(values[CARRIED])));
  for (int trip = 0; trip < p->trips; trip++) {
    run_trip(p, trip, values);
    if (trip == p->kept_trip) kept = smelt_ref(values[CARRIED + INVARIANTS + p->kept_op]);
    end_trip(p, values);
  }
  for (int i = 0; i < p->behind; i++)
    values[0] = smelt_mul(many_functions(p, values[0]), smelt_ref(values[1]));
  for (int i = 0; i < CARRIED; i++) read_result(values[i], p->dtype, out, i);
  if (kept) read_result(kept, p->dtype, out, CARRIED);
  for (int i = CARRIED; i < CARRIED + INVARIANTS; i++) smelt_drop(values[i]);
}

static void compare(const outcome *a, const outcome *b, smelt_dtype dtype, uint64_t seed) {
  for (int i = 0; i <= CARRIED; i++) {
    bool same =
        a->count[i] == b->count[i] && first_difference(dtype, a->bytes[i], b->bytes[i], a->count[i]) < 0;
    if (!same) fprintf(stderr, "seed %llu, result %d\n", (unsigned long long)seed, i);
    CHECK(same);
  }
}

TEST(random_loops) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.mode = SMELT_MODE_STRICT;
  smelt_context *cpu = open_context_with(&desc);
  desc.device = "ref";
  smelt_context *ref = open_context_with(&desc);
  for (int seed = 1; seed <= tries(300, 20); seed++) {
    static outcome a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    loop_program p = random_program((uint64_t)seed);
    run_program(cpu, &p, &a);
    run_program(ref, &p, &b);
    compare(&a, &b, p.dtype, (uint64_t)seed);
  }
  close_context(cpu);
  close_context(ref);
}

/* --- Kernels ---------------------------------------------------------------------------- */

/* x = tanh(x*s*w) - b*x, five operations a trip, over `n` elements. */
static void run_loop(smelt_context *ctx, int trips, int64_t n) {
  smelt_tensor *x = smelt_ones(ctx, SMELT_F32, DIMS(n)), *w = smelt_full(ctx, 0.5, SMELT_F32, DIMS(n));
  smelt_error err;
  CHECK_OK(smelt_eval((const smelt_tensor *[]){x, w}, 2, &err), err);
  for (int i = 0; i < trips; i++) {
    smelt_tensor *t = smelt_tanh(smelt_mul(smelt_mul(smelt_ref(x), 1.0 + i), smelt_ref(w)));
    x = smelt_sub(t, smelt_mul(x, 0.1));
  }
  CHECK_OK(smelt_eval((const smelt_tensor *[]){x}, 1, &err), err);
  smelt_drop(x);
  smelt_drop(w);
}

TEST(trip_counts_make_no_kernels) {
  smelt_context *ctx = open_context();
  run_loop(ctx, 0, 100);
  uint64_t before = counters_of(ctx).kernels_compiled;
  for (int k = 0; k < 100; k++) run_loop(ctx, 1 + k * 37 % 100, 100);
  CHECK_I64(counters_of(ctx).kernels_compiled - before, 3); /* one trip, two trips, all others */
  smelt_counters first = counters_of(ctx);
  for (int k = 0; k < 100; k++) run_loop(ctx, 1 + k * 73 % 100, 100);
  CHECK_I64(counters_of(ctx).kernels_compiled, first.kernels_compiled);
  CHECK_I64(counters_of(ctx).explorations, first.explorations);
  close_context(ctx);
}

TEST_MAIN(CASE(random_loops), CASE(trip_counts_make_no_kernels))
