/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel evaluator: a program counter, a pointer to every value, a stack of the
 * loops that are running. It relies on the verifier's word, but checks every access
 * to a buffer before it is made. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/streaming.h"
#include "kir/kir_program.h"

/* --- The machine ------------------------------------------------------------------------ */

typedef struct loop {
  int32_t at; /* the FOR; its value is the counter */
  int64_t end;
} loop;

typedef struct machine {
  const sm_kir_program *program;
  const sm_kir_kernel *k;
  const sm_kir_call *call;
  smelt_error *err;
  int32_t member; /* of its group */
  int32_t pc;
  unsigned char **values; /* where each instruction's value is */
  loop *loops;
  size_t depth;         /* loops that are running */
  sm_kir_span *buffers; /* the call's, then the local ones */
  size_t bytes;         /* of the block that begins at `values` */
} machine;

/* Local buffers are aligned as places are. */
static size_t local_bytes(const sm_kir_buffer *b) {
  size_t bytes = b->local * smelt_dtype_size(b->dtype), unit = SM_KIR_PLACE_ALIGNMENT;
  return (bytes + unit - 1) / unit * unit;
}

static size_t all_local_bytes(const sm_kir_kernel *k) {
  size_t bytes = 0;
  for (size_t i = 0; i < k->buffers.len; i++) bytes += local_bytes(&k->buffers.items[i]);
  return bytes;
}

/* Arguments come from the call, local buffers from `next`, zeroed. */
static void bind_buffers(machine *m, unsigned char *next) {
  for (size_t i = 0; i < m->k->buffers.len; i++) {
    const sm_kir_buffer *b = &m->k->buffers.items[i];
    m->buffers[i] =
        b->local ? (sm_kir_span){next, b->local * smelt_dtype_size(b->dtype)} : m->call->buffers[i];
    if (b->local) memset(next, 0, local_bytes(b));
    next += local_bytes(b);
  }
}

static unsigned char *align(unsigned char *p) {
  return p + (SM_KIR_PLACE_ALIGNMENT - (uintptr_t)p % SM_KIR_PLACE_ALIGNMENT) % SM_KIR_PLACE_ALIGNMENT;
}

/* One block: pointers to the values, loops, spans, local buffers, the values. */
static smelt_status machine_open(machine *m) {
  const sm_kir_program *p = m->program;
  size_t n = m->k->ins.len, loops_at = n * sizeof *m->values;
  size_t spans_at = loops_at + p->n_loops * sizeof *m->loops;
  size_t data_at = spans_at + m->k->buffers.len * sizeof *m->buffers, locals = all_local_bytes(m->k);
  m->bytes = data_at + SM_KIR_PLACE_ALIGNMENT + locals + p->value_bytes;
  unsigned char *block = sm_alloc(m->k->allocator, m->bytes);
  if (!block) return sm_error_memory(m->err, "the values of a kernel");
  m->values = (unsigned char **)(void *)block;
  m->loops = (loop *)(void *)(block + loops_at);
  m->buffers = (sm_kir_span *)(void *)(block + spans_at);
  unsigned char *data = align(block + data_at);
  bind_buffers(m, data);
  for (size_t i = 0; i < n; i++) m->values[i] = data + locals + p->ops[i].place.offset;
  return SMELT_OK;
}

static void machine_close(machine *m) { sm_free(m->k->allocator, m->values, m->bytes); }

static int64_t get_i64(const machine *m, int32_t value) {
  int64_t result;
  memcpy(&result, m->values[value], sizeof result);
  return result;
}

static void set_i64(machine *m, int32_t value, int64_t to) { memcpy(m->values[value], &to, sizeof to); }

static void set_word(machine *m, const sm_kir_ins *ins, const sm_word *word) {
  memcpy(m->values[m->pc], word, smelt_dtype_size(ins->type.dtype));
}

static smelt_status run_table(machine *m, const sm_kir_ins *ins) {
  int64_t element = get_i64(m, ins->args[0]);
  if (element < 0 || element >= m->call->n_table) {
    return sm_error_set(m->err, SMELT_ERR_INTERNAL,
                        "kernel %s, instruction %" PRId32 ": element %" PRId64
                        " of the scalar table, which has %" PRId64,
                        m->k->name, m->pc, element, m->call->n_table);
  }
  set_word(m, ins, &m->call->scalars[m->k->scalars.len + (size_t)element]);
  return SMELT_OK;
}

