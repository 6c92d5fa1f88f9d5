/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/llvm_emitter.h"

static LLVMValueRef below_end(const sm_llvm_emitter *e, const sm_llvm_loop *loop, LLVMValueRef counter) {
  return e->llvm->LLVMBuildICmp(e->builder, SM_LLVM_SLT, counter, e->values[loop->ins->args[1]], "");
}

LLVMValueRef sm_llvm_begin_loop(const sm_llvm_emitter *e, sm_llvm_loop *loop, const sm_kir_ins *ins) {
  const sm_llvm *l = e->llvm;
  LLVMValueRef begin = e->values[ins->args[0]];
  loop->ins = ins;
  loop->before = l->LLVMGetInsertBlock(e->builder);
  loop->body = l->LLVMAppendBasicBlockInContext(e->context, e->function, "loop");
  loop->exit = l->LLVMAppendBasicBlockInContext(e->context, e->function, "after");
  l->LLVMBuildCondBr(e->builder, below_end(e, loop, begin), loop->body, loop->exit);
  l->LLVMPositionBuilderAtEnd(e->builder, loop->body);
  loop->counter = l->LLVMBuildPhi(e->builder, sm_llvm_bits(e, 64), "");
  l->LLVMAddIncoming(loop->counter, &begin, &loop->before, 1);
  return loop->counter;
}

/* CARRYs follow the counter, so that these are phi nodes at the body's beginning. */
LLVMValueRef sm_llvm_begin_carry(const sm_llvm_emitter *e, const sm_llvm_loop *loop, const sm_kir_ins *ins) {
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
static void make_results(const sm_llvm_emitter *e, const sm_llvm_loop *loop, LLVMBasicBlockRef latch,
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

void sm_llvm_end_loop(const sm_llvm_emitter *e, const sm_llvm_loop *loop, int32_t end) {
  const sm_llvm *l = e->llvm;
  LLVMValueRef step = l->LLVMConstInt(sm_llvm_bits(e, 64), (unsigned long long)loop->ins->imm.step, 0);
  LLVMValueRef next = l->LLVMBuildAdd(e->builder, loop->counter, step, "");
  LLVMBasicBlockRef latch = l->LLVMGetInsertBlock(e->builder);
  l->LLVMAddIncoming(loop->counter, &next, &latch, 1);
  end_carries(e, latch, end);
  l->LLVMBuildCondBr(e->builder, below_end(e, loop, next), loop->body, loop->exit);
  l->LLVMPositionBuilderAtEnd(e->builder, loop->exit);
  make_results(e, loop, latch, end);
}
