/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/os.h"
#include "drivers/cpu_state.h"
#include "drivers/drivers.h"
#include "drivers/ir_kernel.h"
#include "rt/padded_tail.h"

/* What this driver compiles: the IR, and code or a program to interpret. */
typedef struct cpu_kernel {
  struct sm_kernel base;
  sm_code code; /* no entry: interpreted */
  sm_kir_kernel hoisted;
  sm_kir_program program; /* of `hoisted` */
} cpu_kernel;

/* Elements of the interpreter's vectors: operands of a step stay in the
 * first-level cache. */
enum { INTERPRETER_WIDTH = 512 };

/* --- The device ----------------------------------------------------------------------- */

static void fill_profile(sm_cpu_device *cpu) {
  static const char *const names[SM_CPU_LEVEL_COUNT] = {[SM_CPU_BASELINE] = "cpu-baseline",
                                                        [SM_CPU_AVX2] = "cpu-avx2",
                                                        [SM_CPU_AVX512] = "cpu-avx512",
                                                        [SM_CPU_NEON] = "cpu-neon"};
  cpu->profile = (sm_profile){.name = names[cpu->level],
                              .vector_bytes = (uint16_t)sm_cpu_vector_bytes(cpu->level),
                              .max_bindings = SM_CPU_MAX_BINDINGS,
                              .chunked = true,
                              .cache_bytes = (uint64_t)sm_os_cache(),
                              .interpreter_width = INTERPRETER_WIDTH};
}

/* Copied: libLLVM is opened later, when the program's environment may be another. */
static smelt_status choose_llvm(sm_text *file, smelt_error *err) {
  const char *chosen = secure_getenv("SMELT_LLVM");
  if (chosen) sm_text_add(file, chosen);
  return file->failed ? sm_error_memory(err, "a setting") : SMELT_OK;
}

static smelt_status open_parts(sm_device *device, sm_cpu_device *cpu, smelt_error *err) {
  SM_TRY(sm_pool_create(device->allocator, NULL, &cpu->pool, err));
  SM_TRY(sm_host_pool_create(device->allocator, NULL, &cpu->memory, err));
  SM_TRY(choose_llvm(&cpu->llvm_file, err));
  if (!sm_mutex_init(&cpu->lock, SM_LOCK_DRIVER)) return sm_error_memory(err, "a lock");
  return SMELT_OK;
}

static void free_parts(const sm_device *device, sm_cpu_device *cpu) {
  sm_pool_destroy(cpu->pool);
  sm_host_pool_destroy(cpu->memory);
  sm_text_free(&cpu->llvm_file);
  sm_free(device->allocator, cpu, sizeof *cpu);
}

/* The processor's best level, or the one that SMELT_CPU names. */
static smelt_status choose_level(sm_cpu_level *level, smelt_error *err) {
  const char *wanted = secure_getenv("SMELT_CPU");
  *level = sm_cpu_detect();
  if (!wanted) return SMELT_OK;
  for (*level = SM_CPU_BASELINE; *level < SM_CPU_LEVEL_COUNT; ++*level) {
    if (strcmp(sm_cpu_level_name(*level), wanted) == 0 && sm_cpu_supports(*level)) return SMELT_OK;
  }
  return sm_error_set(err, SMELT_ERR_ARGUMENT, "SMELT_CPU=%.40s is no level of this processor", wanted);
}

static smelt_status open_cpu(sm_device *device, const char *argument, smelt_error *err) {
  if (argument) {
    return sm_error_set(err, SMELT_ERR_DEVICE, "device cpu takes no argument, not \"%.60s\"", argument);
  }
  sm_cpu_device *cpu = sm_calloc(device->allocator, 1, sizeof *cpu);
  if (!cpu) return sm_error_memory(err, "a device");
  sm_text_init(&cpu->llvm_file, device->allocator);
  smelt_status status = choose_level(&cpu->level, err);
  if (status == SMELT_OK) status = open_parts(device, cpu, err);
  if (status != SMELT_OK) {
    free_parts(device, cpu);
    return status;
  }
  fill_profile(cpu);
  sm_code_cache_open(&cpu->cache, cpu->level, device->allocator, device->log);
  cpu->profiler = sm_profiler_choose();
  device->profile = &cpu->profile;
  device->detail = cpu->level == SM_CPU_BASELINE ? "interpreter" : "llvm";
  device->state = cpu;
  return SMELT_OK;
}

