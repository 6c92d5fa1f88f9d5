/* SPDX-License-Identifier: Apache-2.0
 *
 * The planner, with fusers that exist only here: `narrow` takes sin, `wide` all
 * other operations but cos, and both keep the limits, one shape a kernel. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "harness.h"
#include "plan/plan.h"

/* --- Fake fusers --------------------------------------------------------------------- */

static sm_reason accept_wide(const sm_segment *segment, const sm_op *op) {
  (void)segment;
  return op->row->code == SM_OP_SIN || op->row->code == SM_OP_COS ? SM_REASON_VARIANT : SM_REASON_NONE;
}

static sm_reason accept_narrow(const sm_segment *segment, const sm_op *op) {
  (void)segment;
  return op->row->code == SM_OP_SIN ? SM_REASON_NONE : SM_REASON_VARIANT;
}

static sm_fit fit(const sm_candidate *c, const sm_limits *limits) {
  const sm_segment *seg = c->segment;
  for (int i = 1; i < c->n_ops; i++) {
    const sm_value *first = &seg->values.items[seg->ops.items[c->ops[0]].out];
    if (!sm_shape_equal(&first->shape, &seg->values.items[seg->ops.items[c->ops[i]].out].shape)) {
      return (sm_fit){.reason = SM_REASON_SHAPE};
    }
    CHECK(c->ops[i - 1] < c->ops[i]);
  }
  sm_fit result = {.bindings = sm_candidate_buffers(c) + 1};
  for (size_t v = 0; v < seg->values.len; v++) CHECK(c->scratch[v] == 0);
  if (c->n_ops > limits->max_ops) result.reason = SM_REASON_OPS;
  else if (result.bindings > limits->max_bindings) result.reason = SM_REASON_BINDINGS;
  return result;
}

/* An anchor: takes sin, and around it exp and add. */
static sm_fit fit_anchor(const sm_candidate *c, const sm_limits *limits) {
  for (int i = 0; i < c->n_ops; i++) {
    uint16_t code = c->segment->ops.items[c->ops[i]].row->code;
    if (code != SM_OP_SIN && code != SM_OP_EXP && code != SM_OP_ADD)
      return (sm_fit){.reason = SM_REASON_SHAPE};
  }
  return fit(c, limits);
}

/* A wider one: log as well. */
static sm_fit fit_wider(const sm_candidate *c, const sm_limits *limits) {
  for (int i = 0; i < c->n_ops; i++) {
    uint16_t code = c->segment->ops.items[c->ops[i]].row->code;
    if (code != SM_OP_SIN && code != SM_OP_EXP && code != SM_OP_ADD && code != SM_OP_LOG)
      return (sm_fit){.reason = SM_REASON_SHAPE};
  }
  return fit(c, limits);
}

/* `fit` without the checks, for measuring. */
static sm_fit fit_fast(const sm_candidate *c, const sm_limits *limits) {
  int buffers = sm_candidate_buffers(c) + 1;
  return (sm_fit){buffers > limits->max_bindings ? SM_REASON_BINDINGS : SM_REASON_NONE, buffers};
}

static const sm_fuser reserved = {.name = "reserved"};
static const sm_fuser wide = {.name = "wide", .available = true, .accept = accept_wide, .fit = fit};
static const sm_fuser narrow = {.name = "narrow", .available = true, .accept = accept_narrow, .fit = fit};
static const sm_fuser fast = {.name = "fast", .available = true, .accept = accept_wide, .fit = fit_fast};
static const sm_fuser anchor = {
    .name = "anchor", .available = true, .anchor = true, .accept = accept_narrow, .fit = fit_anchor};
static const sm_fuser wider = {
    .name = "wider", .available = true, .anchor = true, .accept = accept_narrow, .fit = fit_wider};
static const sm_fuser widened = {.name = "anchor",
                                 .available = true,
                                 .anchor = true,
                                 .wider = &wider,
                                 .accept = accept_narrow,
                                 .fit = fit_anchor};
static const sm_fuser *const wider_fusers[] = {&widened, &wider, &wide, NULL};
static const sm_fuser *const anchor_fusers[] = {&anchor, &wide, NULL};
static const sm_fuser *const fusers[] = {&reserved, &wide, &narrow, NULL};
static const sm_fuser *const fast_fusers[] = {&fast, NULL};

/* --- Segments -------------------------------------------------------------------------- */

/* A segment under construction, and its plan. */
typedef struct fixture {
  sm_segment seg;
  sm_plan plan;
  sm_plan_options options;
} fixture;

static void open_fixture(fixture *f) {
  memset(f, 0, sizeof *f);
  sm_segment_init(&f->seg, &sm_malloc_allocator);
  f->options =
      (sm_plan_options){.fusers = fusers, .limits = {.max_ops = 1000, .max_bindings = 1000}, .fusion = true};
}

static void close_fixture(fixture *f) {
  sm_plan_free(&f->plan);
  sm_segment_free(&f->seg);
}

static uint32_t source(fixture *f, int64_t extent) {
  sm_value value = {.id = f->seg.values.len + 1, .dtype = SMELT_F32, .shape = {1, {extent}}, .live = true};
  uint32_t v = 0;
  CHECK(sm_segment_add_source(&f->seg, &value, &v));
  return v;
}

static sm_operand use(uint32_t v) { return (sm_operand){.use = {v, SM_READ_ONLY}, .dtype = SMELT_F32}; }