/* --- Lanes ------------------------------------------------------------------------- */
/* `n` elements of `size` bytes; strides count elements. */
static void copy_lanes(unsigned char *to, int64_t to_stride, const unsigned char *from, int64_t from_stride,
                       size_t size, int64_t n) {
  if (to_stride == 1 && from_stride == 1) {
    memcpy(to, from, (size_t)n * size);
    return;
  }
  for (int64_t l = 0; l < n; l++) {
    memcpy(to + l * to_stride * (int64_t)size, from + l * from_stride * (int64_t)size, size);
  }
}

/* The first lanes of a value: those that are kept as often as it takes. */
static void spread_first(const machine *m, int32_t value, int64_t lanes, unsigned char *to, int64_t stride) {
  const sm_kir_op *op = &m->program->ops[value];
  int64_t kept = op->place.lanes;
  for (int64_t l = 0; l < lanes; l += kept) {
    int64_t n = lanes - l < kept ? lanes - l : kept;
    copy_lanes(to + l * stride * op->size, stride, m->values[value], 1, op->size, n);
  }
}

static void spread(const machine *m, int32_t value, unsigned char *to, int64_t stride) {
  spread_first(m, value, m->k->ins.items[value].type.width, to, stride);
}

/* What is there is doubled until all lanes that are kept are. */
static void run_splat(machine *m, const sm_kir_ins *ins) {
  const sm_kir_op *op = &m->program->ops[m->pc];
  size_t all = (size_t)op->size * op->place.lanes;
  unsigned char *to = m->values[m->pc];
  memcpy(to, m->values[ins->args[0]], op->size);
  for (size_t done = op->size; done < all; done *= 2)
    memcpy(to + done, to, done <= all - done ? done : all - done);
}

static void run_iota(machine *m, const sm_kir_ins *ins) {
  uint64_t base = (uint64_t)get_i64(m, ins->args[0]);
  for (uint64_t l = 0; l < ins->type.width; l++) {
    uint64_t lane = base + l;
    memcpy(m->values[m->pc] + l * sizeof lane, &lane, sizeof lane);
  }
}

/* Of a value that is the same in all lanes some are kept, and any will do. */
static void run_half(machine *m, const sm_kir_ins *ins) {
  const sm_kir_op *op = &m->program->ops[m->pc];
  size_t kept = m->program->ops[ins->args[0]].place.lanes, first = (size_t)ins->imm.index * ins->type.width;
  for (size_t l = 0; l < op->place.lanes; l++)
    memcpy(m->values[m->pc] + l * op->size, m->values[ins->args[0]] + (first + l) % kept * op->size,
           op->size);
}

static void run_kop(machine *m, const sm_kir_ins *ins) {
  const sm_kir_op *op = &m->program->ops[m->pc];
  const void *in[SM_KIR_ARGS] = {NULL};
  for (int a = 0; a < op->arity; a++) in[a] = m->values[ins->args[a]];
  op->loop(op->place.lanes, m->values[m->pc], in, op->uniform);
}

/* --- Buffers ------------------------------------------------------------------------ */
/* Whether first, first + stride, … are all in [0, n): true for all lanes if it
 * is for the outer two. */
static bool inside(int64_t first, int64_t stride, int64_t width, size_t n) {
  int64_t way, last;
  if (__builtin_mul_overflow(stride, width - 1, &way)) return false;
  if (__builtin_add_overflow(first, way, &last)) return false;
  return first >= 0 && (uint64_t)first < n && last >= 0 && (uint64_t)last < n;
}

/* Whether the vector begins where one of an aligned buffer may. */
static bool begins_well(const machine *m, const sm_kir_ins *ins, int64_t index) {
  bool aligned = m->k->buffers.items[ins->buffer].aligned && ins->args[1] == SM_KIR_NONE;
  return !aligned || index % ins->type.width == 0;
}

