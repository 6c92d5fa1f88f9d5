/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/llvm_codegen.h"

#include <string.h>

#include "codegen/llvm_emitter.h"
#include "codegen/llvm_machine.h"
#include "codegen/llvm_regions.h"

/* --- Function and arguments -------------------------------------------------------------- */

enum { PARAM_BUFFERS, PARAM_SIZES, PARAM_SCALARS, PARAM_BEGIN, PARAM_END, N_PARAMS };

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
  LLVMTypeRef pointer = sm_llvm_pointer(e), i64 = sm_llvm_bits(e, 64);
  LLVMTypeRef params[N_PARAMS] = {pointer, pointer, pointer, i64, i64};
  LLVMTypeRef type = l->LLVMFunctionType(l->LLVMVoidTypeInContext(e->context), params, N_PARAMS, 0);
  e->function = l->LLVMAddFunction(e->module, SM_OBJECT_ENTRY, type);
  add_attributes(e);
  LLVMBasicBlockRef entry = l->LLVMAppendBasicBlockInContext(e->context, e->function, "entry");
  l->LLVMPositionBuilderAtEnd(e->builder, entry);
}

/* Argument `index` of an array of 8-byte entries. */
static LLVMValueRef load_argument_at(const sm_llvm_emitter *e, int param, LLVMValueRef index,
                                     LLVMTypeRef type) {
  LLVMValueRef array = e->llvm->LLVMGetParam(e->function, (unsigned)param);
  return sm_llvm_load_from(e, type, sm_llvm_element(e, sm_llvm_bits(e, 64), array, index), 8);
}

static LLVMValueRef load_argument(const sm_llvm_emitter *e, int param, uint64_t index, LLVMTypeRef type) {
  return load_argument_at(e, param, e->llvm->LLVMConstInt(sm_llvm_bits(e, 64), index, 0), type);
}

/* At the function's entry: nothing later would move loads of the pointers out
 * of the loops. */
static void bind_buffers(const sm_llvm_emitter *e) {
  for (size_t i = 0; i < e->kernel->buffers.len; i++) {
    const sm_kir_buffer *buffer = &e->kernel->buffers.items[i];
    e->data[i] =
        buffer->local ? sm_llvm_local(e, buffer) : load_argument(e, PARAM_BUFFERS, i, sm_llvm_pointer(e));
  }
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
  if (width == 1) return l->LLVMBuildExtractElement(e->builder, whole, sm_llvm_lane(e, first), "");
  for (int lane = 0; lane < width; lane++) lanes[lane] = sm_llvm_lane(e, first + lane);
  return l->LLVMBuildShuffleVector(e->builder, whole, l->LLVMGetUndef(l->LLVMTypeOf(whole)),
                                   l->LLVMConstVector(lanes, (unsigned)width), "");
}

static LLVMValueRef emit_scalar(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  LLVMTypeRef type = sm_llvm_memory_type(e, ins->type.dtype, 1);
  return sm_llvm_from_memory(e, ins->type.dtype, 1,
                             load_argument(e, PARAM_SCALARS, (uint64_t)ins->imm.index, type));
}

/* The table lies behind the scalar arguments. */
static LLVMValueRef emit_table(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  LLVMTypeRef type = sm_llvm_memory_type(e, ins->type.dtype, 1);
  LLVMValueRef first = e->llvm->LLVMConstInt(sm_llvm_bits(e, 64), e->kernel->scalars.len, 0);
  LLVMValueRef at = e->llvm->LLVMBuildAdd(e->builder, e->values[ins->args[0]], first, "");
  return sm_llvm_from_memory(e, ins->type.dtype, 1, load_argument_at(e, PARAM_SCALARS, at, type));
}

static LLVMValueRef emit_iota(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  LLVMValueRef base = sm_llvm_splat(e, e->values[ins->args[0]], ins->type.width);
  return e->llvm->LLVMBuildAdd(e->builder, base, sm_llvm_lane_numbers(e, 64, ins->type.width), "");
}

/* --- The body --------------------------------------------------------------------------------------- */

/* The instruction's value; NULL if it has none or is refused. */
static LLVMValueRef emit_value(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  switch ((sm_kir_kind)ins->kind) {
    case SM_KIR_CONST:
      return emit_const(e, ins);
    case SM_KIR_SIZE:
      return load_argument(e, PARAM_SIZES, (uint64_t)ins->imm.index, sm_llvm_bits(e, 64));
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
      return sm_llvm_load(e, ins);
    case SM_KIR_LOAD_FIRST:
      return ins->type.width <= UINT8_MAX ? sm_llvm_load_first(e, ins) : NULL;
    case SM_KIR_GATHER:
      return sm_llvm_gather(e, ins);
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
  LLVMTypeRef pointer = sm_llvm_pointer(e), i64 = sm_llvm_bits(e, 64);
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

enum { MAX_DEPTH = 64 };

/* Instructions [from, to). A loop inside the outermost one becomes a function
 * where it can. */
static smelt_status emit_range(sm_llvm_emitter *e, regions *made, int32_t from, int32_t to,
                               smelt_error *err) {
  sm_llvm_loop loops[MAX_DEPTH] = {{.ins = NULL}};
  int depth = 0;
  for (int32_t i = from; i < to; i++) {
    const sm_kir_ins *ins = &e->kernel->ins.items[i];
    sm_llvm_region region;
    if (ins->kind == SM_KIR_STORE) {
      sm_llvm_store(e, ins);
    } else if (ins->kind == SM_KIR_STORE_FIRST) {
      sm_llvm_store_first(e, ins);
    } else if (ins->kind == SM_KIR_PREFETCH) {
      sm_llvm_prefetch(e, ins);
    } else if (ins->kind == SM_KIR_FENCE) {
      sm_llvm_fence(e);
    } else if (ins->kind == SM_KIR_END) {
      if (depth == 0) return refuse(ins, err);
      sm_llvm_end_loop(e, &loops[--depth], i);
    } else if (ins->kind == SM_KIR_FOR && depth == 1 && made->wanted && from == 0 &&
               sm_llvm_region_describe(e->kernel, i, &made->arena, &region)) {
      SM_TRY(emit_region(e, made, &region, err));
      i = region.end;
    } else if (ins->kind == SM_KIR_FOR) {
      if (depth == MAX_DEPTH) return refuse(ins, err);
      e->values[i] = sm_llvm_begin_loop(e, &loops[depth++], ins);
    } else if (ins->kind == SM_KIR_CARRY) {
      e->values[i] = sm_llvm_begin_carry(e, &loops[depth - 1], ins);
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