static void close_cpu(sm_device *device) {
  sm_cpu_device *cpu = device->state;
  sm_llvm_close(&cpu->llvm);
  sm_code_cache_close(&cpu->cache);
  sm_mutex_destroy(&cpu->lock);
  free_parts(device, cpu);
}

static void *alloc_data(sm_device *device, size_t bytes) {
  return sm_host_pool_alloc(((sm_cpu_device *)device->state)->memory, bytes);
}

static void free_data(sm_device *device, void *data, size_t bytes) {
  sm_host_pool_free(((sm_cpu_device *)device->state)->memory, data, bytes);
}

/* --- Kernels ------------------------------------------------------------------------------ */

static smelt_status prepare(const sm_device *device, const sm_kir_kernel *ir, cpu_kernel *kernel,
                            smelt_error *err) {
  const sm_cpu_device *cpu = device->state;
  SM_TRY(sm_kir_hoist(ir, &kernel->hoisted, err));
  smelt_status status = sm_kir_prepare(&kernel->hoisted, cpu->level, &kernel->program, err);
  if (status != SMELT_OK) sm_kir_free(&kernel->hoisted);
  return status;
}

static smelt_status interpret(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err) {
  cpu_kernel *kernel = sm_calloc(device->allocator, 1, sizeof *kernel);
  if (!kernel) return sm_error_memory(err, "a kernel");
  smelt_status status = prepare(device, ir, kernel, err);
  if (status != SMELT_OK) {
    sm_free(device->allocator, kernel, sizeof *kernel);
    return status;
  }
  kernel->base.ir = *ir;
  *out = &kernel->base;
  return SMELT_OK;
}

static smelt_status compile(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err) {
  sm_code code;
  bool from_cache;
  SM_TRY(sm_cpu_code(device, ir, &code, &from_cache, err));
  cpu_kernel *kernel = sm_calloc(device->allocator, 1, sizeof *kernel);
  if (!kernel) {
    sm_code_free(&code);
    return sm_error_memory(err, "a kernel");
  }
  kernel->base = (sm_kernel){*ir, from_cache};
  kernel->code = code;
  *out = &kernel->base;
  return SMELT_OK;
}

static void release(sm_device *device, sm_kernel *kernel) {
  cpu_kernel *k = (cpu_kernel *)kernel;
  sm_code_free(&k->code);
  sm_kir_program_free(&k->program);
  if (!k->code.entry) sm_kir_free(&k->hoisted);
  sm_kir_free(&k->base.ir);
  sm_free(device->allocator, k, sizeof *k);
}

/* --- Launches -------------------------------------------------------------------------------- */

/* A launch on its way through the pool. */
typedef struct running {
  const cpu_kernel *kernel;
  const sm_launch *launch;
  const sm_kir_span *buffers;
  void *data[SM_CPU_MAX_BINDINGS]; /* of compiled kernels */
  bool streaming;                  /* of interpreted kernels */
  smelt_error *err;
  atomic_bool failed; /* of interpreted kernels: the first failure has `err` */
} running;

static void run_compiled(const running *r, size_t run, int64_t begin, int64_t end) {
  const sm_launch *l = r->launch;
  r->kernel->code.entry(r->data + run * l->n_buffers, l->sizes + run * l->n_sizes,
                        l->scalars + run * l->n_scalars, begin, end);
}

static void run_interpreted(running *r, size_t run, int64_t begin, int64_t end) {
  smelt_error err;
  const sm_launch *l = r->launch;
  sm_kir_call call = {.buffers = r->buffers + run * l->n_buffers,
                      .sizes = l->sizes + run * l->n_sizes,
                      .scalars = l->scalars + run * l->n_scalars,
                      .n_table = (int64_t)l->n_table,
                      .begin = begin,
                      .end = end,
                      .streaming = r->streaming};
  if (sm_kir_run(&r->kernel->program, &call, &err) == SMELT_OK) return;
  if (!atomic_exchange(&r->failed, true)) *r->err = err;
}

/* Runs [0, items) of the job's kernel on `buffers`, which begin at `offset`. */
typedef struct range {
  running *r;
  int64_t offset;
} range;

static void run_range(void *user, int64_t begin, int64_t end) {
  const range *at = user;
  begin += at->offset;
  end += at->offset;
  for (size_t run = 0; run <= at->r->launch->repeats; run++) {
    if (at->r->kernel->code.entry) run_compiled(at->r, run, begin, end);
    else run_interpreted(at->r, run, begin, end);
  }
}

