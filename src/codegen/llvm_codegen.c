/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/llvm_codegen.h"

#include <string.h>

#include "codegen/llvm_emitter.h"
#include "codegen/llvm_machine.h"
#include "codegen/llvm_regions.h"

/* --- Function and arguments -------------------------------------------------------------- */

enum { PARAM_BUFFERS, PARAM_SIZES, PARAM_SCALARS, PARAM_BEGIN, PARAM_END, N_PARAMS };

static LLVMTypeRef pointer_type(const sm_llvm_emitter *e) {
  return e->llvm->LLVMPointerTypeInContext(e->context, 0);
}
static LLVMTypeRef int_type(const sm_llvm_emitter *e, unsigned bits) {
  return e->llvm->LLVMIntTypeInContext(e->context, bits);
}

static void add_attributes(const sm_llvm_emitter *e) {
  const sm_llvm *l = e->llvm;
  unsigned nounwind = l->LLVMGetEnumAttributeKindForName("nounwind", 8);
  const unsigned of_function = (unsigned)-1;
  l->LLVMAddAttributeAtIndex(e->function, of_function, l->LLVMCreateEnumAttribute(e->context, nounwind, 0));
  LLVMAttributeRef frame = l->LLVMCreateStringAttribute(e->context, "frame-pointer", 13, "all", 3);
  l->LLVMAddAttributeAtIndex(e->function, of_function, frame);
  /* A frame of many pages is touched page by page: where a thread's stack is too
   * small, its guard page stops it before it writes into other memory. */
  LLVMAttributeRef probe = l->LLVMCreateStringAttribute(e->context, "probe-stack", 11, "inline-asm", 10);
  l->LLVMAddAttributeAtIndex(e->function, of_function, probe);
}

static void begin_function(sm_llvm_emitter *e) {
  const sm_llvm *l = e->llvm;
  LLVMTypeRef pointer = pointer_type(e), i64 = int_type(e, 64);
  LLVMTypeRef params[N_PARAMS] = {pointer, pointer, pointer, i64, i64};
  LLVMTypeRef type = l->LLVMFunctionType(l->LLVMVoidTypeInContext(e->context), params, N_PARAMS, 0);
  e->function = l->LLVMAddFunction(e->module, SM_OBJECT_ENTRY, type);
  add_attributes(e);
  LLVMBasicBlockRef entry = l->LLVMAppendBasicBlockInContext(e->context, e->function, "entry");
  l->LLVMPositionBuilderAtEnd(e->builder, entry);
}

/* &base[index] for elements of `type`. */
static LLVMValueRef element_address(const sm_llvm_emitter *e, LLVMTypeRef type, LLVMValueRef base,
                                    LLVMValueRef index) {
  return e->llvm->LLVMBuildGEP2(e->builder, type, base, &index, 1, "");
}

static LLVMValueRef load(const sm_llvm_emitter *e, LLVMTypeRef type, LLVMValueRef address,
                         unsigned alignment) {
  LLVMValueRef value = e->llvm->LLVMBuildLoad2(e->builder, type, address, "");
  e->llvm->LLVMSetAlignment(value, alignment);
  return value;
}

/* Argument `index` of an array of 8-byte entries. */
static LLVMValueRef load_argument_at(const sm_llvm_emitter *e, int param, LLVMValueRef index,
                                     LLVMTypeRef type) {
  LLVMValueRef array = e->llvm->LLVMGetParam(e->function, (unsigned)param);
  return load(e, type, element_address(e, int_type(e, 64), array, index), 8);
}

static LLVMValueRef load_argument(const sm_llvm_emitter *e, int param, uint64_t index, LLVMTypeRef type) {
  return load_argument_at(e, param, e->llvm->LLVMConstInt(int_type(e, 64), index, 0), type);
}

/* --- Memory -------------------------------------------------------------------------------- */

/* Bools are bytes in memory. */
static LLVMTypeRef memory_type(const sm_llvm_emitter *e, smelt_dtype dtype, int width) {
  return sm_llvm_type(e, dtype == SMELT_BOOL ? SMELT_U8 : dtype, width);
}