static uint32_t record(fixture *f, sm_opcode code, const uint32_t *uses, int n, int64_t extent) {
  sm_operand operands[3];
  for (int k = 0; k < n; k++) operands[k] = use(uses[k]);
  sm_value value = {.id = f->seg.values.len + 1, .dtype = SMELT_F32, .shape = {1, {extent}}};
  uint32_t v = 0;
  CHECK(sm_segment_append(&f->seg, code, operands, n, &value, &v));
  return v;
}

/* Records over 4 elements. */
static uint32_t op1(fixture *f, sm_opcode code, uint32_t a) { return record(f, code, &a, 1, 4); }
static uint32_t op2(fixture *f, sm_opcode code, uint32_t a, uint32_t b) {
  return record(f, code, (uint32_t[]){a, b}, 2, 4);
}
static uint32_t chain(fixture *f, uint32_t v, int n) {
  for (int i = 0; i < n; i++) v = op1(f, SM_OP_EXP, v);
  return v;
}
static void keep(fixture *f, uint32_t v) { f->seg.values.items[v].live = true; }

static void make(fixture *f) {
  smelt_error err;
  sm_plan_free(&f->plan);
  CHECK_OK(sm_plan_make(&f->seg, &f->options, &sm_malloc_allocator, &f->plan, &err), err);
}

/* --- Reading plans ------------------------------------------------------------------------ */

/* "wide 0 1 2; narrow 3" */
static void check_clusters(const fixture *f, const char *expected) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  for (int c = 0; c < f->plan.n_clusters; c++) {
    const sm_cluster *cluster = &f->plan.clusters[c];
    sm_text_addf(&text, "%s%s", c ? "; " : "", cluster->fuser->name);
    for (int i = 0; i < cluster->n_ops; i++) sm_text_addf(&text, " %u", cluster->ops[i]);
  }
  CHECK_STR(text.data, expected);
  sm_text_free(&text);
}

/* "1 after 0: path; 3 after 1: variant" */
static void check_refusals(const fixture *f, const char *expected) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  for (int i = 0; i < f->plan.n_refusals; i++) {
    const sm_refusal *r = &f->plan.refusals[i];
    sm_text_addf(&text, "%s%u after %u: %s", i ? "; " : "", r->consumer, r->producer,
                 sm_reason_code(r->reason));
  }
  CHECK_STR(text.data, expected);
  sm_text_free(&text);
}

static sm_traffic traffic_of(const fixture *f, int cluster) {
  return sm_cluster_traffic(&f->seg, &f->plan, &f->plan.clusters[cluster]);
}

static void check_sizes(const fixture *f, const char *expected) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  for (int c = 0; c < f->plan.n_clusters; c++)
    sm_text_addf(&text, "%s%d", c ? " " : "", f->plan.clusters[c].n_ops);
  CHECK_STR(text.data, expected);
  sm_text_free(&text);
}

static bool has_record(const sm_cluster *c, uint32_t op) {
  for (int i = 0; i < c->n_ops; i++) {
    if (c->ops[i] == op) return true;
  }
  return false;
}

/* What a cluster uses it makes itself, or an earlier one has stored it. */
static void check_operands(const fixture *f, const sm_cluster *c, const bool *stored, uint32_t op) {
  const sm_op *record = &f->seg.ops.items[op];
  for (int k = 0; k < record->n_operands; k++) {
    int32_t producer = f->seg.values.items[record->operands[k].use.value].producer;
    CHECK(producer == SM_NO_OP || stored[producer] || has_record(c, (uint32_t)producer));
  }
}

/* Every result that is stored is so by one cluster; no cluster reads what a later one
 * stores. What is not stored may be computed in several. */
static void check_sound(const fixture *f) {
  bool *stored = sm_calloc(&sm_malloc_allocator, f->seg.ops.len, sizeof *stored);
  CHECK(stored != NULL);
  for (int c = 0; c < f->plan.n_clusters; c++) {
    const sm_cluster *cluster = &f->plan.clusters[c];
    for (int i = 0; i < cluster->n_ops; i++) check_operands(f, cluster, stored, cluster->ops[i]);
    for (int i = 0; i < cluster->n_ops; i++) {
      CHECK(!stored[cluster->ops[i]]);
      stored[cluster->ops[i]] = f->plan.written[f->seg.ops.items[cluster->ops[i]].out];
    }
  }
  for (size_t i = 0; i < f->seg.ops.len; i++)
    CHECK(stored[i] || !f->seg.values.items[f->seg.ops.items[i].out].live);
  sm_free(&sm_malloc_allocator, stored, f->seg.ops.len * sizeof *stored);
}

/* --- Contraction --------------------------------------------------------------------------- */

TEST(a_chain_is_one_cluster) {
  fixture f;
  open_fixture(&f);
  keep(&f, chain(&f, source(&f, 4), 5));
  make(&f);
  check_clusters(&f, "wide 0 1 2 3 4");
  check_refusals(&f, "");
  CHECK_I64(traffic_of(&f, 0).read, 16);
  CHECK_I64(traffic_of(&f, 0).written, 16);
  CHECK_I64(f.plan.clusters[0].bindings, 3);
  close_fixture(&f);
}