/* Finds the first lane's element and the stride of a LOAD or STORE. */
static smelt_status locate(machine *m, const sm_kir_ins *ins, unsigned char **element, int64_t *stride) {
  const sm_kir_span *span = &m->buffers[ins->buffer];
  size_t size = m->program->ops[m->pc].size;
  int64_t index = get_i64(m, ins->args[0]);
  *stride = ins->args[1] == SM_KIR_NONE ? 1 : get_i64(m, ins->args[1]);
  if (inside(index, *stride, ins->type.width, span->bytes / size) && begins_well(m, ins, index)) {
    *element = (unsigned char *)span->data + (size_t)index * size;
    return SMELT_OK;
  }
  return sm_error_set(m->err, SMELT_ERR_INTERNAL,
                      "kernel %s, instruction %" PRId32 ": %u elements of buffer %u from %" PRId64
                      " by %" PRId64 ", but it has %zu%s",
                      m->k->name, m->pc, (unsigned)ins->type.width, (unsigned)ins->buffer, index, *stride,
                      span->bytes / size, begins_well(m, ins, index) ? "" : ", and is aligned");
}

/* Finds the first lane's element of a LOAD_FIRST or STORE_FIRST, and how many lanes are there. */
static smelt_status locate_first(machine *m, const sm_kir_ins *ins, unsigned char **element, size_t *lanes) {
  const sm_kir_span *span = &m->buffers[ins->buffer];
  size_t size = m->program->ops[m->pc].size;
  int64_t index = get_i64(m, ins->args[0]), n = get_i64(m, ins->args[1]);
  bool fits = n >= 0 && n <= ins->type.width && (n == 0 || inside(index, 1, n, span->bytes / size));
  if (!fits) {
    return sm_error_set(m->err, SMELT_ERR_INTERNAL,
                        "kernel %s, instruction %" PRId32 ": the first %" PRId64
                        " of %u elements of buffer %u from %" PRId64 ", but it has %zu",
                        m->k->name, m->pc, n, (unsigned)ins->type.width, (unsigned)ins->buffer, index,
                        span->bytes / size);
  }
  *element = n ? (unsigned char *)span->data + (size_t)index * size : span->data;
  *lanes = (size_t)n;
  return SMELT_OK;
}

/* What follows is asked for next, most of the time: it comes from memory while this
 * is worked on. A hint that may point anywhere. Measured: a tenth less time. */
static void prefetch_following(const unsigned char *element, size_t bytes) {
  enum { LINE = 64 };
  for (size_t at = bytes; at < 2 * bytes; at += LINE) __builtin_prefetch(element + at);
}

static smelt_status run_load(machine *m, const sm_kir_ins *ins) {
  const sm_kir_op *op = &m->program->ops[m->pc];
  unsigned char *element;
  int64_t stride;
  SM_TRY(locate(m, ins, &element, &stride));
  if (op->place.view) {
    m->values[m->pc] = element;
    prefetch_following(element, (size_t)ins->type.width * op->size);
  } else {
    copy_lanes(m->values[m->pc], 1, element, stride, op->size, ins->type.width);
  }
  return SMELT_OK;
}

static smelt_status run_load_first(machine *m, const sm_kir_ins *ins) {
  const sm_kir_op *op = &m->program->ops[m->pc];
  unsigned char *element;
  size_t lanes;
  SM_TRY(locate_first(m, ins, &element, &lanes));
  memset(m->values[m->pc], 0, (size_t)ins->type.width * op->size);
  if (lanes) memcpy(m->values[m->pc], element, lanes * op->size);
  return SMELT_OK;
}

/* Of indices that are the same in all lanes some are kept. */
static smelt_status run_gather(machine *m, const sm_kir_ins *ins) {
  const sm_kir_span *span = &m->buffers[ins->buffer];
  size_t size = m->program->ops[m->pc].size, n = span->bytes / size;
  uint16_t kept = m->program->ops[ins->args[0]].place.lanes;
  for (uint16_t l = 0; l < ins->type.width; l++) {
    int64_t index;
    memcpy(&index, m->values[ins->args[0]] + l % kept * sizeof index, sizeof index);
    if (index < 0 || (uint64_t)index >= n) {
      return sm_error_set(m->err, SMELT_ERR_INTERNAL,
                          "kernel %s, instruction %" PRId32 ": element %" PRId64
                          " of buffer %u, but it has %zu",
                          m->k->name, m->pc, index, (unsigned)ins->buffer, n);
    }
    memcpy(m->values[m->pc] + l * size, (unsigned char *)span->data + (size_t)index * size, size);
  }
  return SMELT_OK;
}

