/* SPDX-License-Identifier: Apache-2.0 */
#include "fusers/fused_executor.h"

#include "base/error.h"
#include "base/timeline.h"
#include "fusers/explain_plan.h"
#include "fusers/registry.h"
#include "fusers/report_plan.h"
#include "launch/dense_copy.h"

/* What the plan cache holds: a plan and its clusters' blocks. */
typedef struct fused_plan {
  _Atomic uint32_t refs; /* the cache's and those of jobs that run it */
  const sm_allocator *allocator;
  sm_plan plan;
  _Atomic(void *) *blocks; /* by cluster; NULL until it is run */
} fused_plan;

static void retain_plan(void *plan) { atomic_fetch_add(&((fused_plan *)plan)->refs, 1); }

static void release_plan(void *plan) {
  fused_plan *p = plan;
  if (atomic_fetch_sub(&p->refs, 1) != 1) return;
  for (int i = 0; p->blocks && i < p->plan.n_clusters; i++) {
    void *block = atomic_load(&p->blocks[i]);
    if (block) p->plan.clusters[i].fuser->discard(block, p->allocator);
  }
  sm_plan_free(&p->plan);
  sm_free(p->allocator, p, sizeof *p);
}

bool sm_fused_executor_init(sm_fused_executor *e, sm_device *device, const sm_log *log, sm_counters *counters,
                            sm_fused_options options) {
  sm_plan_sharing sharing = {retain_plan, release_plan};
  if (!sm_kernel_table_init(&e->kernels, device, log, counters)) return false;
  if (!sm_plan_cache_init(&e->plans, device->allocator, counters, sharing)) {
    sm_kernel_table_free(&e->kernels);
    return false;
  }
  sm_copy_kernels_init(&e->copies, device->allocator);
  e->env = (sm_launch_env){
      .device = device, .log = log, .counters = counters, .kernels = &e->kernels, .copies = &e->copies};
  e->options = (sm_plan_options){
      .fusers = sm_builtin_fusers,
      .limits = {.max_ops = options.max_ops,
                 .exact = options.exact,
                 .max_bindings = device->profile->max_bindings},
      .fusion = options.fusion,
  };
  e->mode = options.mode;
  e->explainer = NULL;
  return true;
}

void sm_fused_executor_free(sm_fused_executor *e) {
  sm_plan_cache_free(&e->plans);
  sm_copy_kernels_free(&e->copies);
  sm_kernel_table_free(&e->kernels);
}

/* --- Causes ------------------------------------------------------------------------------ */

/* Gives every result of the records that has neither data nor cause a share of
 * `cause`. */
static void fail_ops(sm_job *job, const uint32_t *ops, int n, sm_cause *cause) {
  for (int i = 0; i < n; i++) {
    uint32_t v = job->segment->ops.items[ops[i]].out;
    if (!job->buffers[v] && !job->causes[v]) job->causes[v] = sm_cause_ref(cause);
  }
}

/* The cause of an input that failed, or NULL. */
static sm_cause *failed_input(const sm_job *job, const uint32_t *ops, int n) {
  for (int i = 0; i < n; i++) {
    const sm_op *op = &job->segment->ops.items[ops[i]];
    for (int k = 0; k < op->n_operands; k++) {
      sm_cause *cause = op->operands[k].is_scalar ? NULL : job->causes[op->operands[k].use.value];
      if (cause) return cause;
    }
  }
  return NULL;
}

/* --- Clusters ------------------------------------------------------------------------------- */

/* Runs a block with what is the job's own. */
static smelt_status run_on_job(const sm_fused_executor *e, sm_job *job, const sm_fuser *fuser, void *block,
                               const sm_block_run *run, smelt_error *err) {
  sm_launch_env env = e->env;
  env.scratch = &job->scratch;
  sm_arena_reset(env.scratch);
  env.note = job->note;
  return fuser->run(&env, block, run, err);
}