static LLVMValueRef from_memory(const sm_llvm_emitter *e, smelt_dtype dtype, int width, LLVMValueRef value) {
  if (dtype != SMELT_BOOL) return value;
  return e->llvm->LLVMBuildICmp(e->builder, SM_LLVM_NE, value, sm_llvm_int(e, SMELT_U8, width, 0), "");
}

static LLVMValueRef to_memory(const sm_llvm_emitter *e, smelt_dtype dtype, int width, LLVMValueRef value) {
  if (dtype != SMELT_BOOL) return value;
  return e->llvm->LLVMBuildZExt(e->builder, value, memory_type(e, dtype, width), "");
}

static LLVMValueRef make_local(const sm_llvm_emitter *e, const sm_kir_buffer *buffer) {
  LLVMValueRef count = e->llvm->LLVMConstInt(int_type(e, 64), buffer->local, 0);
  LLVMTypeRef element = memory_type(e, buffer->dtype, 1);
  LLVMValueRef data = e->llvm->LLVMBuildArrayAlloca(e->builder, element, count, "");
  e->llvm->LLVMSetAlignment(data, 64);
  return data;
}

/* At the function's entry: nothing later would move loads of the pointers out
 * of the loops. */
static void bind_buffers(const sm_llvm_emitter *e) {
  for (size_t i = 0; i < e->kernel->buffers.len; i++) {
    const sm_kir_buffer *buffer = &e->kernel->buffers.items[i];
    e->data[i] = buffer->local ? make_local(e, buffer) : load_argument(e, PARAM_BUFFERS, i, pointer_type(e));
  }
}

static LLVMValueRef lane_number(const sm_llvm_emitter *e, int lane) {
  return e->llvm->LLVMConstInt(int_type(e, 32), (unsigned long long)lane, 0);
}

/* The address of lane `lane` of a strided access. */
static LLVMValueRef lane_address(const sm_llvm_emitter *e, const sm_kir_ins *ins, LLVMTypeRef element,
                                 LLVMValueRef data, int lane) {
  const sm_llvm *l = e->llvm;
  LLVMValueRef number = l->LLVMConstInt(int_type(e, 64), (unsigned long long)lane, 0);
  LLVMValueRef offset = l->LLVMBuildMul(e->builder, e->values[ins->args[1]], number, "");
  LLVMValueRef index = l->LLVMBuildAdd(e->builder, e->values[ins->args[0]], offset, "");
  return element_address(e, element, data, index);
}

static LLVMValueRef emit_strided_load(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  const sm_llvm *l = e->llvm;
  unsigned size = sm_dtype_info_of(ins->type.dtype)->size;
  LLVMTypeRef element = memory_type(e, ins->type.dtype, 1);
  LLVMValueRef data = e->data[ins->buffer];
  LLVMValueRef vector = l->LLVMGetUndef(memory_type(e, ins->type.dtype, ins->type.width));
  for (int lane = 0; lane < ins->type.width; lane++) {
    LLVMValueRef value = load(e, element, lane_address(e, ins, element, data, lane), size);
    vector = l->LLVMBuildInsertElement(e->builder, vector, value, lane_number(e, lane), "");
  }
  return from_memory(e, ins->type.dtype, ins->type.width, vector);
}

/* Lane by lane. Measured: the instruction that processors have for it is no faster, and it
 * is for some sizes only. */
static LLVMValueRef emit_gather(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  const sm_llvm *l = e->llvm;
  unsigned size = sm_dtype_info_of(ins->type.dtype)->size;
  int width = ins->type.width;
  LLVMTypeRef element = memory_type(e, ins->type.dtype, 1);
  LLVMValueRef data = e->data[ins->buffer], indices = e->values[ins->args[0]];
  LLVMValueRef vector = l->LLVMGetUndef(memory_type(e, ins->type.dtype, width));
  for (int lane = 0; lane < width; lane++) {
    LLVMValueRef number = lane_number(e, lane);
    LLVMValueRef index = width == 1 ? indices : l->LLVMBuildExtractElement(e->builder, indices, number, "");
    LLVMValueRef value = load(e, element, element_address(e, element, data, index), size);
    vector = width == 1 ? value : l->LLVMBuildInsertElement(e->builder, vector, value, number, "");
  }
  return from_memory(e, ins->type.dtype, width, vector);
}

