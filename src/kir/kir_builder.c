/* SPDX-License-Identifier: Apache-2.0
 *
 * Building kernels. Adders never judge: what does not fit the record becomes a
 * number the verifier refuses. */
#include <string.h>

#include "base/error.h"
#include "kir/kir.h"

static const sm_kir_type i64_type = {SMELT_I64, 1};

void sm_kir_init(sm_kir_kernel *k, const sm_allocator *allocator) {
  *k = (sm_kir_kernel){.allocator = allocator};
}

void sm_kir_free(sm_kir_kernel *k) {
  sm_vec_free(k->allocator, &k->buffers);
  sm_vec_free(k->allocator, &k->scalars);
  sm_vec_free(k->allocator, &k->ins);
  sm_kir_init(k, k->allocator);
}

/* The index of the element just appended; 0 and a failed kernel if it was not. */
static int pushed(sm_kir_kernel *k, bool ok, size_t len) {
  if (ok && len <= INT32_MAX) return (int)(len - 1);
  k->failed = true;
  return 0;
}

int sm_kir_add_buffer(sm_kir_kernel *k, smelt_dtype dtype, bool written) {
  bool ok = sm_vec_push(k->allocator, &k->buffers, (sm_kir_buffer){.dtype = dtype, .written = written});
  return pushed(k, ok, k->buffers.len);
}

void sm_kir_align_buffer(sm_kir_kernel *k, int buffer) {
  if (!k->failed) k->buffers.items[buffer].aligned = true;
}

int sm_kir_add_local(sm_kir_kernel *k, smelt_dtype dtype, uint32_t elements) {
  bool ok = sm_vec_push(k->allocator, &k->buffers,
                        (sm_kir_buffer){.dtype = dtype, .written = true, .local = elements});
  return pushed(k, ok, k->buffers.len);
}

int sm_kir_add_shared(sm_kir_kernel *k, smelt_dtype dtype, uint32_t elements) {
  bool ok = sm_vec_push(k->allocator, &k->buffers,
                        (sm_kir_buffer){.dtype = dtype, .written = true, .local = elements, .shared = true});
  return pushed(k, ok, k->buffers.len);
}

int sm_kir_add_scalar(sm_kir_kernel *k, smelt_dtype dtype) {
  bool ok = sm_vec_push(k->allocator, &k->scalars, dtype);
  return pushed(k, ok, k->scalars.len);
}

int sm_kir_add_size(sm_kir_kernel *k) { return k->n_sizes++; }

static int32_t add(sm_kir_kernel *k, sm_kir_ins ins) {
  bool ok = !k->failed && sm_vec_push(k->allocator, &k->ins, ins);
  return pushed(k, ok, k->ins.len);
}

/* An instruction with its unused arguments marked as such. */
static sm_kir_ins make(sm_kir_kind kind, sm_kir_type type, int32_t a, int32_t b, int32_t c) {
  return (sm_kir_ins){.kind = (uint8_t)kind, .type = type, .args = {a, b, c}};
}

static sm_kir_ins make_leaf(sm_kir_kind kind, sm_kir_type type) {
  return make(kind, type, SM_KIR_NONE, SM_KIR_NONE, SM_KIR_NONE);
}

/* The type of an argument; no type at all if there is no such instruction. */
static sm_kir_type type_of(const sm_kir_kernel *k, int32_t value) {
  bool exists = value >= 0 && (size_t)value < k->ins.len;
  return exists ? k->ins.items[value].type : (sm_kir_type){SMELT_DTYPE_NONE, 0};
}

static uint16_t narrow(int value, uint16_t otherwise) {
  return value >= 0 && value <= UINT16_MAX ? (uint16_t)value : otherwise;
}

/* No vector has width 0 and no buffer the number UINT16_MAX. */
static uint16_t width_of(int width) { return narrow(width, 0); }
static uint16_t buffer_of(int buffer) { return narrow(buffer, UINT16_MAX); }

int32_t sm_kir_const(sm_kir_kernel *k, smelt_dtype dtype, sm_word value) {
  sm_kir_ins ins = make_leaf(SM_KIR_CONST, (sm_kir_type){dtype, 1});
  ins.imm.constant = value;
  return add(k, ins);
}

int32_t sm_kir_i64(sm_kir_kernel *k, int64_t value) {
  return sm_kir_const(k, SMELT_I64, (sm_word){.I64 = value});
}

int32_t sm_kir_size(sm_kir_kernel *k, int index) {
  sm_kir_ins ins = make_leaf(SM_KIR_SIZE, i64_type);
  ins.imm.index = index;
  return add(k, ins);
}