/* A block that serves once. */
static smelt_status finish_and_run(sm_fused_executor *e, sm_job *job, const sm_fuser *fuser,
                                   const uint32_t *op, smelt_error *err) {
  void *block;
  const sm_allocator *allocator = e->env.device->allocator;
  SM_TRY(fuser->finish(job->segment, op, 1, NULL, e->mode, allocator, &block, err));
  sm_block_run run = {.fuser = fuser, .segment = job->segment, .buffers = job->buffers};
  smelt_status status = run_on_job(e, job, fuser, block, &run, err);
  fuser->discard(block, allocator);
  return status;
}

static void run_alone(sm_fused_executor *e, sm_job *job, const uint32_t *op) {
  smelt_error err;
  const sm_fuser *fuser = sm_plan_fuser_of(&e->options, job->segment, &job->segment->ops.items[*op]);
  if (finish_and_run(e, job, fuser, op, &err) == SMELT_OK) return;
  sm_cause *cause = sm_cause_create(&err);
  fail_ops(job, op, 1, cause);
  sm_cause_drop(cause);
}

/* A cluster with a failed input is taken apart, so that only what depends on
 * the failure is poisoned. */
static void run_apart(sm_fused_executor *e, sm_job *job, const sm_cluster *cluster) {
  for (int i = 0; i < cluster->n_ops; i++) {
    /* A guest may have been run for another cluster. */
    if (job->buffers[job->segment->ops.items[cluster->ops[i]].out]) continue;
    sm_cause *cause = failed_input(job, &cluster->ops[i], 1);
    if (cause) fail_ops(job, &cluster->ops[i], 1, cause);
    else run_alone(e, job, &cluster->ops[i]);
  }
}

/* A record beyond what the device can do poisons its result, nothing else. */
static void refuse_cluster(const sm_fused_executor *e, sm_job *job, const sm_cluster *cluster) {
  smelt_error err;
  sm_plan_explain(job->segment, cluster, &e->options.limits, &err);
  sm_cause *cause = sm_cause_create(&err);
  fail_ops(job, cluster->ops, cluster->n_ops, cause);
  sm_cause_drop(cause);
}

/* The cluster's block, made when it is first run; of two threads that make it one gives
 * its own up. */
static smelt_status get_block(const sm_fused_executor *e, const sm_job *job, fused_plan *plan, int cluster,
                              void **out, smelt_error *err) {
  const sm_cluster *c = &plan->plan.clusters[cluster];
  const sm_allocator *allocator = e->env.device->allocator;
  void *first = atomic_load_explicit(&plan->blocks[cluster], memory_order_acquire), *block;
  *out = first;
  if (first) return SMELT_OK;
  SM_TRY(
      c->fuser->finish(job->segment, c->ops, c->n_ops, plan->plan.written, e->mode, allocator, &block, err));
  bool kept = atomic_compare_exchange_strong(&plan->blocks[cluster], &first, block);
  if (!kept) c->fuser->discard(block, allocator);
  *out = kept ? block : first;
  return SMELT_OK;
}

static smelt_status run_block(sm_fused_executor *e, sm_job *job, fused_plan *plan, int cluster,
                              smelt_error *err) {
  const sm_cluster *c = &plan->plan.clusters[cluster];
  void *block;
  SM_TRY(get_block(e, job, plan, cluster, &block, err));
  sm_block_run run = {c->fuser, job->segment, job->buffers, c->dying, c->n_dying};
  return run_on_job(e, job, c->fuser, block, &run, err);
}

static void run_whole(sm_fused_executor *e, sm_job *job, fused_plan *plan, int cluster) {
  smelt_error err;
  if (run_block(e, job, plan, cluster, &err) == SMELT_OK) return;
  sm_cause *cause = sm_cause_create(&err);
  fail_ops(job, plan->plan.clusters[cluster].ops, plan->plan.clusters[cluster].n_ops, cause);
  sm_cause_drop(cause);
}