static LLVMValueRef emit_load(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  smelt_dtype dtype = ins->type.dtype;
  int width = ins->type.width;
  if (ins->args[1] != SM_KIR_NONE && width > 1) return emit_strided_load(e, ins);
  LLVMValueRef data = e->data[ins->buffer];
  LLVMValueRef address = element_address(e, memory_type(e, dtype, 1), data, e->values[ins->args[0]]);
  LLVMValueRef value = load(e, memory_type(e, dtype, width), address, sm_dtype_info_of(dtype)->size);
  return from_memory(e, dtype, width, value);
}

static LLVMValueRef store(const sm_llvm_emitter *e, LLVMValueRef value, LLVMValueRef address,
                          unsigned alignment) {
  LLVMValueRef instruction = e->llvm->LLVMBuildStore(e->builder, value, address);
  e->llvm->LLVMSetAlignment(instruction, alignment);
  return instruction;
}

/* Only whole vectors stream, to addresses that are multiples of their size. */
static void stream(const sm_llvm_emitter *e, LLVMValueRef value, LLVMValueRef address, unsigned bytes) {
  const sm_llvm *l = e->llvm;
  LLVMValueRef one = l->LLVMConstInt(int_type(e, 32), 1, 0);
  unsigned kind = l->LLVMGetMDKindIDInContext(e->context, "nontemporal", 11);
  unsigned widest = (unsigned)sm_cpu_vector_bytes(e->level);
  LLVMValueRef instruction = store(e, value, address, bytes < widest ? bytes : widest);
  l->LLVMSetMetadata(instruction, kind, l->LLVMMDNodeInContext(e->context, &one, 1));
}

static void emit_store(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  smelt_dtype dtype = ins->type.dtype;
  int width = ins->type.width;
  unsigned size = sm_dtype_info_of(dtype)->size;
  LLVMTypeRef element = memory_type(e, dtype, 1);
  LLVMValueRef data = e->data[ins->buffer];
  LLVMValueRef value = to_memory(e, dtype, width, e->values[ins->args[2]]);
  if (ins->args[1] == SM_KIR_NONE || width == 1) {
    LLVMValueRef address = element_address(e, element, data, e->values[ins->args[0]]);
    if (ins->imm.streaming && width > 1) stream(e, value, address, size * (unsigned)width);
    else store(e, value, address, size);
    return;
  }
  for (int lane = 0; lane < width; lane++) {
    LLVMValueRef one = e->llvm->LLVMBuildExtractElement(e->builder, value, lane_number(e, lane), "");
    store(e, one, lane_address(e, ins, element, data, lane), size);
  }
}

/* One hint for each line of memory. */
static void emit_prefetch(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  enum { LINE = 64, READ = 0, KEEP = 3, DATA = 1 };
  const sm_llvm *l = e->llvm;
  LLVMTypeRef pointer = pointer_type(e), i32 = int_type(e, 32), element = memory_type(e, ins->type.dtype, 1);
  unsigned bytes = (unsigned)ins->type.width * sm_dtype_info_of(ins->type.dtype)->size;
  LLVMValueRef first = element_address(e, element, e->data[ins->buffer], e->values[ins->args[0]]);
  for (unsigned at = 0; at < bytes; at += LINE) {
    LLVMValueRef offset = l->LLVMConstInt(int_type(e, 64), at, 0);
    LLVMValueRef args[] = {element_address(e, int_type(e, 8), first, offset), l->LLVMConstInt(i32, READ, 0),
                           l->LLVMConstInt(i32, KEEP, 0), l->LLVMConstInt(i32, DATA, 0)};
    sm_llvm_intrinsic(e, "llvm.prefetch", &pointer, 1, args, 4);
  }
}

/* Orders streaming stores before what is stored later. */
static void emit_fence(const sm_llvm_emitter *e) {
  enum { INNER_SHAREABLE_STORES = 10 };
  LLVMValueRef domain = e->llvm->LLVMConstInt(int_type(e, 32), INNER_SHAREABLE_STORES, 0);
  if (e->level == SM_CPU_NEON) sm_llvm_intrinsic(e, "llvm.aarch64.dmb", NULL, 0, &domain, 1);
  else sm_llvm_intrinsic(e, "llvm.x86.sse.sfence", NULL, 0, NULL, 0);
}