int32_t sm_kir_scalar(sm_kir_kernel *k, int index) {
  bool exists = index >= 0 && (size_t)index < k->scalars.len;
  smelt_dtype dtype = exists ? k->scalars.items[index] : SMELT_DTYPE_NONE;
  sm_kir_ins ins = make_leaf(SM_KIR_SCALAR, (sm_kir_type){dtype, 1});
  ins.imm.index = index;
  return add(k, ins);
}

int32_t sm_kir_table(sm_kir_kernel *k, smelt_dtype dtype, int32_t element) {
  return add(k, make(SM_KIR_TABLE, (sm_kir_type){dtype, 1}, element, SM_KIR_NONE, SM_KIR_NONE));
}

int32_t sm_kir_chunk_begin(sm_kir_kernel *k) { return add(k, make_leaf(SM_KIR_CHUNK_BEGIN, i64_type)); }

int32_t sm_kir_chunk_end(sm_kir_kernel *k) { return add(k, make_leaf(SM_KIR_CHUNK_END, i64_type)); }

int32_t sm_kir_for(sm_kir_kernel *k, int32_t begin, int32_t end, int64_t step) {
  sm_kir_ins ins = make(SM_KIR_FOR, i64_type, begin, end, SM_KIR_NONE);
  ins.imm.step = step;
  return add(k, ins);
}

void sm_kir_end(sm_kir_kernel *k) { (void)add(k, make_leaf(SM_KIR_END, (sm_kir_type){SMELT_DTYPE_NONE, 0})); }

int32_t sm_kir_carry(sm_kir_kernel *k, int32_t start) {
  return add(k, make(SM_KIR_CARRY, type_of(k, start), start, SM_KIR_NONE, SM_KIR_NONE));
}

void sm_kir_next(sm_kir_kernel *k, int32_t carry, int32_t value) {
  (void)add(k, make(SM_KIR_NEXT, type_of(k, value), carry, value, SM_KIR_NONE));
}

int32_t sm_kir_result(sm_kir_kernel *k, int32_t carry) {
  return add(k, make(SM_KIR_RESULT, type_of(k, carry), carry, SM_KIR_NONE, SM_KIR_NONE));
}

int32_t sm_kir_splat(sm_kir_kernel *k, int32_t value, int width) {
  sm_kir_type type = {type_of(k, value).dtype, width_of(width)};
  return add(k, make(SM_KIR_SPLAT, type, value, SM_KIR_NONE, SM_KIR_NONE));
}

int32_t sm_kir_iota(sm_kir_kernel *k, int32_t base, int width) {
  sm_kir_type type = {SMELT_I64, width_of(width)};
  return add(k, make(SM_KIR_IOTA, type, base, SM_KIR_NONE, SM_KIR_NONE));
}

int32_t sm_kir_half(sm_kir_kernel *k, int32_t vector, int which) {
  sm_kir_type type = type_of(k, vector);
  type.width /= 2;
  sm_kir_ins ins = make(SM_KIR_HALF, type, vector, SM_KIR_NONE, SM_KIR_NONE);
  ins.imm.index = which;
  return add(k, ins);
}

int32_t sm_kir_kop(sm_kir_kernel *k, sm_kop kop, int32_t a, int32_t b, int32_t c, smelt_dtype to) {
  sm_kir_type type = type_of(k, a);
  switch (sm_kop_info_of(kop)->result) {
    case SM_RESULT_SELECT:
      type.dtype = type_of(k, b).dtype;
      break;
    case SM_RESULT_CONVERT:
      type.dtype = to;
      break;
    default:
      type.dtype = sm_kop_result_dtype(kop, type.dtype);
      break;
  }
  sm_kir_ins ins = make(SM_KIR_KOP, type, a, b, c);
  ins.kop = (uint8_t)kop;
  return add(k, ins);
}

static smelt_dtype buffer_dtype(const sm_kir_kernel *k, int buffer) {
  bool exists = buffer >= 0 && (size_t)buffer < k->buffers.len;
  return exists ? k->buffers.items[buffer].dtype : SMELT_DTYPE_NONE;
}

int32_t sm_kir_load(sm_kir_kernel *k, int buffer, int32_t index, int32_t stride, int width) {
  sm_kir_type type = {buffer_dtype(k, buffer), width_of(width)};
  sm_kir_ins ins = make(SM_KIR_LOAD, type, index, stride, SM_KIR_NONE);
  ins.buffer = buffer_of(buffer);
  return add(k, ins);
}

