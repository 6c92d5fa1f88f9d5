/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel evaluator: a program counter, one place in memory for every value,
 * a stack of the loops that are running. It relies on the verifier's word, but
 * checks every access to a buffer before it is made. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "kir/kir_storage.h"

typedef struct loop {
  int32_t at; /* the FOR; its value is the counter */
  int64_t end;
} loop;

typedef struct machine {
  const sm_kir_kernel *k;
  const sm_kir_call *call;
  smelt_error *err;
  int32_t pc;
  unsigned char **values; /* where each instruction's value is */
  loop *loops;
  size_t depth;         /* loops that are running */
  sm_kir_span *buffers; /* the call's, then the local ones */
  size_t bytes;         /* of the block that begins at `values` */
} machine;

/* --- Memory ---------------------------------------------------------------------- */
static size_t local_bytes(const sm_kir_buffer *b) {
  return (b->local * smelt_dtype_size(b->dtype) + sizeof(sm_word) - 1) / sizeof(sm_word) * sizeof(sm_word);
}

static size_t all_local_bytes(const sm_kir_kernel *k) {
  size_t bytes = 0;
  for (size_t i = 0; i < k->buffers.len; i++) bytes += local_bytes(&k->buffers.items[i]);
  return bytes;
}

static size_t count_loops(const sm_kir_kernel *k) {
  size_t n = 0;
  for (size_t i = 0; i < k->ins.len; i++) n += k->ins.items[i].kind == SM_KIR_FOR;
  return n;
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

/* One block: pointers to the values, loops, spans, the values, local buffers. */
static bool allocate(machine *m, const size_t *offsets, size_t value_bytes) {
  const sm_kir_kernel *k = m->k;
  size_t n = k->ins.len, loops_at = n * sizeof *m->values;
  size_t spans_at = loops_at + count_loops(k) * sizeof *m->loops;
  size_t values_at = spans_at + k->buffers.len * sizeof *m->buffers;
  m->bytes = values_at + value_bytes + all_local_bytes(k);
  unsigned char *block = sm_alloc(k->allocator, m->bytes);
  if (!block) return false;
  m->values = (unsigned char **)(void *)block;
  m->loops = (loop *)(void *)(block + loops_at);
  m->buffers = (sm_kir_span *)(void *)(block + spans_at);
  for (size_t i = 0; i < n; i++) m->values[i] = block + values_at + offsets[i];
  bind_buffers(m, block + values_at + value_bytes);
  return true;
}

static smelt_status machine_open(machine *m) {
  size_t n = m->k->ins.len, value_bytes;
  size_t *offsets = sm_calloc(m->k->allocator, n, sizeof *offsets);
  bool ok = offsets && sm_kir_place_values(m->k, offsets, &value_bytes) && allocate(m, offsets, value_bytes);
  sm_free(m->k->allocator, offsets, n * sizeof *offsets);
  return ok ? SMELT_OK : sm_error_memory(m->err, "the values of a kernel");
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

/* What is there is doubled until all lanes are. */
static void run_splat(machine *m, const sm_kir_ins *ins) {
  size_t size = smelt_dtype_size(ins->type.dtype), all = size * ins->type.width;
  unsigned char *to = m->values[m->pc];
  memcpy(to, m->values[ins->args[0]], size);
  for (size_t done = size; done < all; done *= 2)
    memcpy(to + done, to, done <= all - done ? done : all - done);
}

static void run_iota(machine *m, const sm_kir_ins *ins) {
  uint64_t base = (uint64_t)get_i64(m, ins->args[0]);
  for (uint64_t l = 0; l < ins->type.width; l++) {
    uint64_t lane = base + l;
    memcpy(m->values[m->pc] + l * sizeof lane, &lane, sizeof lane);
  }
}

static void run_kop(machine *m, const sm_kir_ins *ins) {
  sm_kop kop = (sm_kop)ins->kop;
  bool is_select = sm_kop_info_of(kop)->result == SM_RESULT_SELECT;
  smelt_dtype dtype = m->k->ins.items[ins->args[is_select]].type.dtype;
  const void *in[SM_KIR_ARGS] = {NULL};
  for (int a = 0; a < sm_kop_info_of(kop)->arity; a++) in[a] = m->values[ins->args[a]];
  sm_kop_loop *loop_of = sm_kop_eval_level(m->call->level, kop, dtype, ins->type.dtype);
  loop_of(ins->type.width, m->values[m->pc], in);
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

/* Finds the first lane's element and the stride of a LOAD or STORE. */
static smelt_status locate(machine *m, const sm_kir_ins *ins, unsigned char **element, int64_t *stride) {
  const sm_kir_span *span = &m->buffers[ins->buffer];
  size_t size = smelt_dtype_size(ins->type.dtype);
  int64_t index = get_i64(m, ins->args[0]);
  *stride = ins->args[1] == SM_KIR_NONE ? 1 : get_i64(m, ins->args[1]);
  if (inside(index, *stride, ins->type.width, span->bytes / size)) {
    *element = (unsigned char *)span->data + (size_t)index * size;
    return SMELT_OK;
  }
  return sm_error_set(m->err, SMELT_ERR_INTERNAL,
                      "kernel %s, instruction %" PRId32 ": %u elements of buffer %u from %" PRId64
                      " by %" PRId64 ", but it has %zu",
                      m->k->name, m->pc, (unsigned)ins->type.width, (unsigned)ins->buffer, index, *stride,
                      span->bytes / size);
}

static smelt_status run_load(machine *m, const sm_kir_ins *ins) {
  unsigned char *element;
  int64_t stride;
  SM_TRY(locate(m, ins, &element, &stride));
  copy_lanes(m->values[m->pc], 1, element, stride, smelt_dtype_size(ins->type.dtype), ins->type.width);
  return SMELT_OK;
}

static smelt_status run_store(machine *m, const sm_kir_ins *ins) {
  unsigned char *element;
  int64_t stride;
  SM_TRY(locate(m, ins, &element, &stride));
  const unsigned char *value = m->values[ins->args[2]];
  copy_lanes(element, stride, value, 1, smelt_dtype_size(ins->type.dtype), ins->type.width);
  return SMELT_OK;
}

/* --- Carried values ------------------------------------------------------------------- */
static void copy_value(machine *m, int32_t to, int32_t from) {
  sm_kir_type type = m->k->ins.items[to].type;
  memcpy(m->values[to], m->values[from], smelt_dtype_size(type.dtype) * type.width);
}

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
/* The END that belongs to the FOR at `at`. */
static int32_t matching_end(const sm_kir_kernel *k, int32_t at) {
  int depth = 1;
  while (depth > 0) {
    uint8_t kind = k->ins.items[++at].kind;
    depth += (kind == SM_KIR_FOR) - (kind == SM_KIR_END);
  }
  return at;
}

static void run_for(machine *m, const sm_kir_ins *ins) {
  int64_t begin = get_i64(m, ins->args[0]), end = get_i64(m, ins->args[1]);
  set_i64(m, m->pc, begin);
  start_carries(m, m->pc);
  if (begin < end) {
    m->loops[m->depth++] = (loop){m->pc, end};
  } else {
    m->pc = matching_end(m->k, m->pc);
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
    case SM_KIR_KOP:
      run_kop(m, ins);
      break;
    case SM_KIR_LOAD:
      return run_load(m, ins);
    case SM_KIR_STORE:
      return run_store(m, ins);
    case SM_KIR_PREFETCH:
    case SM_KIR_FENCE:
      break;
    case SM_KIR_KIND_COUNT:
      break;
  }
  return SMELT_OK;
}

smelt_status sm_kir_eval(const sm_kir_kernel *k, const sm_kir_call *call, smelt_error *err) {
  machine m = {.k = k, .call = call, .err = err};
  SM_TRY(machine_open(&m));
  smelt_status status = SMELT_OK;
  for (; status == SMELT_OK && (size_t)m.pc < k->ins.len; m.pc++) status = run_ins(&m, &k->ins.items[m.pc]);
  machine_close(&m);
  return status;
}