TEST(dead_records_are_not_planned) {
  fixture f;
  open_fixture(&f);
  uint32_t a = op1(&f, SM_OP_COS, source(&f, 4)); /* dead, and no fuser would take it */
  uint32_t b = op1(&f, SM_OP_EXP, 0);
  chain(&f, a, 2);
  keep(&f, op1(&f, SM_OP_EXP, b));
  make(&f);
  check_clusters(&f, "wide 1 4");
  close_fixture(&f);
  open_fixture(&f);
  chain(&f, source(&f, 4), 3);
  make(&f);
  check_clusters(&f, "");
  close_fixture(&f);
}

TEST(a_diamond_is_one_cluster) {
  fixture f;
  open_fixture(&f);
  uint32_t top = op1(&f, SM_OP_EXP, source(&f, 4));
  uint32_t left = op1(&f, SM_OP_LOG, top), right = chain(&f, top, 3);
  keep(&f, op2(&f, SM_OP_ADD, left, right));
  make(&f);
  check_clusters(&f, "wide 0 1 2 3 4 5");
  check_refusals(&f, "");
  close_fixture(&f);
}

/* x * sigmoid(exp(x)): the shortcut is tried before the long way has closed. */
TEST(an_edge_that_heals_is_no_refusal) {
  fixture f;
  open_fixture(&f);
  uint32_t x = op1(&f, SM_OP_EXP, source(&f, 4));
  keep(&f, op2(&f, SM_OP_MULTIPLY, x, chain(&f, x, 4)));
  make(&f);
  check_clusters(&f, "wide 0 1 2 3 4 5");
  check_refusals(&f, "");
  close_fixture(&f);
}

/* exp -> sin -> add and exp -> add: sin is another fuser's, so add may not join exp. */
TEST(a_path_through_another_kernel_splits) {
  fixture f;
  open_fixture(&f);
  uint32_t a = op1(&f, SM_OP_EXP, source(&f, 4)), s = op1(&f, SM_OP_SIN, a);
  keep(&f, op2(&f, SM_OP_ADD, a, s));
  make(&f);
  check_clusters(&f, "wide 0; narrow 1; wide 2");
  check_refusals(&f, "1 after 0: variant; 2 after 0: path; 2 after 1: variant");
  CHECK(f.plan.written[a] && f.plan.written[s]);
  close_fixture(&f);
}

/* exp a + sin exp b, exp b + sin exp a: once one sum has joined its exp, the other
 * may not, or each would wait for the other. */
TEST(clusters_never_wait_for_each_other) {
  fixture f;
  open_fixture(&f);
  uint32_t a = op1(&f, SM_OP_EXP, source(&f, 4)), b = op1(&f, SM_OP_EXP, source(&f, 4));
  uint32_t sa = op1(&f, SM_OP_SIN, a), sb = op1(&f, SM_OP_SIN, b);
  keep(&f, op2(&f, SM_OP_ADD, a, sb));
  keep(&f, op2(&f, SM_OP_ADD, b, sa));
  make(&f);
  check_sound(&f);
  check_clusters(&f, "wide 1; narrow 3; wide 0 4; narrow 2; wide 5");
  close_fixture(&f);
}

/* The heavier edge is contracted first and takes the only room there is. */
TEST(larger_tensors_come_first) {
  fixture f;
  open_fixture(&f);
  f.options.limits.max_ops = 2;
  uint32_t small = record(&f, SM_OP_EXP, (uint32_t[]){source(&f, 4)}, 1, 1);
  uint32_t large = op1(&f, SM_OP_EXP, 0);
  keep(&f, op2(&f, SM_OP_ADD, small, large));
  make(&f);
  check_clusters(&f, "wide 0; wide 1 2");
  close_fixture(&f);
}

/* Of equal bytes, the tensor that is read more often. */
TEST(saved_reads_come_next) {
  fixture f;
  open_fixture(&f);
  f.options.limits.max_bindings = 8;
  uint32_t in[6];
  for (int i = 0; i < 6; i++) in[i] = source(&f, 4);
  uint32_t once = record(&f, SM_OP_CLIP, in, 3, 4), twice = record(&f, SM_OP_CLIP, in + 3, 3, 4);
  keep(&f, op2(&f, SM_OP_ADD, once, twice));
  keep(&f, op1(&f, SM_OP_LOG, twice));
  make(&f);
  check_clusters(&f, "wide 0; wide 1 2 3");
  check_refusals(&f, "2 after 0: bindings");
  close_fixture(&f);
}

/* --- Anchors ------------------------------------------------------------------------------ */

/* What it may take it gets, from both sides and however far, before others merge. */
TEST(anchors_grow_first) {
  fixture f;
  open_fixture(&f);
  f.options.fusers = anchor_fusers;
  uint32_t a = op1(&f, SM_OP_EXP, op1(&f, SM_OP_LOG, source(&f, 4)));
  uint32_t b = op1(&f, SM_OP_EXP, op1(&f, SM_OP_EXP, source(&f, 4)));
  uint32_t s = op1(&f, SM_OP_SIN, op2(&f, SM_OP_ADD, a, b));
  keep(&f, op1(&f, SM_OP_TANH, op1(&f, SM_OP_EXP, s)));
  make(&f);
  check_sound(&f);
  check_clusters(&f, "wide 0; anchor 1 2 3 4 5 6; wide 7");
  check_refusals(&f, "1 after 0: shape; 7 after 6: shape");
  close_fixture(&f);
}