int32_t sm_kir_load_first(sm_kir_kernel *k, int buffer, int32_t index, int32_t lanes, int width) {
  sm_kir_type type = {buffer_dtype(k, buffer), width_of(width)};
  sm_kir_ins ins = make(SM_KIR_LOAD_FIRST, type, index, lanes, SM_KIR_NONE);
  ins.buffer = buffer_of(buffer);
  return add(k, ins);
}

int32_t sm_kir_gather(sm_kir_kernel *k, int buffer, int32_t indices) {
  sm_kir_type type = {buffer_dtype(k, buffer), type_of(k, indices).width};
  sm_kir_ins ins = make(SM_KIR_GATHER, type, indices, SM_KIR_NONE, SM_KIR_NONE);
  ins.buffer = buffer_of(buffer);
  return add(k, ins);
}

static void add_store(sm_kir_kernel *k, int buffer, int32_t index, int32_t stride, int32_t value,
                      bool streaming) {
  sm_kir_ins ins = make(SM_KIR_STORE, type_of(k, value), index, stride, value);
  ins.buffer = buffer_of(buffer);
  ins.imm.streaming = streaming;
  (void)add(k, ins);
}

void sm_kir_store(sm_kir_kernel *k, int buffer, int32_t index, int32_t stride, int32_t value) {
  add_store(k, buffer, index, stride, value, false);
}

void sm_kir_store_first(sm_kir_kernel *k, int buffer, int32_t index, int32_t lanes, int32_t value) {
  sm_kir_ins ins = make(SM_KIR_STORE_FIRST, type_of(k, value), index, lanes, value);
  ins.buffer = buffer_of(buffer);
  (void)add(k, ins);
}

void sm_kir_stream(sm_kir_kernel *k, int buffer, int32_t index, int32_t value) {
  add_store(k, buffer, index, SM_KIR_NONE, value, true);
}

void sm_kir_prefetch(sm_kir_kernel *k, int buffer, int32_t index, int width) {
  sm_kir_ins ins = make(SM_KIR_PREFETCH, (sm_kir_type){buffer_dtype(k, buffer), width_of(width)}, index,
                        SM_KIR_NONE, SM_KIR_NONE);
  ins.buffer = buffer_of(buffer);
  (void)add(k, ins);
}

void sm_kir_fence(sm_kir_kernel *k) {
  (void)add(k, make_leaf(SM_KIR_FENCE, (sm_kir_type){SMELT_DTYPE_NONE, 0}));
}

int32_t sm_kir_shuffle(sm_kir_kernel *k, int32_t value, int digit) {
  sm_kir_ins ins = make(SM_KIR_SHUFFLE, type_of(k, value), value, SM_KIR_NONE, SM_KIR_NONE);
  ins.imm.index = digit;
  return add(k, ins);
}

int32_t sm_kir_member(sm_kir_kernel *k) { return add(k, make_leaf(SM_KIR_MEMBER, i64_type)); }

void sm_kir_barrier(sm_kir_kernel *k) {
  (void)add(k, make_leaf(SM_KIR_BARRIER, (sm_kir_type){SMELT_DTYPE_NONE, 0}));
}

int32_t sm_kir_copy(sm_kir_kernel *k, const sm_kir_ins *ins, const int32_t *renamed) {
  sm_kir_ins copy = *ins;
  for (int a = 0; a < SM_KIR_ARGS; a++) {
    if (copy.args[a] != SM_KIR_NONE) copy.args[a] = renamed[copy.args[a]];
  }
  return add(k, copy);
}

void sm_kir_copy_signature(const sm_kir_kernel *in, sm_kir_kernel *out) {
  sm_kir_init(out, in->allocator);
  memcpy(out->name, in->name, sizeof out->name);
  out->n_sizes = in->n_sizes;
  out->threads = in->threads;
  out->grain = in->grain;
  out->narrow = in->narrow;
  for (size_t i = 0; i < in->buffers.len; i++) {
    bool ok = sm_vec_push(out->allocator, &out->buffers, in->buffers.items[i]);
    (void)pushed(out, ok, out->buffers.len);
  }
  for (size_t i = 0; i < in->scalars.len; i++) (void)sm_kir_add_scalar(out, in->scalars.items[i]);
}

smelt_status sm_kir_built(const sm_kir_kernel *k, smelt_error *err) {
  return k->failed ? sm_error_memory(err, "the instructions of a kernel") : SMELT_OK;
}

smelt_status sm_kir_finish(sm_kir_kernel *k, smelt_error *err) {
  SM_TRY(sm_kir_built(k, err));
  return sm_kir_verify(k, err);
}