/* --- Values ----------------------------------------------------------------------------------- */

static LLVMValueRef emit_const(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  smelt_dtype dtype = ins->type.dtype;
  if (dtype == SMELT_F32) return sm_llvm_real(e, dtype, 1, (double)ins->imm.constant.F32);
  if (dtype == SMELT_F64) return sm_llvm_real(e, dtype, 1, ins->imm.constant.F64);
  sm_word word = {.bits = 0};
  memcpy(&word, &ins->imm.constant, smelt_dtype_size(dtype));
  return sm_llvm_int(e, dtype, 1, word.bits);
}

static LLVMValueRef emit_half(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  enum { MOST_LANES = 64 };
  const sm_llvm *l = e->llvm;
  LLVMValueRef whole = e->values[ins->args[0]], lanes[MOST_LANES];
  int width = ins->type.width, first = ins->imm.index * width;
  if (width > MOST_LANES) return NULL;
  if (width == 1) return l->LLVMBuildExtractElement(e->builder, whole, lane_number(e, first), "");
  for (int lane = 0; lane < width; lane++) lanes[lane] = lane_number(e, first + lane);
  return l->LLVMBuildShuffleVector(e->builder, whole, l->LLVMGetUndef(l->LLVMTypeOf(whole)),
                                   l->LLVMConstVector(lanes, (unsigned)width), "");
}

static LLVMValueRef emit_scalar(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  LLVMTypeRef type = memory_type(e, ins->type.dtype, 1);
  return from_memory(e, ins->type.dtype, 1, load_argument(e, PARAM_SCALARS, (uint64_t)ins->imm.index, type));
}

/* The table lies behind the scalar arguments. */
static LLVMValueRef emit_table(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  LLVMTypeRef type = memory_type(e, ins->type.dtype, 1);
  LLVMValueRef first = e->llvm->LLVMConstInt(int_type(e, 64), e->kernel->scalars.len, 0);
  LLVMValueRef at = e->llvm->LLVMBuildAdd(e->builder, e->values[ins->args[0]], first, "");
  return from_memory(e, ins->type.dtype, 1, load_argument_at(e, PARAM_SCALARS, at, type));
}

static LLVMValueRef emit_iota(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  LLVMValueRef lanes[UINT8_MAX + 1];
  int width = ins->type.width;
  LLVMTypeRef i64 = int_type(e, 64);
  for (int lane = 0; lane < width; lane++)
    lanes[lane] = e->llvm->LLVMConstInt(i64, (unsigned long long)lane, 0);
  LLVMValueRef steps = width == 1 ? lanes[0] : e->llvm->LLVMConstVector(lanes, (unsigned)width);
  LLVMValueRef base = sm_llvm_splat(e, e->values[ins->args[0]], width);
  return e->llvm->LLVMBuildAdd(e->builder, base, steps, "");
}

/* --- Loops -------------------------------------------------------------------------------------- */

/* A loop that is being emitted. It is entered past a test, and tested at its
 * end, which is the form the code generator does best with. */
typedef struct open_loop {
  const sm_kir_ins *ins;
  LLVMBasicBlockRef before, body, exit;
  LLVMValueRef counter;
} open_loop;

enum { MAX_DEPTH = 64 };

static LLVMValueRef below_end(const sm_llvm_emitter *e, const open_loop *loop, LLVMValueRef counter) {
  return e->llvm->LLVMBuildICmp(e->builder, SM_LLVM_SLT, counter, e->values[loop->ins->args[1]], "");
}

static LLVMValueRef begin_loop(const sm_llvm_emitter *e, open_loop *loop, const sm_kir_ins *ins) {
  const sm_llvm *l = e->llvm;
  LLVMValueRef begin = e->values[ins->args[0]];
  loop->ins = ins;
  loop->before = l->LLVMGetInsertBlock(e->builder);
  loop->body = l->LLVMAppendBasicBlockInContext(e->context, e->function, "loop");
  loop->exit = l->LLVMAppendBasicBlockInContext(e->context, e->function, "after");
  l->LLVMBuildCondBr(e->builder, below_end(e, loop, begin), loop->body, loop->exit);
  l->LLVMPositionBuilderAtEnd(e->builder, loop->body);
  loop->counter = l->LLVMBuildPhi(e->builder, int_type(e, 64), "");
  l->LLVMAddIncoming(loop->counter, &begin, &loop->before, 1);
  return loop->counter;
}