/* Whether the call lets this STORE bypass the caches. */
static bool streams(const machine *m, const sm_kir_ins *ins) {
  bool argument = !m->k->buffers.items[ins->buffer].local, contiguous = ins->args[1] == SM_KIR_NONE;
  bool all_lanes = m->program->ops[ins->args[2]].place.lanes == ins->type.width;
  return m->call->streaming && argument && contiguous && all_lanes;
}

static smelt_status run_store(machine *m, const sm_kir_ins *ins) {
  const sm_kir_op *op = &m->program->ops[m->pc];
  unsigned char *element;
  int64_t stride;
  SM_TRY(locate(m, ins, &element, &stride));
  if (streams(m, ins))
    sm_copy_streaming(element, m->values[ins->args[2]], (size_t)ins->type.width * op->size);
  else spread(m, ins->args[2], element, stride);
  return SMELT_OK;
}

static smelt_status run_store_first(machine *m, const sm_kir_ins *ins) {
  unsigned char *element;
  size_t lanes;
  SM_TRY(locate_first(m, ins, &element, &lanes));
  spread_first(m, ins->args[2], (int64_t)lanes, element, 1);
  return SMELT_OK;
}

/* --- Carried values ------------------------------------------------------------------- */
static void copy_value(machine *m, int32_t to, int32_t from) { spread(m, from, m->values[to], 1); }

/* What the CARRYs of the FOR at `at` hold in the first round. */
static void start_carries(machine *m, int32_t at) {
  int32_t end = at + 1 + sm_kir_carries(m->k, at);
  for (int32_t carry = at + 1; carry < end; carry++) copy_value(m, carry, m->k->ins.items[carry].args[0]);
}

/* From the places of the NEXTs before the END at `end` to those of the CARRYs: only
 * when all NEXTs have read theirs. */
static void advance_carries(machine *m, int32_t at, int32_t end) {
  int32_t n = sm_kir_carries(m->k, at);
  for (int32_t c = 0; c < n; c++) copy_value(m, at + 1 + c, end - n + c);
}

/* --- Loops ---------------------------------------------------------------------------- */
static void run_for(machine *m, const sm_kir_ins *ins) {
  int64_t begin = get_i64(m, ins->args[0]), end = get_i64(m, ins->args[1]);
  set_i64(m, m->pc, begin);
  start_carries(m, m->pc);
  if (begin < end) {
    m->loops[m->depth++] = (loop){m->pc, end};
  } else {
    m->pc = m->program->ops[m->pc].end;
  }
}

/* Back to the first instruction of the body, or on after the last round. */
static void run_end(machine *m) {
  const loop *l = &m->loops[m->depth - 1];
  int64_t next;
  advance_carries(m, l->at, m->pc);
  bool overflow = __builtin_add_overflow(get_i64(m, l->at), m->k->ins.items[l->at].imm.step, &next);
  if (overflow || next >= l->end) {
    m->depth--;
  } else {
    set_i64(m, l->at, next);
    m->pc = l->at;
  }
}

static smelt_status run_ins(machine *m, const sm_kir_ins *ins) {
  switch ((sm_kir_kind)ins->kind) {
    case SM_KIR_CONST:
      set_word(m, ins, &ins->imm.constant);
      break;
    case SM_KIR_SIZE:
      set_i64(m, m->pc, m->call->sizes[ins->imm.index]);
      break;
    case SM_KIR_SCALAR:
      set_word(m, ins, &m->call->scalars[ins->imm.index]);
      break;
    case SM_KIR_TABLE:
      return run_table(m, ins);
    case SM_KIR_CHUNK_BEGIN:
      set_i64(m, m->pc, m->call->begin);
      break;
    case SM_KIR_CHUNK_END:
      set_i64(m, m->pc, m->call->end);
      break;
    case SM_KIR_MEMBER:
      set_i64(m, m->pc, m->member);
      break;
    case SM_KIR_FOR:
      run_for(m, ins);
      break;
    case SM_KIR_END:
      run_end(m);
      break;
    case SM_KIR_CARRY:
      break;
    case SM_KIR_NEXT:
      copy_value(m, m->pc, ins->args[1]);
      break;
    case SM_KIR_RESULT:
      copy_value(m, m->pc, ins->args[0]);
      break;
    case SM_KIR_SPLAT:
      run_splat(m, ins);
      break;
    case SM_KIR_IOTA:
      run_iota(m, ins);
      break;
    case SM_KIR_HALF:
      run_half(m, ins);
      break;
    case SM_KIR_KOP:
      run_kop(m, ins);
      break;
    case SM_KIR_LOAD:
      return run_load(m, ins);
    case SM_KIR_GATHER:
      return run_gather(m, ins);
    case SM_KIR_STORE:
      return run_store(m, ins);
    case SM_KIR_LOAD_FIRST:
      return run_load_first(m, ins);
    case SM_KIR_STORE_FIRST:
      return run_store_first(m, ins);
    case SM_KIR_PREFETCH:
    case SM_KIR_FENCE:
    case SM_KIR_BARRIER:
    case SM_KIR_SHUFFLE: /* by the group */
      break;
    case SM_KIR_KIND_COUNT:
      break;
  }
  return SMELT_OK;
}

