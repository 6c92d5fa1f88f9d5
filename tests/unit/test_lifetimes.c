/* SPDX-License-Identifier: Apache-2.0
 *
 * How long tensors live that several threads use: who computes, who sees what, and
 * that at the end no reference and no byte is left. Each scenario runs on both kinds
 * of devices, that which runs records and that which runs kernels. The owner is the
 * thread of the test. */
#include "api_fixture.h"
#include "peer.h"

enum { PEERS = 8, TENSORS = 8 };

/* What the steps of a scenario work on. */
typedef struct scene {
  smelt_context *ctx;
  smelt_tensor *t[TENSORS];
  float expected;
  bool unsupported; /* the device cannot do what the scenario is about */
} scene;

static void play(const char *device, void (*scenario)(scene *s)) {
  scene s = {.ctx = open_device(device)};
  scenario(&s);
  close_context(s.ctx);
}

/* A test that plays the scenario on both devices. */
#define SCENARIO(name)               \
  static void name##_with(scene *s); \
  TEST(name) {                       \
    play("ref", name##_with);        \
    play(NULL, name##_with);         \
  }                                  \
  static void name##_with(scene *s)

static smelt_tensor *pair(smelt_context *ctx, float a, float b) {
  return smelt_from_host(ctx, SMELT_F32, DIMS(2), (float[]){a, b});
}

/* Takes the tensor. */
static void check_pair(smelt_tensor *t, float a, float b) {
  float out[2];
  smelt_error err;
  CHECK_OK(smelt_into_host(t, SMELT_F32, out, sizeof out, &err), err);
  CHECK_F64(out[0], a);
  CHECK_F64(out[1], b);
}

static void sync_here(void *user) {
  smelt_error err;
  CHECK_OK(smelt_sync(((scene *)user)->ctx, &err), err);
}

static uint64_t segments_of(const scene *s) { return counters_of(s->ctx).segments; }

/* --- One thread ------------------------------------------------------------------------ */

SCENARIO(single_stream_drop_frees_all_handles) {
  check_pair(smelt_add(pair(s->ctx, 1, 2), pair(s->ctx, 3, 4)), 4, 6);
  CHECK_I64(counters_of(s->ctx).live_references, 0);
  CHECK_I64(counters_of(s->ctx).live_bytes, 0);
}

SCENARIO(into_data_releases_source_handle) {
  check_pair(pair(s->ctx, 1, 2), 1, 2);
  CHECK_I64(counters_of(s->ctx).live_bytes, 0);
}

SCENARIO(clone_then_drop_frees_handle_once) {
  smelt_tensor *a = pair(s->ctx, 1, 2), *b = smelt_ref(a);
  sync_here(s);
  smelt_drop(a);
  CHECK_I64(counters_of(s->ctx).live_bytes, 8);
  smelt_drop(b);
  CHECK_I64(counters_of(s->ctx).live_bytes, 0);
}

/* --- Two ---------------------------------------------------------------------------------- */

/* t[0], which is kept, times 2. */
static void multiply_and_read(void *user) {
  scene *s = user;
  smelt_tensor *y = smelt_mul(smelt_ref(s->t[0]), 2.0);
  check_pair(y, 2 * s->expected, 4 * s->expected);
}

SCENARIO(cross_stream_shared_tensor_released) {
  peer p;
  peer_open(&p);
  s->t[0] = smelt_add(pair(s->ctx, 1, 3), 1.0);
  s->expected = 2;
  CHECK_STATUS(smelt_share(s->t[0], NULL), SMELT_OK);
  peer_do(&p, multiply_and_read, s);
  smelt_drop(s->t[0]);
  peer_do(&p, sync_here, s);
  peer_close(&p);
}

/* t[1] = t[0] * 2, pending; t[0] is kept. */
static void multiply(void *user) {
  scene *s = user;
  s->t[1] = smelt_mul(smelt_ref(s->t[0]), 2.0);
}

static void read_product(void *user) {
  scene *s = user;
  check_pair(s->t[1], 2 * s->expected, 4 * s->expected);
}

SCENARIO(owner_drops_before_peer_finishes) {
  peer p;
  peer_open(&p);
  s->t[0] = pair(s->ctx, 1, 2);
  s->expected = 1;
  peer_do(&p, multiply, s);
  smelt_drop(s->t[0]);
  sync_here(s);
  peer_do(&p, read_product, s);
  peer_close(&p);
}

SCENARIO(peer_closes_before_owner_drops) {
  peer p;
  peer_open(&p);
  s->t[0] = pair(s->ctx, 1, 2);
  s->expected = 1;
  peer_do(&p, multiply_and_read, s);
  peer_close(&p);
  CHECK_I64(counters_of(s->ctx).live_bytes, 8);
  smelt_drop(s->t[0]);
}

SCENARIO(cross_stream_loop_no_leak) {
  peer p;
  peer_open(&p);
  for (int round = 0; round < 8; round++) {
    s->expected = (float)round;
    s->t[0] = smelt_mul(pair(s->ctx, 1, 2), (double)round);
    peer_do(&p, multiply_and_read, s);
    smelt_drop(s->t[0]);
    CHECK_I64(counters_of(s->ctx).live_references, 0);
  }
  peer_close(&p);
}

SCENARIO(share_computed_tensor_flushes_pending_ops) {
  peer p;
  peer_open(&p);
  s->t[0] = smelt_mul(smelt_add(pair(s->ctx, 1, 4), 2.0), 1.0);
  smelt_tensor *other = smelt_mul(pair(s->ctx, 1, 1), 5.0);
  s->expected = 3;
  CHECK_I64(segments_of(s), 0);
  peer_do(&p, multiply_and_read, s); /* 6 */
  CHECK_I64(segments_of(s), 2);      /* all of the owner's, and the peer's */
  check_pair(other, 5, 5);
  CHECK_I64(segments_of(s), 2);
  smelt_drop(s->t[0]);
  peer_close(&p);
}

static void drop_second(void *user) { smelt_drop(((scene *)user)->t[1]); }

SCENARIO(share_then_drop_unused_clone) {
  peer p;
  peer_open(&p);
  s->t[0] = smelt_add(pair(s->ctx, 1, 2), 1.0);
  s->t[1] = smelt_ref(s->t[0]);
  peer_do(&p, drop_second, s);
  CHECK_I64(segments_of(s), 0); /* a drop ends nothing */
  check_pair(s->t[0], 2, 3);
  peer_close(&p);
}

/* The last reference goes on another thread while the tensor is pending here: it is computed
 * all the same, because what others do when must not decide what is. */
SCENARIO(a_foreign_drop_of_a_pending_tensor_comes_after_the_segment) {
  peer p;
  peer_open(&p);
  s->t[1] = smelt_add(pair(s->ctx, 1, 2), 1.0);
  smelt_tensor *y = smelt_mul(smelt_ref(s->t[1]), 2.0);
  peer_do(&p, drop_second, s);
  check_pair(y, 4, 6);
  CHECK_I64(counters_of(s->ctx).bytes_written, 16); /* both, also where one kernel does it */
  CHECK_I64(counters_of(s->ctx).live_bytes, 0);
  peer_close(&p);
}

SCENARIO(owner_keeps_using_after_share) {
  peer p;
  peer_open(&p);
  s->t[0] = smelt_add(pair(s->ctx, 0, 1), 1.0);
  s->expected = 1;
  peer_do(&p, multiply, s);
  smelt_tensor *mine = smelt_add(s->t[0], 10.0);
  peer_do(&p, read_product, s);
  check_pair(mine, 11, 12);
  peer_close(&p);
}

static void add_both(void *user) {
  scene *s = user;
  check_pair(smelt_add(s->t[0], s->t[1]), 4, 6);
}

SCENARIO(multiple_distinct_shared_tensors_same_pair) {
  peer p;
  peer_open(&p);
  s->t[0] = smelt_mul(pair(s->ctx, 1, 2), 1.0);
  s->t[1] = pair(s->ctx, 3, 4);
  peer_do(&p, add_both, s);
  peer_close(&p);
}

static void double_integers(void *user) {
  scene *s = user;
  int32_t out[2];
  smelt_error err;
  CHECK_OK(smelt_into_host(smelt_mul(smelt_ref(s->t[0]), 2), SMELT_I32, out, sizeof out, &err), err);
  CHECK_I64(out[1], 14);
}

SCENARIO(int_tensor_cross_stream_released) {
  peer p;
  peer_open(&p);
  s->t[0] = smelt_add(smelt_from_host(s->ctx, SMELT_I32, DIMS(2), (int32_t[]){5, 6}), 1);
  peer_do(&p, double_integers, s);
  smelt_drop(s->t[0]);
  peer_close(&p);
}

static void negate_bools(void *user) {
  scene *s = user;
  bool out[2];
  smelt_error err;
  CHECK_OK(smelt_into_host(smelt_logical_not(smelt_ref(s->t[0])), SMELT_BOOL, out, sizeof out, &err), err);
  CHECK(!out[0] && out[1]);
}

SCENARIO(bool_tensor_cross_stream_released) {
  peer p;
  peer_open(&p);
  s->t[0] = smelt_less(pair(s->ctx, 1, 9), 5.0);
  peer_do(&p, negate_bools, s);
  smelt_drop(s->t[0]);
  peer_close(&p);
}

static void chain_of_three(void *user) {
  scene *s = user;
  check_pair(smelt_sub(smelt_mul(smelt_add(smelt_ref(s->t[0]), 1.0), 2.0), 3.0), 1, 3);
}

SCENARIO(peer_runs_chain_on_shared_tensor) {
  peer p;
  peer_open(&p);
  s->t[0] = pair(s->ctx, 1, 2);
  peer_do(&p, chain_of_three, s);
  smelt_drop(s->t[0]);
  peer_close(&p);
}

SCENARIO(share_round_trip_owner_peer_owner) {
  peer p;
  peer_open(&p);
  s->t[0] = smelt_add(pair(s->ctx, 0, 1), 1.0);
  peer_do(&p, multiply, s);
  check_pair(smelt_add(s->t[0], s->t[1]), 3, 6);
  peer_close(&p);
}

static void consume_first(void *user) {
  scene *s = user;
  check_pair(s->t[0], 2, 3);
}

SCENARIO(into_data_cross_stream_no_explicit_clone) {
  peer p;
  peer_open(&p);
  s->t[0] = smelt_add(pair(s->ctx, 1, 2), 1.0);
  peer_do(&p, consume_first, s);
  peer_close(&p);
}

static void use_three_times(void *user) {
  scene *s = user;
  for (int i = 1; i <= 3; i++) s->t[i] = smelt_mul(smelt_ref(s->t[0]), (double)i);
  check_pair(smelt_add(smelt_add(s->t[1], s->t[2]), s->t[3]), 12, 18);
}

SCENARIO(repeated_share_same_source_same_peer) {
  peer p;
  peer_open(&p);
  s->t[0] = smelt_add(pair(s->ctx, 1, 2), 1.0);
  peer_do(&p, use_three_times, s);
  CHECK_I64(segments_of(s), 2);
  smelt_drop(s->t[0]);
  peer_close(&p);
}

static void add_half(void *user) {
  scene *s = user;
  check_pair(smelt_add(smelt_ref(s->t[0]), 0.5), 10.5f, 20.5f);
}

SCENARIO(peer_observes_owner_values_after_share) {
  peer p;
  peer_open(&p);
  s->t[0] = smelt_mul(pair(s->ctx, 1, 2), 10.0);
  peer_do(&p, add_half, s);
  check_pair(s->t[0], 10, 20);
  peer_close(&p);
}

static void double_slice(void *user) {
  scene *s = user;
  float out[4];
  smelt_error err;
  smelt_status status = smelt_into_host(smelt_mul(smelt_ref(s->t[0]), 2.0), SMELT_F32, out, sizeof out, &err);
  s->unsupported = status == SMELT_ERR_UNSUPPORTED;
  if (s->unsupported) return;
  CHECK_OK(status, err);
  const float expected[4] = {2, 4, 10, 12};
  for (int i = 0; i < 4; i++) CHECK_F64(out[i], expected[i]);
}

SCENARIO(sliced_view_cross_stream_released) {
  peer p;
  peer_open(&p);
  const float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  smelt_tensor *x = smelt_from_host(s->ctx, SMELT_F32, DIMS(2, 4), data);
  smelt_range ranges[2] = {{SMELT_ABSENT, SMELT_ABSENT, SMELT_ABSENT}, {SMELT_ABSENT, 2, SMELT_ABSENT}};
  s->t[0] = smelt_slice(x, ranges, 2);
  peer_do(&p, double_slice, s);
  smelt_drop(s->t[0]);
  peer_close(&p);
}

SCENARIO(concurrent_pending_work_on_both_streams) {
  peer p;
  peer_open(&p);
  s->expected = 3;
  s->t[0] = pair(s->ctx, 3, 6);
  smelt_tensor *first = smelt_exp(smelt_mul(pair(s->ctx, 0, 0), 5.0));
  peer_do(&p, multiply, s);                         /* pending there */
  smelt_tensor *both = smelt_add(s->t[1], s->t[0]); /* ends the peer's */
  check_pair(both, 9, 18);
  check_pair(first, 1, 1);
  peer_close(&p);
}

static void read_all(void *user) {
  scene *s = user;
  smelt_error err;
  const smelt_tensor *const list[] = {s->t[0], s->t[1], s->t[2]};
  uint64_t before = segments_of(s);
  CHECK_OK(smelt_eval(list, 3, &err), err);
  CHECK_I64(segments_of(s), before + 1);
  for (int i = 0; i < 3; i++) check_pair(s->t[i], (float)i, (float)(2 * i));
  CHECK_I64(segments_of(s), before + 1);
}

SCENARIO(transaction_cross_stream_no_reentrant_panic) {
  peer p;
  peer_open(&p);
  for (int i = 0; i < 3; i++) s->t[i] = smelt_mul(pair(s->ctx, 1, 2), (double)i);
  peer_do(&p, read_all, s);
  peer_close(&p);
}

/* --- More ---------------------------------------------------------------------------------- */

static void share_with(scene *s, int n) {
  peer peers[PEERS];
  for (int i = 0; i < n; i++) peer_open(&peers[i]);
  s->t[0] = smelt_add(pair(s->ctx, 0, 1), 1.0);
  s->expected = 1;
  for (int i = 0; i < n; i++) peer_do(&peers[i], multiply_and_read, s);
  smelt_drop(s->t[0]);
  for (int i = 0; i < n; i++) peer_close(&peers[i]);
}

SCENARIO(shared_tensor_three_peers_released) { share_with(s, 3); }
SCENARIO(high_fan_out_eight_peers_released) { share_with(s, PEERS); }

/* t[i + 1] = t[i] + 1 */
typedef struct link_step {
  scene *s;
  int i;
} link_step;

static void add_one(void *user) {
  const link_step *l = user;
  l->s->t[l->i + 1] = smelt_add(l->s->t[l->i], 1.0);
}

static void check_last(void *user) {
  const link_step *l = user;
  check_pair(l->s->t[l->i], 4, 5);
}

SCENARIO(chained_share_across_three_streams) {
  peer p, q;
  peer_open(&p);
  peer_open(&q);
  s->t[0] = smelt_add(pair(s->ctx, 0, 1), 2.0);
  peer_do(&p, add_one, &(link_step){s, 0});
  peer_do(&q, add_one, &(link_step){s, 1});
  peer_do(&q, check_last, &(link_step){s, 2});
  peer_close(&p);
  peer_close(&q);
}

SCENARIO(peer_reshares_to_third_stream) {
  peer p, q;
  peer_open(&p);
  peer_open(&q);
  s->t[0] = pair(s->ctx, 2, 3);
  peer_do(&p, add_one, &(link_step){s, 0});
  s->t[3] = smelt_ref(s->t[1]);
  peer_do(&q, add_one, &(link_step){s, 1});
  peer_do(&p, sync_here, s);
  check_pair(s->t[2], 4, 5);
  check_pair(s->t[3], 3, 4);
  peer_close(&q);
  peer_close(&p);
}

/* --- At the same time --------------------------------------------------------------------------- */

enum { WORKERS = 4, OPERATIONS = 5 };

/* A thread that does five operations of its own, uses the tensor, and does five more. */
typedef struct worker {
  pthread_t thread;
  smelt_context *ctx;
  smelt_tensor *shared; /* its own reference */
  bool own_work;        /* else only the shared tensor is used */
  float result[2];
} worker;

static void *work(void *argument) {
  worker *w = argument;
  smelt_tensor *own = w->own_work ? pair(w->ctx, 1, 1) : NULL;
  smelt_error err;
  for (int i = 0; own && i < OPERATIONS; i++) own = smelt_add(own, 1.0);
  smelt_tensor *y = own ? smelt_add(own, w->shared) : w->shared;
  for (int i = 0; i < OPERATIONS; i++) y = smelt_mul(y, 2.0);
  CHECK_OK(smelt_into_host(y, SMELT_F32, w->result, sizeof w->result, &err), err);
  return NULL;
}

typedef struct crowd {
  bool own_work, wait_first, consume; /* the shared tensor: computed before; read at the end */
} crowd;

static void run_crowd(scene *s, const crowd *c) {
  worker workers[WORKERS];
  smelt_tensor *x = smelt_add(pair(s->ctx, 1, 2), 1.0);
  if (c->wait_first) sync_here(s);
  for (int i = 0; i < WORKERS; i++) {
    workers[i] = (worker){.ctx = s->ctx, .shared = smelt_ref(x), .own_work = c->own_work};
    CHECK_I64(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  if (c->consume) check_pair(smelt_add(x, 0.5), 2.5f, 3.5f);
  else smelt_drop(x);
  for (int i = 0; i < WORKERS; i++) {
    CHECK_I64(pthread_join(workers[i].thread, NULL), 0);
    CHECK_F64(workers[i].result[0], c->own_work ? 8 * 32 : 2 * 32);
    CHECK_F64(workers[i].result[1], c->own_work ? 9 * 32 : 3 * 32);
  }
}

/* Again and again: what may happen in another order should. */
static void crowds(scene *s, crowd c) {
  for (int round = 0; round < 20; round++) run_crowd(s, &c);
}

SCENARIO(real_threads_cross_stream_no_leak) { run_crowd(s, &(crowd){.own_work = true, .wait_first = true}); }
SCENARIO(multi_threads_dropped) { crowds(s, (crowd){.own_work = true, .wait_first = true}); }
SCENARIO(multi_threads_consumed) {
  crowds(s, (crowd){.own_work = true, .wait_first = true, .consume = true});
}
SCENARIO(multi_threads_drop_no_wait) { crowds(s, (crowd){.own_work = true}); }
SCENARIO(multi_threads_consumed_no_wait) { crowds(s, (crowd){.own_work = true, .consume = true}); }
SCENARIO(multi_threads_no_async_op) { crowds(s, (crowd){.wait_first = true, .consume = true}); }
SCENARIO(multi_threads_no_async_op_no_wait) { crowds(s, (crowd){.consume = true}); }

/* The derivative of tanh(x * w) after x, the forward part by one thread, the backward part
 * by others: as one thread has it. */
typedef struct gradient {
  pthread_t thread;
  smelt_tensor *y, *w;
  float result[2];
} gradient;

static void *go_backward(void *argument) {
  gradient *g = argument;
  smelt_error err;
  smelt_tensor *slope = smelt_sub(1.0, smelt_mul(smelt_ref(g->y), g->y));
  CHECK_OK(smelt_into_host(smelt_mul(slope, g->w), SMELT_F32, g->result, sizeof g->result, &err), err);
  return NULL;
}

SCENARIO(the_same_with_multithread) {
  gradient g[WORKERS + 1];
  for (int i = 0; i <= WORKERS; i++) {
    smelt_tensor *w = pair(s->ctx, 0.5f, -0.25f);
    g[i].w = smelt_ref(w);
    g[i].y = smelt_tanh(smelt_mul(pair(s->ctx, 1, 2), w));
  }
  for (int i = 0; i < WORKERS; i++) CHECK_I64(pthread_create(&g[i].thread, NULL, go_backward, &g[i]), 0);
  go_backward(&g[WORKERS]);
  for (int i = 0; i < WORKERS; i++) {
    CHECK_I64(pthread_join(g[i].thread, NULL), 0);
    CHECK_F64(g[i].result[0], g[WORKERS].result[0]);
    CHECK_F64(g[i].result[1], g[WORKERS].result[1]);
  }
}

TEST_MAIN(CASE(single_stream_drop_frees_all_handles), CASE(into_data_releases_source_handle),
          CASE(clone_then_drop_frees_handle_once), CASE(cross_stream_shared_tensor_released),
          CASE(owner_drops_before_peer_finishes), CASE(peer_closes_before_owner_drops),
          CASE(cross_stream_loop_no_leak), CASE(share_computed_tensor_flushes_pending_ops),
          CASE(share_then_drop_unused_clone),
          CASE(a_foreign_drop_of_a_pending_tensor_comes_after_the_segment),
          CASE(owner_keeps_using_after_share), CASE(multiple_distinct_shared_tensors_same_pair),
          CASE(int_tensor_cross_stream_released), CASE(bool_tensor_cross_stream_released),
          CASE(peer_runs_chain_on_shared_tensor), CASE(share_round_trip_owner_peer_owner),
          CASE(into_data_cross_stream_no_explicit_clone), CASE(repeated_share_same_source_same_peer),
          CASE(peer_observes_owner_values_after_share), CASE(sliced_view_cross_stream_released),
          CASE(concurrent_pending_work_on_both_streams), CASE(transaction_cross_stream_no_reentrant_panic),
          CASE(shared_tensor_three_peers_released), CASE(high_fan_out_eight_peers_released),
          CASE(chained_share_across_three_streams), CASE(peer_reshares_to_third_stream),
          CASE(real_threads_cross_stream_no_leak), CASE(multi_threads_dropped), CASE(multi_threads_consumed),
          CASE(multi_threads_drop_no_wait), CASE(multi_threads_consumed_no_wait),
          CASE(multi_threads_no_async_op), CASE(multi_threads_no_async_op_no_wait),
          CASE(the_same_with_multithread))