/* CARRYs follow the counter, so that these are phi nodes at the body's beginning. */
static LLVMValueRef begin_carry(const sm_llvm_emitter *e, const open_loop *loop, const sm_kir_ins *ins) {
  const sm_llvm *l = e->llvm;
  LLVMTypeRef type = sm_llvm_type(e, ins->type.dtype, ins->type.width);
  LLVMValueRef carry = l->LLVMBuildPhi(e->builder, type, ""), start = e->values[ins->args[0]];
  LLVMBasicBlockRef before = loop->before;
  l->LLVMAddIncoming(carry, &start, &before, 1);
  return carry;
}

/* What the NEXTs before the END at `end` say, kept as their values. */
static void end_carries(const sm_llvm_emitter *e, LLVMBasicBlockRef latch, int32_t end) {
  const sm_kir_ins *all = e->kernel->ins.items;
  for (int32_t next = end - 1; all[next].kind == SM_KIR_NEXT; next--) {
    e->values[next] = e->values[all[next].args[1]];
    e->llvm->LLVMAddIncoming(e->values[all[next].args[0]], &e->values[next], &latch, 1);
  }
}

/* Phi nodes at the exit's beginning. From there on the values of CARRYs are what the
 * loop has left: RESULTs alone refer to them. */
static void make_results(const sm_llvm_emitter *e, const open_loop *loop, LLVMBasicBlockRef latch,
                         int32_t end) {
  const sm_llvm *l = e->llvm;
  const sm_kir_ins *all = e->kernel->ins.items;
  for (int32_t next = end - 1; all[next].kind == SM_KIR_NEXT; next--) {
    int32_t carry = all[next].args[0];
    LLVMValueRef values[] = {e->values[all[carry].args[0]], e->values[next]};
    LLVMBasicBlockRef blocks[] = {loop->before, latch};
    e->values[carry] = l->LLVMBuildPhi(e->builder, l->LLVMTypeOf(e->values[next]), "");
    l->LLVMAddIncoming(e->values[carry], values, blocks, 2);
  }
}

static void end_loop(const sm_llvm_emitter *e, const open_loop *loop, int32_t end) {
  const sm_llvm *l = e->llvm;
  LLVMValueRef step = l->LLVMConstInt(int_type(e, 64), (unsigned long long)loop->ins->imm.step, 0);
  LLVMValueRef next = l->LLVMBuildAdd(e->builder, loop->counter, step, "");
  LLVMBasicBlockRef latch = l->LLVMGetInsertBlock(e->builder);
  l->LLVMAddIncoming(loop->counter, &next, &latch, 1);
  end_carries(e, latch, end);
  l->LLVMBuildCondBr(e->builder, below_end(e, loop, next), loop->body, loop->exit);
  l->LLVMPositionBuilderAtEnd(e->builder, loop->exit);
  make_results(e, loop, latch, end);
}

/* --- The body --------------------------------------------------------------------------------------- */

/* The instruction's value; NULL if it has none or is refused. */
static LLVMValueRef emit_value(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  switch ((sm_kir_kind)ins->kind) {
    case SM_KIR_CONST:
      return emit_const(e, ins);
    case SM_KIR_SIZE:
      return load_argument(e, PARAM_SIZES, (uint64_t)ins->imm.index, int_type(e, 64));
    case SM_KIR_HALF:
      return emit_half(e, ins);
    case SM_KIR_SCALAR:
      return emit_scalar(e, ins);
    case SM_KIR_TABLE:
      return emit_table(e, ins);
    case SM_KIR_CHUNK_BEGIN:
      return e->llvm->LLVMGetParam(e->function, PARAM_BEGIN);
    case SM_KIR_CHUNK_END:
      return e->llvm->LLVMGetParam(e->function, PARAM_END);
    case SM_KIR_RESULT:
      return e->values[ins->args[0]];
    case SM_KIR_SPLAT:
      return sm_llvm_splat(e, e->values[ins->args[0]], ins->type.width);
    case SM_KIR_IOTA:
      return ins->type.width <= UINT8_MAX ? emit_iota(e, ins) : NULL;
    case SM_KIR_KOP:
      return sm_llvm_kop(e, ins);
    case SM_KIR_LOAD:
      return emit_load(e, ins);
    case SM_KIR_GATHER:
      return emit_gather(e, ins);
    default:
      return NULL;
  }
}