static void run_cluster(sm_fused_executor *e, sm_job *job, fused_plan *plan, int index) {
  const sm_cluster *cluster = &plan->plan.clusters[index];
  bool failed = failed_input(job, cluster->ops, cluster->n_ops) != NULL;
  if (!cluster->fuser && !failed) {
    refuse_cluster(e, job, cluster);
    return;
  }
  sm_report_block(&e->env, job->segment, cluster);
  if (failed) run_apart(e, job, cluster);
  else run_whole(e, job, plan, index);
}

/* --- The segment --------------------------------------------------------------------------------- */

static void release_value(sm_job *job, size_t v) {
  if (job->buffers[v]) sm_buffer_drop(job->buffers[v]);
  sm_cause_drop(job->causes[v]);
  job->buffers[v] = NULL;
  job->causes[v] = NULL;
}

static void release_dying(sm_job *job, const sm_cluster *done) {
  for (int i = 0; i < done->n_dying; i++) release_value(job, done->dying[i]);
}

static void run_plan(sm_fused_executor *e, sm_job *job, fused_plan *plan) {
  sm_report_plan(&e->env, job->segment, &plan->plan);
  job->note = sm_explain_plan(e->explainer, job->segment, &plan->plan);
  for (int i = 0; i < plan->plan.n_clusters; i++) {
    const sm_cluster *cluster = &plan->plan.clusters[i];
    if (job->note) sm_note_kernel(job->note, cluster->fuser ? cluster->fuser->name : "none", cluster->n_ops);
    run_cluster(e, job, plan, i);
    release_dying(job, cluster);
  }
  sm_note_close(e->explainer, job->note);
  job->note = NULL;
}

/* Without a plan every result that is wanted carries the reason. */
static void fail_segment(sm_job *job, const smelt_error *err) {
  sm_cause *cause = sm_cause_create(err);
  for (size_t v = 0; v < job->segment->values.len; v++) {
    const sm_value *value = &job->segment->values.items[v];
    if (value->live && value->producer != SM_NO_OP) job->causes[v] = sm_cause_ref(cause);
  }
  sm_cause_drop(cause);
}

static smelt_status make_plan(const sm_fused_executor *e, const sm_job *job, fused_plan **out,
                              smelt_error *err) {
  const sm_allocator *allocator = e->env.device->allocator;
  fused_plan *plan = sm_calloc(allocator, 1, sizeof *plan);
  *out = plan;
  if (!plan) return sm_error_memory(err, "a plan");
  atomic_init(&plan->refs, 1);
  plan->allocator = allocator;
  smelt_status status = sm_plan_make(job->segment, &e->options, allocator, &plan->plan, err);
  if (status == SMELT_OK) {
    plan->blocks = sm_arena_zalloc(&plan->plan.arena, (size_t)plan->plan.n_clusters, sizeof *plan->blocks);
    if (!plan->blocks) status = sm_error_memory(err, "a plan");
  }
  if (status != SMELT_OK) release_plan(plan);
  return status;
}

/* A plan that the cache does not keep serves once. */
static smelt_status find_or_make_plan(sm_fused_executor *e, sm_job *job, fused_plan **out, smelt_error *err) {
  int64_t begin = sm_timeline_begin(e->env.log);
  fused_plan *kept = sm_plan_cache_find(&e->plans, job->segment, &job->key);
  *out = kept;
  if (!kept) {
    SM_TRY(make_plan(e, job, out, err));
    (void)sm_plan_cache_add(&e->plans, job->segment, &job->key, *out);
  }
  sm_span span = {.category = "plan", .name = kept ? "plan found" : "plan made", .begin = begin};
  sm_fact fact = {.name = "kernels", .number = (uint64_t)(*out)->plan.n_clusters};
  sm_timeline_add(e->env.log, span, &fact, 1);
  return SMELT_OK;
}

void sm_fused_executor_run(void *self, sm_job *job) {
  sm_fused_executor *e = self;
  fused_plan *plan;
  smelt_error err;
  if (find_or_make_plan(e, job, &plan, &err) != SMELT_OK) {
    fail_segment(job, &err);
    return;
  }
  run_plan(e, job, plan);
  release_plan(plan);
}