/* To the next BARRIER or SHUFFLE, or to the end. */
static smelt_status run_on(machine *m) {
  smelt_status status = SMELT_OK;
  int32_t n = (int32_t)m->k->ins.len;
  for (bool waits = false; status == SMELT_OK && m->pc < n && !waits; m->pc++) {
    const sm_kir_ins *ins = &m->k->ins.items[m->pc];
    waits = ins->kind == SM_KIR_BARRIER || ins->kind == SM_KIR_SHUFFLE;
    status = run_ins(m, ins);
  }
  return status;
}

/* --- Groups: a machine a thread --------------------------------------------------------- */

/* Shared buffers are those of the first. */
static void share_buffers(const machine *first, machine *m) {
  for (size_t i = 0; i < m->k->buffers.len; i++) {
    if (m->k->buffers.items[i].shared) m->buffers[i] = first->buffers[i];
  }
}

/* What all have come to, if it is a SHUFFLE. */
static void shuffle(machine *threads, int n) {
  int32_t at = threads->pc - 1;
  const sm_kir_ins *ins = &threads->k->ins.items[at];
  if (ins->kind != SM_KIR_SHUFFLE) return;
  for (int t = 0; t < n; t++) spread(&threads[t ^ ins->imm.index], ins->args[0], threads[t].values[at], 1);
}

/* All from BARRIER or SHUFFLE to the next: they come to the same ones. */
static smelt_status run_together(machine *threads, int n) {
  smelt_status status = SMELT_OK;
  while (status == SMELT_OK && threads->pc < (int32_t)threads->k->ins.len) {
    for (int t = 0; t < n && status == SMELT_OK; t++) status = run_on(&threads[t]);
    if (status == SMELT_OK) shuffle(threads, n);
  }
  return status;
}

static smelt_status run_group(const machine *one, smelt_error *err) {
  int n = one->k->threads, opened = 0;
  machine *threads = sm_calloc(one->k->allocator, (size_t)n, sizeof *threads);
  smelt_status status = threads ? SMELT_OK : sm_error_memory(err, "the threads of a kernel");
  for (; opened < n && status == SMELT_OK; opened += status == SMELT_OK) {
    threads[opened] = *one;
    threads[opened].member = opened;
    status = machine_open(&threads[opened]);
    if (status == SMELT_OK) share_buffers(threads, &threads[opened]);
  }
  if (status == SMELT_OK) status = run_together(threads, n);
  while (opened > 0) machine_close(&threads[--opened]);
  sm_free(one->k->allocator, threads, (size_t)n * sizeof *threads);
  return status;
}

smelt_status sm_kir_run(const sm_kir_program *p, const sm_kir_call *call, smelt_error *err) {
  machine m = {.program = p, .k = p->k, .call = call, .err = err};
  if (p->k->threads) return run_group(&m, err);
  SM_TRY(machine_open(&m));
  smelt_status status = run_on(&m);
  if (call->streaming) sm_fence_streaming();
  machine_close(&m);
  return status;
}

smelt_status sm_kir_eval(const sm_kir_kernel *k, const sm_kir_call *call, smelt_error *err) {
  sm_kir_program program;
  SM_TRY(sm_kir_prepare(k, SM_CPU_BASELINE, &program, err));
  smelt_status status = sm_kir_run(&program, call, err);
  sm_kir_program_free(&program);
  return status;
}