static smelt_status refuse(const sm_kir_ins *ins, smelt_error *err) {
  const char *name = ins->kind == SM_KIR_KOP ? sm_kop_info_of((sm_kop)ins->kop)->name : "an instruction";
  return sm_error_set(err, SMELT_ERR_UNSUPPORTED, "%s of %s has no vector code", name,
                      smelt_dtype_name(ins->type.dtype));
}

/* A call costs a short segment more than its own work, and a function of this
 * many instructions is compiled quickly enough. */
enum { INSTRUCTIONS_IN_PLACE = 3000 };

/* The regions that have become functions. */
typedef struct regions {
  bool wanted;
  sm_arena arena;
  sm_vec(sm_llvm_region) list;
} regions;

static smelt_status emit_range(sm_llvm_emitter *e, regions *made, int32_t from, int32_t to, smelt_error *err);

/* After the kernel's own parameters: buffers, then outside values. */
static LLVMTypeRef region_type(const sm_llvm_emitter *e, const sm_llvm_region *r, LLVMTypeRef *params) {
  LLVMTypeRef pointer = pointer_type(e), i64 = int_type(e, 64);
  LLVMTypeRef own[N_PARAMS] = {pointer, pointer, pointer, i64, i64};
  int n = 0;
  while (n < N_PARAMS) params[n] = own[n], n++;
  for (int i = 0; i < r->n_buffers; i++) params[n++] = pointer;
  for (int i = 0; i < r->n_externals; i++) params[n++] = i64;
  return e->llvm->LLVMFunctionType(e->llvm->LLVMVoidTypeInContext(e->context), params, (unsigned)n, 0);
}

/* The emitter inside the region's function: other places for what is passed. */
static sm_llvm_emitter enter_region(const sm_llvm_emitter *e, const sm_llvm_region *r, LLVMValueRef *values,
                                    LLVMValueRef *data) {
  sm_llvm_emitter inner = *e;
  memcpy(values, e->values, e->kernel->ins.len * sizeof *values);
  inner.function = r->function;
  inner.values = values;
  inner.data = data;
  unsigned n = N_PARAMS;
  for (int i = 0; i < r->n_buffers; i++) data[r->buffers[i]] = e->llvm->LLVMGetParam(r->function, n++);
  for (int i = 0; i < r->n_externals; i++) values[r->externals[i]] = e->llvm->LLVMGetParam(r->function, n++);
  return inner;
}

static smelt_status emit_region_body(sm_llvm_emitter *e, regions *made, const sm_llvm_region *r,
                                     LLVMValueRef *values, LLVMValueRef *data, smelt_error *err) {
  const sm_llvm *l = e->llvm;
  LLVMBasicBlockRef caller = l->LLVMGetInsertBlock(e->builder);
  sm_llvm_emitter inner = enter_region(e, r, values, data);
  add_attributes(&inner);
  LLVMBasicBlockRef entry = l->LLVMAppendBasicBlockInContext(e->context, r->function, "entry");
  l->LLVMPositionBuilderAtEnd(e->builder, entry);
  smelt_status status = emit_range(&inner, made, r->begin, r->end + 1, err);
  if (status == SMELT_OK) l->LLVMBuildRetVoid(e->builder);
  l->LLVMPositionBuilderAtEnd(e->builder, caller);
  return status;
}

static smelt_status make_region(sm_llvm_emitter *e, regions *made, sm_llvm_region *r, smelt_error *err) {
  enum { INTERNAL_LINKAGE = 8 };
  size_t n_params = N_PARAMS + (size_t)r->n_buffers + (size_t)r->n_externals;
  LLVMTypeRef *params = sm_arena_zalloc(&made->arena, n_params, sizeof *params);
  LLVMValueRef *values = sm_arena_zalloc(&made->arena, e->kernel->ins.len, sizeof *values);
  LLVMValueRef *data = sm_arena_zalloc(&made->arena, e->kernel->buffers.len, sizeof *data);
  if (!params || !values || !data) return sm_error_memory(err, "code generation");
  r->type = region_type(e, r, params);
  r->function = e->llvm->LLVMAddFunction(e->module, "region", r->type);
  e->llvm->LLVMSetLinkage(r->function, INTERNAL_LINKAGE);
  return emit_region_body(e, made, r, values, data, err);
}