/* A kernel of several loops runs each over a whole chunk. A loop is only as fast as
 * memory if it gets as much of it as the pool would give to a kernel of one; but
 * threads should end together. 0: as the pool sees fit. */
static int64_t chunk_of(const sm_cpu_device *cpu, const sm_launch *l, int64_t items, int64_t cost_ns) {
  enum { PASS_NS = 20000, CHUNKS_PER_THREAD = 4 };
  if (l->passes < 2 || cost_ns < PASS_NS) return 0;
  int64_t long_enough = items / (1 + cost_ns / ((int64_t)PASS_NS * l->passes));
  int64_t fair = items / ((int64_t)CHUNKS_PER_THREAD * sm_pool_threads(cpu->pool));
  return long_enough < fair ? long_enough : fair;
}

static size_t count_buffers(const sm_launch *l) { return (l->repeats + 1) * l->n_buffers; }

static smelt_status run_job(sm_device *device, running *r, int64_t begin, int64_t end, int64_t cost_ns) {
  const sm_cpu_device *cpu = device->state;
  range at = {r, begin};
  sm_pool_job job = {.run = run_range,
                     .user = &at,
                     .work_items = end - begin,
                     .grain = r->launch->grain,
                     .chunk = chunk_of(cpu, r->launch, end - begin, cost_ns),
                     .cost_ns = cost_ns};
  for (size_t i = 0; i < count_buffers(r->launch); i++) r->data[i] = r->buffers[i].data;
  if (end > begin) sm_pool_run(cpu->pool, &job);
  return atomic_load(&r->failed) ? r->err->code : SMELT_OK;
}

/* The tail is one grain: the caller's alone. */
typedef struct tail_run {
  sm_device *device;
  running *r;
} tail_run;

static smelt_status run_tail(void *user, const sm_kir_span *buffers, int64_t begin, int64_t end,
                             smelt_error *err) {
  const tail_run *t = user;
  (void)err;
  t->r->buffers = buffers;
  return run_job(t->device, t->r, begin, end, 1);
}

/* What is left of a padded launch, of each of its runs. */
static smelt_status run_tails(sm_device *device, const running *r, smelt_error *err) {
  for (size_t run = 0; run <= r->launch->repeats; run++) {
    sm_launch single = sm_launch_single(r->launch, run);
    running own = {.kernel = r->kernel, .launch = &single, .streaming = r->streaming, .err = r->err};
    tail_run tail = {device, &own};
    SM_TRY(sm_run_padded_tail(device, &r->kernel->base.ir, &single, run_tail, &tail, err));
  }
  return SMELT_OK;
}

/* Whether the launch touches more than the caches hold, and overwrites nothing that
 * it reads. Compiled kernels have been told when they were made. */
static bool should_stream(const sm_profile *profile, const sm_kir_kernel *ir, const sm_launch *l) {
  uint64_t bytes = 0;
  size_t n = count_buffers(l);
  for (size_t i = 0; i < n; i++) {
    bytes += l->buffers[i].bytes;
    for (size_t j = 0; j < n && ir->buffers.items[i % l->n_buffers].written; j++) {
      if (j != i && l->buffers[j].data == l->buffers[i].data) return false;
    }
  }
  return profile->cache_bytes && bytes > profile->cache_bytes + profile->cache_bytes / 2;
}

static smelt_status launch(sm_device *device, sm_kernel *kernel, const sm_launch *l, smelt_error *err) {
  smelt_error own;
  running r = {.kernel = (cpu_kernel *)kernel, .launch = l, .buffers = l->buffers, .err = err ? err : &own};
  if (!r.kernel->code.entry) r.streaming = should_stream(device->profile, &kernel->ir, l);
  int64_t end = l->padded ? sm_launch_whole(l) : l->work_items;
  SM_TRY(run_job(device, &r, 0, end, l->cost_ns));
  if (end < l->work_items) SM_TRY(run_tails(device, &r, err));
  return l->next ? launch(device, l->next_kernel, l->next, err) : SMELT_OK;
}

const sm_driver sm_driver_cpu = {
    .name = "cpu",
    .runs_kernels = true,
    .host_memory = true,
    .runs_opaque = true,
    .open = open_cpu,
    .close = close_cpu,
    .describe = sm_cpu_describe,
    .alloc = alloc_data,
    .free = free_data,
    .upload = sm_host_upload,
    .download = sm_host_download,
    .compile = compile,
    .interpret = interpret,
    .from_cache = sm_ir_kernel_from_cache,
    .release = release,
    .launch = launch,
};