/* Their kernels are never cut: they take what the limit allows. */
TEST(anchors_keep_the_limit) {
  fixture f;
  open_fixture(&f);
  f.options.fusers = anchor_fusers;
  f.options.limits.max_ops = 4;
  uint32_t s = op1(&f, SM_OP_SIN, chain(&f, source(&f, 4), 6));
  keep(&f, chain(&f, s, 6));
  make(&f);
  check_sound(&f);
  int at = 0;
  while (f.plan.clusters[at].fuser != &anchor) at++;
  CHECK_I64(f.plan.clusters[at].n_ops, 4);
  CHECK_I64(f.plan.n_clusters, 3);
  close_fixture(&f);
}

/* Two of them with a path between them that neither may take. */
TEST(anchors_and_paths) {
  fixture f;
  open_fixture(&f);
  f.options.fusers = anchor_fusers;
  uint32_t first = op1(&f, SM_OP_SIN, source(&f, 4)), between = op1(&f, SM_OP_LOG, first);
  keep(&f, op2(&f, SM_OP_ADD, first, op1(&f, SM_OP_SIN, between)));
  make(&f);
  check_sound(&f);
  check_clusters(&f, "anchor 0; wide 1; anchor 2 3");
  close_fixture(&f);
}

/* What an anchor refuses goes to the wider one, and the cluster with it. */
TEST(wider_anchors_take_over) {
  fixture f;
  open_fixture(&f);
  f.options.fusers = wider_fusers;
  uint32_t first = op1(&f, SM_OP_SIN, source(&f, 4)), between = op1(&f, SM_OP_LOG, first);
  keep(&f, op1(&f, SM_OP_TANH, op2(&f, SM_OP_ADD, first, op1(&f, SM_OP_SIN, between))));
  make(&f);
  check_sound(&f);
  check_clusters(&f, "wider 0 1 2 3; wide 4");
  check_refusals(&f, "4 after 3: shape");
  close_fixture(&f);
}

/* --- Limits --------------------------------------------------------------------------------- */