static smelt_status call_region(const sm_llvm_emitter *e, regions *made, const sm_llvm_region *r,
                                const sm_llvm_region *as, smelt_error *err) {
  size_t n_params = N_PARAMS + (size_t)r->n_buffers + (size_t)r->n_externals, n = 0;
  LLVMValueRef *args = sm_arena_zalloc(&made->arena, n_params, sizeof *args);
  if (!args) return sm_error_memory(err, "code generation");
  while (n < N_PARAMS) args[n] = e->llvm->LLVMGetParam(e->function, (unsigned)n), n++;
  for (int i = 0; i < r->n_buffers; i++) args[n++] = e->data[r->buffers[i]];
  for (int i = 0; i < r->n_externals; i++) args[n++] = e->values[r->externals[i]];
  e->llvm->LLVMBuildCall2(e->builder, as->type, as->function, args, (unsigned)n, "");
  return SMELT_OK;
}

/* Calls the function of a region, made now if no equal one is there. */
static smelt_status emit_region(sm_llvm_emitter *e, regions *made, sm_llvm_region *r, smelt_error *err) {
  for (size_t i = 0; i < made->list.len; i++) {
    if (sm_llvm_region_equal(&made->list.items[i], r))
      return call_region(e, made, r, &made->list.items[i], err);
  }
  SM_TRY(make_region(e, made, r, err));
  if (!sm_vec_push(made->arena.allocator, &made->list, *r)) return sm_error_memory(err, "code generation");
  return call_region(e, made, r, r, err);
}

/* Instructions [from, to). A loop inside the outermost one becomes a function
 * where it can. */
static smelt_status emit_range(sm_llvm_emitter *e, regions *made, int32_t from, int32_t to,
                               smelt_error *err) {
  open_loop loops[MAX_DEPTH] = {{.ins = NULL}};
  int depth = 0;
  for (int32_t i = from; i < to; i++) {
    const sm_kir_ins *ins = &e->kernel->ins.items[i];
    sm_llvm_region region;
    if (ins->kind == SM_KIR_STORE) {
      emit_store(e, ins);
    } else if (ins->kind == SM_KIR_PREFETCH) {
      emit_prefetch(e, ins);
    } else if (ins->kind == SM_KIR_FENCE) {
      emit_fence(e);
    } else if (ins->kind == SM_KIR_END) {
      if (depth == 0) return refuse(ins, err);
      end_loop(e, &loops[--depth], i);
    } else if (ins->kind == SM_KIR_FOR && depth == 1 && made->wanted && from == 0 &&
               sm_llvm_region_describe(e->kernel, i, &made->arena, &region)) {
      SM_TRY(emit_region(e, made, &region, err));
      i = region.end;
    } else if (ins->kind == SM_KIR_FOR) {
      if (depth == MAX_DEPTH) return refuse(ins, err);
      e->values[i] = begin_loop(e, &loops[depth++], ins);
    } else if (ins->kind == SM_KIR_CARRY) {
      e->values[i] = begin_carry(e, &loops[depth - 1], ins);
    } else if (ins->kind == SM_KIR_NEXT) {
      continue; /* END sees to it */
    } else {
      e->values[i] = emit_value(e, ins);
      if (!e->values[i]) return refuse(ins, err);
    }
  }
  return SMELT_OK;
}

static smelt_status emit_body(sm_llvm_emitter *e, const sm_allocator *allocator, smelt_error *err) {
  regions made = {.wanted = e->kernel->ins.len > INSTRUCTIONS_IN_PLACE};
  sm_arena_init(&made.arena, allocator);
  smelt_status status = emit_range(e, &made, 0, (int32_t)e->kernel->ins.len, err);
  if (status == SMELT_OK) e->llvm->LLVMBuildRetVoid(e->builder);
  sm_vec_free(allocator, &made.list);
  sm_arena_free(&made.arena);
  return status;
}

/* --- The object ----------------------------------------------------------------------------------------- */

static smelt_status copy_object(const sm_llvm *l, LLVMMemoryBufferRef buffer, const sm_allocator *allocator,
                                sm_object *out, smelt_error *err) {
  out->size = l->LLVMGetBufferSize(buffer);
  out->data = sm_alloc(allocator, out->size);
  if (out->data) memcpy(out->data, l->LLVMGetBufferStart(buffer), out->size);
  l->LLVMDisposeMemoryBuffer(buffer);
  return out->data ? SMELT_OK : sm_error_memory(err, "a kernel's object");
}

static smelt_status emit_object(const sm_llvm_emitter *e, LLVMTargetMachineRef machine,
                                const sm_allocator *allocator, sm_object *out, smelt_error *err) {
  enum { OBJECT_FILE = 1 };
  char *message = NULL;
  LLVMMemoryBufferRef buffer;
  if (e->llvm->LLVMTargetMachineEmitToMemoryBuffer(machine, e->module, OBJECT_FILE, &message, &buffer)) {
    return sm_llvm_failed(e->llvm, message, err);
  }
  return copy_object(e->llvm, buffer, allocator, out, err);
}

static void set_layout(const sm_llvm_emitter *e, LLVMTargetMachineRef machine) {
  LLVMTargetDataRef layout = e->llvm->LLVMCreateTargetDataLayout(machine);
  e->llvm->LLVMSetModuleDataLayout(e->module, layout);
  e->llvm->LLVMDisposeTargetData(layout);
}

static void add_text(const sm_llvm_emitter *e, sm_text *text) {
  char *ir = e->llvm->LLVMPrintModuleToString(e->module);
  sm_text_add(text, ir);
  e->llvm->LLVMDisposeMessage(ir);
}

static smelt_status compile_module(sm_llvm_emitter *e, LLVMTargetMachineRef machine,
                                   const sm_allocator *allocator, sm_object *out, sm_text *text,
                                   smelt_error *err) {
  set_layout(e, machine);
  begin_function(e);
  bind_buffers(e);
  smelt_status status = emit_body(e, allocator, err);
  if (status == SMELT_OK && text) add_text(e, text);
  if (status == SMELT_OK) status = emit_object(e, machine, allocator, out, err);
  return status;
}

static smelt_status compile_in_context(sm_llvm_emitter *e, LLVMTargetMachineRef machine,
                                       const sm_allocator *allocator, sm_object *out, sm_text *text,
                                       smelt_error *err) {
  const sm_llvm *l = e->llvm;
  e->context = l->LLVMContextCreate();
  e->module = l->LLVMModuleCreateWithNameInContext("smelt", e->context);
  e->builder = l->LLVMCreateBuilderInContext(e->context);
  smelt_status status = compile_module(e, machine, allocator, out, text, err);
  l->LLVMDisposeBuilder(e->builder);
  l->LLVMDisposeModule(e->module);
  l->LLVMContextDispose(e->context);
  return status;
}

smelt_status sm_llvm_compile(sm_llvm *llvm, const sm_kir_kernel *kernel, sm_cpu_level level,
                             const sm_allocator *allocator, sm_object *out, sm_text *text, smelt_error *err) {
  if (level == SM_CPU_BASELINE)
    return sm_error_set(err, SMELT_ERR_UNSUPPORTED, "no vector code for this CPU");
  if (kernel->threads) return sm_error_set(err, SMELT_ERR_UNSUPPORTED, "no code for groups of threads");
  sm_llvm_emitter e = {.llvm = llvm, .kernel = kernel, .level = level};
  LLVMTargetMachineRef machine;
  size_t n_values = kernel->ins.len + kernel->buffers.len;
  e.values = sm_calloc(allocator, n_values, sizeof *e.values);
  if (!e.values) return sm_error_memory(err, "code generation");
  e.data = e.values + kernel->ins.len;
  smelt_status status = sm_llvm_machine_take(llvm, level, &machine, err);
  if (status == SMELT_OK) {
    status = compile_in_context(&e, machine, allocator, out, text, err);
    sm_llvm_machine_give(llvm, level, machine);
  }
  sm_free(allocator, e.values, n_values * sizeof *e.values);
  return status;
}