TEST(operation_limit) {
  static const struct {
    int ops, limit;
    bool exact;
    const char *sizes;
  } rows[] = {{64, 65, true, "64"},     {65, 65, true, "65"},  {66, 65, true, "65 1"},
              {100, 65, true, "65 35"}, {3, 1, true, "1 1 1"}, {66, 65, false, "66"},
              {500, 65, false, "500"},  {2, 1, false, "1 1"},  {3, 1, false, "3"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    fixture f;
    open_fixture(&f);
    f.options.limits.max_ops = rows[i].limit;
    f.options.limits.exact = rows[i].exact;
    keep(&f, chain(&f, source(&f, 4), rows[i].ops));
    make(&f);
    check_sizes(&f, rows[i].sizes);
    check_sound(&f);
    close_fixture(&f);
  }
}

/* Long clusters that do not repeat are cut where least is carried over: there are four
 * values in hand everywhere but after record 7. */
TEST(cuts_where_least_is_carried) {
  static const sm_opcode codes[] = {SM_OP_EXP, SM_OP_LOG, SM_OP_SQRT, SM_OP_TANH};
  fixture f;
  open_fixture(&f);
  f.options.limits.max_ops = 11;
  uint32_t x = source(&f, 4);
  for (int half = 0; half < 2; half++) {
    uint32_t branch[4];
    for (int i = 0; i < 4; i++) branch[i] = op1(&f, codes[(i * 3 + half) % 4], x);
    uint32_t left = op2(&f, SM_OP_ADD, branch[0], branch[1]);
    uint32_t right = op2(&f, SM_OP_MULTIPLY, branch[2], branch[3]);
    x = op2(&f, half ? SM_OP_MAXIMUM : SM_OP_MINIMUM, left, right);
  }
  keep(&f, x);
  make(&f);
  check_sizes(&f, "7 7");
  check_refusals(&f, "7 after 6: ops; 8 after 6: ops; 9 after 6: ops; 10 after 6: ops");
  close_fixture(&f);
}

/* Two tensors of `small` elements are in hand after record 2, one of `large` after record 3. */
static void check_cut(int64_t small, int64_t large, const char *sizes) {
  static const sm_opcode tail[] = {SM_OP_EXP, SM_OP_TANH, SM_OP_LOG};
  fixture f;
  open_fixture(&f);
  f.options.fusers = fast_fusers;
  f.options.limits.max_ops = 4;
  uint32_t source_value = source(&f, small), x = record(&f, SM_OP_EXP, &source_value, 1, small);
  uint32_t root = record(&f, SM_OP_SQRT, &x, 1, small), tanh = record(&f, SM_OP_TANH, &x, 1, small);
  x = record(&f, SM_OP_ADD, (uint32_t[]){root, tanh}, 2, large);
  for (int i = 0; i < 3; i++) x = record(&f, tail[i], &x, 1, large);
  keep(&f, x);
  make(&f);
  check_sizes(&f, sizes);
  close_fixture(&f);
}

/* A kept plan serves all sizes of one order, so that no sum of them may count: the fewest of
 * the largest size decide, however little larger that is. */
TEST(cuts_by_the_order_of_sizes) {
  check_cut(10, 100, "3 4");
  check_cut(60, 100, "3 4");
  check_cut(99, 100, "3 4");
  check_cut(100, 100, "4 3");
  check_cut(101, 100, "4 3");
}

/* What repeats is cut behind its last period, if the rest is too long for one kernel. */
TEST(cuts_behind_the_last_period) {
  static const sm_opcode codes[] = {SM_OP_EXP, SM_OP_LOG, SM_OP_SQRT};
  fixture f;
  open_fixture(&f);
  f.options.limits.max_ops = 4;
  uint32_t x = chain(&f, source(&f, 4), 20);
  for (int i = 0; i < 5; i++)
    x = op2(&f, i % 2 ? SM_OP_ADD : SM_OP_MAXIMUM, op1(&f, codes[(i * i) % 3], x), x);
  keep(&f, x);
  make(&f);
  CHECK_I64(f.plan.clusters[0].n_ops, 20);
  check_sound(&f);
  close_fixture(&f);
}

/* x = x * s + (a new source), `periods` times, with `before` records before it. */
static void check_periods(int before, int periods, int max_ops, int max_bindings, const char *sizes) {
  fixture f;
  open_fixture(&f);
  f.options.limits.max_ops = max_ops;
  f.options.limits.max_bindings = max_bindings;
  uint32_t x = chain(&f, source(&f, 4), before), s = source(&f, 4);
  for (int i = 0; i < periods; i++) x = op2(&f, SM_OP_ADD, op2(&f, SM_OP_MULTIPLY, x, s), source(&f, 4));
  keep(&f, x);
  make(&f);
  check_sizes(&f, sizes);
  check_sound(&f);
  close_fixture(&f);
}

/* What repeats with new tensors is cut in powers of two of its period. */
TEST(cuts_what_repeats) {
  check_periods(0, 3, 1000, 1000, "6");
  check_periods(0, 4, 1000, 1000, "8");
  check_periods(0, 5, 1000, 1000, "8 2");
  check_periods(0, 7, 1000, 1000, "8 6");
  check_periods(0, 100, 1000, 1000, "128 64 8");
  check_periods(1, 20, 1000, 1000, "3 32 6");
  check_periods(0, 100, 40, 1000, "32 32 32 32 32 32 8");
  /* The device binds 16 sources, x, s, a result and the metadata: it splits a period. */
  check_periods(0, 24, 1000, 20, "32 1 8 7");
}

/* What is made of n sources binds n inputs, one output and the metadata. The operations are in
 * the order of Thue and Morse, in which nothing comes three times in a row. */
static void check_wide(int n, int limit, const char *sizes, const char *refusals) {
  fixture f;
  open_fixture(&f);
  f.options.limits.max_bindings = limit;
  uint32_t x = source(&f, 4);
  for (int i = 1; i < n; i++)
    x = op2(&f, __builtin_parity((unsigned)i) ? SM_OP_MAXIMUM : SM_OP_ADD, x, source(&f, 4));
  keep(&f, x);
  make(&f);
  check_sizes(&f, sizes);
  check_refusals(&f, refusals);
  for (int i = 0; i < f.plan.n_refusals; i++) CHECK_I64(f.plan.refusals[i].bindings, limit + 1);
  for (int c = 0; c < f.plan.n_clusters; c++) CHECK(f.plan.clusters[c].bindings <= limit);
  close_fixture(&f);
}

TEST(binding_limit) {
  check_wide(5, 8, "4", "");
  check_wide(6, 8, "5", "");
  check_wide(7, 8, "5 1", "5 after 4: bindings");
  check_wide(3, 4, "1 1", "1 after 0: bindings");
  check_wide(3, 5, "2", "");
}

/* The limits hold for a record by itself as well: where binds three and one. */
TEST(limits_hold_for_the_first_operation) {
  smelt_error err;
  for (int limit = 3; limit <= 6; limit++) {
    fixture f;
    open_fixture(&f);
    uint32_t uses[] = {source(&f, 4), source(&f, 4), source(&f, 4)};
    keep(&f, record(&f, SM_OP_CLIP, uses, 3, 4));
    f.options.limits.max_bindings = limit;
    CHECK_OK(sm_plan_make(&f.seg, &f.options, &sm_malloc_allocator, &f.plan, &err), err);
    CHECK_I64(f.plan.n_clusters, 1);
    CHECK((f.plan.clusters[0].fuser == NULL) == (limit < 5));
    if (limit < 5)
      CHECK_STATUS(sm_plan_explain(&f.seg, &f.plan.clusters[0], &f.options.limits, &err), SMELT_ERR_LIMIT);
    if (limit == 4)
      CHECK_STR(err.text, "clip alone exceeds a limit: binding limit of the device (est_bindings=5/4)");
    close_fixture(&f);
  }
}

TEST(an_operation_nobody_takes) {
  smelt_error err;
  fixture f;
  open_fixture(&f);
  keep(&f, op1(&f, SM_OP_COS, source(&f, 4)));
  CHECK_OK(sm_plan_make(&f.seg, &f.options, &sm_malloc_allocator, &f.plan, &err), err);
  CHECK(f.plan.clusters[0].fuser == NULL);
  CHECK_STATUS(sm_plan_explain(&f.seg, &f.plan.clusters[0], &f.options.limits, &err), SMELT_ERR_UNSUPPORTED);
  CHECK_STR(err.text, "cos: no fuser takes this operation");
  close_fixture(&f);
}

TEST(a_value_is_bound_once) {
  fixture f;
  open_fixture(&f);
  uint32_t x = source(&f, 4);
  uint32_t y = op2(&f, SM_OP_MULTIPLY, x, x);
  keep(&f, op2(&f, SM_OP_ADD, op2(&f, SM_OP_ADD, y, y), x));
  make(&f);
  CHECK_I64(f.plan.clusters[0].bindings, 3);
  CHECK_I64(traffic_of(&f, 0).read, 16);
  close_fixture(&f);
}

TEST(a_value_used_twice_is_refused_once) {
  fixture f;
  open_fixture(&f);
  uint32_t s = op1(&f, SM_OP_SIN, source(&f, 4));
  keep(&f, op2(&f, SM_OP_MULTIPLY, s, s));
  make(&f);
  check_refusals(&f, "1 after 0: variant");
  close_fixture(&f);
}

/* --- Independent clusters ----------------------------------------------------------------------- */

TEST(independent_expressions_join) {
  fixture f;
  open_fixture(&f);
  for (int i = 0; i < 5; i++) keep(&f, chain(&f, source(&f, 4), 3));
  make(&f);
  check_clusters(&f, "wide 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14");
  CHECK_I64(f.plan.clusters[0].bindings, 11);
  close_fixture(&f);
}

TEST(other_shapes_do_not_join) {
  fixture f;
  open_fixture(&f);
  for (int i = 0; i < 4; i++) {
    keep(&f, record(&f, SM_OP_EXP, (uint32_t[]){source(&f, 4 + i % 2)}, 1, 4 + i % 2));
  }
  make(&f);
  check_clusters(&f, "wide 0 2; wide 1 3");
  check_refusals(&f, "");
  close_fixture(&f);
}

TEST(joins_keep_the_limits) {
  fixture f;
  open_fixture(&f);
  f.options.limits.max_ops = 6;
  for (int i = 0; i < 4; i++) keep(&f, chain(&f, source(&f, 4), 2));
  make(&f);
  check_sizes(&f, "6 2");
  f.options.limits = (sm_limits){.max_ops = 1000, .max_bindings = 5};
  make(&f);
  check_sizes(&f, "4 4");
  close_fixture(&f);
}

TEST(dependent_clusters_do_not_join) {
  fixture f;
  open_fixture(&f);
  keep(&f, op1(&f, SM_OP_EXP, op1(&f, SM_OP_SIN, op1(&f, SM_OP_EXP, source(&f, 4)))));
  make(&f);
  check_clusters(&f, "wide 0; narrow 1; wide 2");
  close_fixture(&f);
}

/* --- Fusion off ------------------------------------------------------------------------------------ */

TEST(fusion_off) {
  fixture f;
  open_fixture(&f);
  f.options.fusion = false;
  uint32_t a = chain(&f, source(&f, 4), 2);
  keep(&f, a);
  keep(&f, chain(&f, source(&f, 4), 1));
  make(&f);
  check_clusters(&f, "wide 0; wide 1; wide 2");
  check_refusals(&f, "1 after 0: fusion-off");
  CHECK_I64(traffic_of(&f, 0).read + traffic_of(&f, 1).read, 32);
  close_fixture(&f);
}

/* --- What the plan says of values ------------------------------------------------------------------- */

TEST(written_and_last_readers) {
  fixture f;
  open_fixture(&f);
  uint32_t x = source(&f, 4), unused = source(&f, 4);
  uint32_t a = op1(&f, SM_OP_EXP, x);        /* stored: sin reads it */
  uint32_t s = op1(&f, SM_OP_SIN, a);        /* stored: add reads it */
  uint32_t inner = op2(&f, SM_OP_ADD, s, a); /* inside only */
  uint32_t kept = op1(&f, SM_OP_EXP, inner); /* live and read inside */
  uint32_t end = op1(&f, SM_OP_EXP, kept);
  keep(&f, kept);
  keep(&f, end);
  make(&f);
  check_clusters(&f, "wide 0; narrow 1; wide 2 3 4");
  const bool *w = f.plan.written;
  CHECK(w[a] && w[s] && !w[inner] && w[kept] && w[end] && !w[x]);
  const uint32_t *last = f.plan.last_reader;
  CHECK_I64(last[x], 0);
  CHECK_I64(last[a], 2);
  CHECK_I64(last[s], 2);
  CHECK_I64(last[inner], 2);
  CHECK_I64(last[end], SM_NO_CLUSTER);
  CHECK_I64(last[unused], SM_NO_CLUSTER);
  CHECK_I64(traffic_of(&f, 2).read, 32);
  CHECK_I64(traffic_of(&f, 2).written, 32);
  close_fixture(&f);
}

/* Ready clusters start in the order of their first records. */
TEST(execution_order) {
  fixture f;
  open_fixture(&f);
  f.options.fusion = false;
  uint32_t a = source(&f, 4);
  uint32_t x = op1(&f, SM_OP_EXP, a), y = op1(&f, SM_OP_SIN, a), z = op1(&f, SM_OP_EXP, y);
  keep(&f, op2(&f, SM_OP_ADD, z, x));
  keep(&f, op1(&f, SM_OP_EXP, x));
  make(&f);
  check_clusters(&f, "wide 0; narrow 1; wide 2; wide 3; wide 4");
  close_fixture(&f);
}

TEST(texts) {
  fixture f;
  sm_text text;
  open_fixture(&f);
  sm_text_init(&text, &sm_malloc_allocator);
  f.options.limits.max_bindings = 4;
  uint32_t a = source(&f, 4), b = source(&f, 4), sum = op2(&f, SM_OP_ADD, a, b);
  keep(&f, op2(&f, SM_OP_MULTIPLY, sum, source(&f, 4)));
  make(&f);
  sm_plan_print(&text, &f.seg, &f.plan);
  CHECK_STR(text.data,
            "0 wide read=32 written=16 est_bindings=4: NumericFloat(F32, Add)\n"
            "1 wide read=32 written=16 est_bindings=4: NumericFloat(F32, Mul)\n");
  sm_text_clear(&text);
  sm_plan_print_block(&text, &f.seg, &f.plan.clusters[0]);
  CHECK_STR(text.data, "[block] 1 op(s): NumericFloat(F32, Add)");
  sm_text_clear(&text);
  sm_plan_print_refusal(&text, &f.seg, &f.plan.refusals[0]);
  CHECK_STR(text.data,
            "[refuse] NumericFloat(F32, Mul) after NumericFloat(F32, Add): "
            "bindings (binding limit of the device) est_bindings=5/4");
  sm_text_clear(&text);
  sm_plan_print_dot(&text, &f.seg, &f.plan);
  CHECK_STR(text.data,
            "digraph segment {\n"
            "  v0 [shape=ellipse, label=\"t1\\nf32[4]\", style=bold];\n"
            "  v1 [shape=ellipse, label=\"t2\\nf32[4]\", style=bold];\n"
            "  v2 [shape=ellipse, label=\"t3\\nf32[4]\"];\n"
            "  v3 [shape=ellipse, label=\"t4\\nf32[4]\", style=bold];\n"
            "  v4 [shape=ellipse, label=\"t5\\nf32[4]\", style=bold];\n"
            "  subgraph cluster_0 {\n"
            "    label=\"0 wide, read 32, written 16\";\n"
            "    k0_0 [shape=box, label=\"NumericFloat(F32, Add)\"];\n"
            "  }\n"
            "  subgraph cluster_1 {\n"
            "    label=\"1 wide, read 32, written 16\";\n"
            "    k1_1 [shape=box, label=\"NumericFloat(F32, Mul)\"];\n"
            "  }\n"
            "  v0 -> k0_0;\n"
            "  v1 -> k0_0;\n"
            "  k0_0 -> v2;\n"
            "  v2 -> k1_1;\n"
            "  v3 -> k1_1;\n"
            "  k1_1 -> v4;\n"
            "}\n");
  sm_text_free(&text);
  close_fixture(&f);
}

TEST(reason_codes_are_distinct) {
  for (int a = 0; a < SM_REASON_COUNT; a++) {
    CHECK(*sm_reason_code((sm_reason)a) && *sm_reason_sentence((sm_reason)a));
    for (int b = 0; b < a; b++)
      CHECK(strcmp(sm_reason_code((sm_reason)a), sm_reason_code((sm_reason)b)) != 0);
  }
}

/* --- Many graphs --------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static void build_random(fixture *f, uint64_t *state) {
  static const sm_opcode codes[] = {SM_OP_EXP, SM_OP_EXP, SM_OP_ADD, SM_OP_ADD, SM_OP_MULTIPLY, SM_OP_SIN};
  uint32_t last = source(f, 4);
  for (uint64_t n = 1 + next_random(state) % 60; n > 0; n--) {
    if (next_random(state) % 5 == 0) last = source(f, 4);
    sm_opcode code = codes[next_random(state) % 6];
    uint32_t uses[2];
    for (int k = 0; k < 2; k++) uses[k] = (uint32_t)(next_random(state) % (last + 1));
    last =
        record(f, code, uses, code == SM_OP_EXP || code == SM_OP_SIN ? 1 : 2, next_random(state) % 9 ? 4 : 5);
    if (next_random(state) % 4 == 0) keep(f, last);
  }
  keep(f, last);
}

static bool reads_value(const fixture *f, const sm_cluster *c, uint32_t v) {
  for (int i = 0; i < c->n_ops; i++) {
    const sm_op *op = &f->seg.ops.items[c->ops[i]];
    for (int k = 0; k < op->n_operands; k++) {
      if (op->operands[k].use.value == v) return true;
    }
  }
  return false;
}

/* Stored is what lives on, and what a later cluster reads that does not compute it itself. */
static void check_value(const fixture *f, int cluster, uint32_t op) {
  uint32_t out = f->seg.ops.items[op].out;
  bool live = f->seg.values.items[out].live, later = false;
  for (int c = cluster + 1; c < f->plan.n_clusters; c++)
    later = later || (reads_value(f, &f->plan.clusters[c], out) && !has_record(&f->plan.clusters[c], op));
  CHECK(live || f->plan.last_reader[out] != SM_NO_CLUSTER);
  CHECK(f->plan.written[out] == (live || later));
}

static void check_values(const fixture *f) {
  for (int c = 0; c < f->plan.n_clusters; c++) {
    for (int i = 0; i < f->plan.clusters[c].n_ops; i++) check_value(f, c, f->plan.clusters[c].ops[i]);
  }
}

TEST(random_graphs_give_sound_plans) {
  uint64_t state = 1;
  for (int round = 0; round < 3000; round++) {
    fixture f;
    open_fixture(&f);
    build_random(&f, &state);
    f.options.limits.max_ops = 1 + (int)(next_random(&state) % 20);
    f.options.limits.exact = next_random(&state) % 2;
    f.options.limits.max_bindings = 4 + (int)(next_random(&state) % 10);
    f.options.fusion = next_random(&state) % 8 != 0;
    make(&f);
    check_sound(&f);
    check_values(&f);
    for (int c = 0; c < f.plan.n_clusters; c++) {
      const sm_cluster *cluster = &f.plan.clusters[c];
      CHECK(cluster->n_ops - cluster->n_guests <= f.options.limits.max_ops || !f.options.limits.exact);
      CHECK(cluster->bindings <= f.options.limits.max_bindings);
    }
    close_fixture(&f);
  }
}

static void *fail_after(void *left, void *ptr, size_t old, size_t size) {
  if (size == 0 || (*(int *)left)-- > 0) return sm_malloc_allocator.fn(NULL, ptr, old, size);
  return NULL;
}

TEST(lack_of_memory_is_an_error) {
  fixture f;
  open_fixture(&f);
  keep(&f, chain(&f, source(&f, 4), 100));
  smelt_status status = SMELT_ERR_MEMORY;
  for (int allowed = 0; status != SMELT_OK; allowed++) {
    int left = allowed;
    sm_allocator allocator = {fail_after, &left};
    sm_plan plan;
    smelt_error err;
    status = sm_plan_make(&f.seg, &f.options, &allocator, &plan, &err);
    if (status != SMELT_OK) CHECK_STATUS(status, SMELT_ERR_MEMORY);
    sm_plan_free(&plan);
    CHECK(allowed < 1000);
  }
  close_fixture(&f);
}

/* --- Time ------------------------------------------------------------------------------------------------
 */

static double milliseconds(void) {
  struct timespec now;
  (void)timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* The best of several, printed, not judged: the machine may be busy. */
static void measure(fixture *f, const char *what) {
  double best = 1e9;
  f->options.fusers = fast_fusers;
  for (int round = 0; round < 7; round++) {
    double begin = milliseconds();
    make(f);
    double took = milliseconds() - begin;
    if (took < best) best = took;
  }
  (void)printf("%s: %zu operations, %d clusters, %d refusals, %.2f ms\n", what, f->seg.ops.len,
               f->plan.n_clusters, f->plan.n_refusals, best);
  check_sound(f);
}

TEST(time_of_a_full_segment) {
  fixture f;
  open_fixture(&f);
  keep(&f, chain(&f, source(&f, 4), SM_MAX_SEGMENT_OPS));
  measure(&f, "chain");
  CHECK_I64(f.plan.n_clusters, 1);
  close_fixture(&f);
  open_fixture(&f);
  for (int i = 0; i < SM_MAX_SEGMENT_OPS; i++) keep(&f, op1(&f, SM_OP_EXP, i ? 0 : source(&f, 4)));
  measure(&f, "fan");
  CHECK_I64(f.plan.n_clusters, 1);
  f.options.limits.max_bindings = 28;
  measure(&f, "fan, 28 bindings");
  f.options.limits.max_bindings = 3;
  measure(&f, "fan, 3 bindings");
  CHECK_I64(f.plan.n_clusters, SM_MAX_SEGMENT_OPS);
  close_fixture(&f);
}

/* A triangle of adds, 31 wide at its base. */
TEST(time_of_a_mesh) {
  fixture f;
  open_fixture(&f);
  uint32_t row[32];
  for (int i = 0; i < 32; i++) row[i] = source(&f, 4);
  for (int n = 31; n > 0; n--) {
    for (int i = 0; i < n; i++) row[i] = op2(&f, SM_OP_ADD, row[i], row[i + 1]);
  }
  keep(&f, row[0]);
  measure(&f, "mesh");
  CHECK_I64(f.plan.n_clusters, 1);
  f.options.limits.max_bindings = 8;
  measure(&f, "mesh, 8 bindings");
  close_fixture(&f);
}

TEST_MAIN(CASE(a_chain_is_one_cluster), CASE(dead_records_are_not_planned), CASE(a_diamond_is_one_cluster),
          CASE(an_edge_that_heals_is_no_refusal), CASE(a_path_through_another_kernel_splits),
          CASE(clusters_never_wait_for_each_other), CASE(larger_tensors_come_first),
          CASE(saved_reads_come_next), CASE(anchors_grow_first), CASE(anchors_keep_the_limit),
          CASE(anchors_and_paths), CASE(wider_anchors_take_over), CASE(operation_limit),
          CASE(cuts_where_least_is_carried), CASE(cuts_by_the_order_of_sizes),
          CASE(cuts_behind_the_last_period), CASE(cuts_what_repeats), CASE(binding_limit),
          CASE(limits_hold_for_the_first_operation), CASE(an_operation_nobody_takes),
          CASE(a_value_is_bound_once), CASE(a_value_used_twice_is_refused_once),
          CASE(independent_expressions_join), CASE(other_shapes_do_not_join), CASE(joins_keep_the_limits),
          CASE(dependent_clusters_do_not_join), CASE(fusion_off), CASE(written_and_last_readers),
          CASE(execution_order), CASE(texts), CASE(reason_codes_are_distinct),
          CASE(random_graphs_give_sound_plans), CASE(lack_of_memory_is_an_error),
          CASE(time_of_a_full_segment), CASE(time_of_a_mesh))
