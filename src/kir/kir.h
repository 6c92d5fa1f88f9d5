/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel IR: one kernel as typed values in a flat array.
 *
 * Purpose. The last form every target shares. Skeletons build it, the verifier
 * checks it, the evaluator runs it, code generators print it.
 *
 * Vocabulary. An *instruction* defines at most one *value*, named by the
 * instruction's index. A value has a *type*: a dtype and a vector width (1 for
 * scalars). A *region* is what stands between FOR and its END; regions nest.
 * *Buffers* are the tensors a kernel reads and writes; *sizes* (i64) and
 * *scalars* (any dtype) are run-time arguments; more scalars, in any number, are in the
 * *table*, whose elements are chosen at run time. A *local* buffer is scratch
 * memory of one call, of fixed size, undefined at its start. A *streaming*
 * store bypasses the caches.
 *
 * A kernel with `threads` is for devices that run *groups*: so many threads share a
 * chunk, and MEMBER, from 0, tells them apart. A *shared* buffer is scratch memory of
 * the group. At a BARRIER each thread waits for all, and sees what they have stored. By
 * SHUFFLE pairs of threads exchange values without memory; devices let those do it whose
 * numbers differ in a low digit.
 *
 * Loops carry values from one round to the next:
 *
 *   %7 = for %0 .. %1 step 1 {
 *     %8 = carry f32 %5        what this round holds; %5 in the first
 *     ...
 *     next %8, %12             what the next one holds
 *   }
 *   %15 = result f32 %8        what the last next said; %5 if there was no round
 *
 * CARRYs stand directly after FOR, a NEXT for each directly before END and in the
 * same order, RESULTs, where one is wanted, directly after END. All NEXTs take
 * effect at once, at END: two values can be exchanged. So every name means one
 * thing everywhere, and CARRYs and RESULTs are the phi nodes of other IRs, at the
 * two places where those have to be.
 *
 * Invariants (checked by sm_kir_verify):
 *  - single assignment: an argument is an earlier instruction that defines a
 *    value and whose region encloses the use;
 *  - the operands of a KOP have the widths of its result and the dtypes its
 *    table entry asks for; vectors come from SPLAT, IOTA, HALF, LOAD, LOAD_FIRST, GATHER,
 *    SHUFFLE or KOP;
 *  - indices, sizes and loop bounds are i64 of width 1, but those of GATHER, a lane each;
 *  - buffers marked read-only are never stored to;
 *  - MEMBER, BARRIER, SHUFFLE and shared buffers are only in kernels with `threads`; the loops
 *    around a BARRIER or SHUFFLE have bounds that are the same for all threads: nothing in them comes from
 *    MEMBER, a buffer or what a loop carries;
 *  - contiguous vectors of an *aligned* buffer, an argument or shared, begin at multiples of their width;
 *  - LOAD_FIRST and STORE_FIRST have from 0 to as many lanes as their vector;
 *  - local buffers come after the arguments; streaming stores are contiguous and
 *    go to arguments, and a kernel that has them ends with a FENCE;
 *  - FOR and END match;
 *  - CARRY, NEXT and RESULT stand where they have to; what a loop starts with is
 *    defined before it, and what it goes on with has the same type.
 *
 * Nothing here knows tensors, shapes or devices. */
#ifndef SM_KIR_KIR_H
#define SM_KIR_KIR_H

#include "base/hash.h"
#include "base/text.h"
#include "base/vec.h"
#include "core/kops.h"
#include "core/scalar.h"

enum { SM_KIR_NONE = -1, SM_KIR_ARGS = 3, SM_KIR_NAME = 48 };

typedef enum sm_kir_kind {
  SM_KIR_CONST,       /* imm.constant of type.dtype, width 1 */
  SM_KIR_SIZE,        /* size argument imm.index */
  SM_KIR_SCALAR,      /* scalar argument imm.index */
  SM_KIR_TABLE,       /* element args[0] of the scalar table, of type.dtype, width 1 */
  SM_KIR_CHUNK_BEGIN, /* first work item of this call, i64 */
  SM_KIR_CHUNK_END,   /* one past the last */
  SM_KIR_FOR,         /* loop from args[0] to below args[1] by imm.step; its value is the counter */
  SM_KIR_END,         /* ends the innermost FOR; no value */
  SM_KIR_CARRY,       /* a value that the loop carries, args[0] in its first round */
  SM_KIR_NEXT,        /* the CARRY args[0] is args[1] in the next round; no value */
  SM_KIR_RESULT,      /* what the loop that has just ended has left in its CARRY args[0] */
  SM_KIR_SPLAT,       /* args[0], width 1, in every lane */
  SM_KIR_IOTA,        /* lane l is args[0] + l */
  SM_KIR_HALF,        /* half imm.index, 0 or 1, of the lanes of args[0] */
  SM_KIR_KOP,         /* kop applied to args, lane by lane */
  SM_KIR_LOAD,        /* lane l is buffer[args[0] + l * stride]; stride is args[1], NONE means 1 */
  SM_KIR_STORE,       /* buffer[args[0] + l * stride] = lane l of args[2]; stride as for LOAD; no value */
  SM_KIR_PREFETCH,    /* buffer[args[0]] and so on, type.width elements, will be loaded soon: a hint, also
                         beyond the buffer's end; no value */
  SM_KIR_FENCE,       /* streaming stores before it are visible to all after it; no value */
  SM_KIR_GATHER,      /* lane l is buffer[lane l of args[0]] */
  SM_KIR_MEMBER,      /* the number of this thread in its group, i64 */
  SM_KIR_BARRIER,     /* all threads of the group are here; no value */
  SM_KIR_SHUFFLE,     /* args[0] of the thread whose number differs in the digit imm.index, a power of two
                         of which `threads` has an even multiple */
  SM_KIR_LOAD_FIRST,  /* lane l is buffer[args[0] + l] if it is one of the first args[1], else 0 */
  SM_KIR_STORE_FIRST, /* buffer[args[0] + l] = lane l of args[2] for the first args[1] lanes; no value */
  SM_KIR_KIND_COUNT
} sm_kir_kind;

typedef struct sm_kir_type {
  smelt_dtype dtype;
  uint16_t width;
} sm_kir_type;

typedef struct sm_kir_ins {
  uint8_t kind;     /* sm_kir_kind */
  uint8_t kop;      /* sm_kop, for KOP */
  uint16_t buffer;  /* for what accesses one */
  sm_kir_type type; /* of the value; of the argument that is a value for STORE, STORE_FIRST and NEXT */
  int32_t args[SM_KIR_ARGS];
  union {
    sm_word constant;
    int32_t index;
    int64_t step;
    bool streaming;
  } imm;
} sm_kir_ins;

typedef struct sm_kir_buffer {
  smelt_dtype dtype;
  bool written;   /* read-only otherwise */
  uint32_t local; /* elements of a local buffer; 0 for an argument */
  bool shared;    /* a local buffer that the group has together */
  bool aligned;   /* its vectors lie at multiples of their size, up to 64 bytes */
} sm_kir_buffer;

typedef struct sm_kir_kernel {
  const sm_allocator *allocator;
  char name[SM_KIR_NAME];
  sm_vec(sm_kir_buffer) buffers;
  sm_vec(smelt_dtype) scalars;
  int n_sizes;
  int threads; /* of a group; 0: each thread has a chunk of its own */
  int grain;   /* work items of a chunk, all but the last; 0: the launch says it */
  bool narrow; /* no size, and no place of an element or work item, is beyond 2^30 */
  sm_vec(sm_kir_ins) ins;
  bool failed; /* memory ran out while building */
} sm_kir_kernel;

/* --- Building (kir_builder.c) ----------------------------------------------------
 * Each adder returns the new value. When memory runs out `failed` is set and
 * adders return 0; sm_kir_finish reports it. Types follow from arguments. */
void sm_kir_init(sm_kir_kernel *k, const sm_allocator *allocator);
void sm_kir_free(sm_kir_kernel *k);
int sm_kir_add_buffer(sm_kir_kernel *k, smelt_dtype dtype, bool written);
void sm_kir_align_buffer(sm_kir_kernel *k, int buffer);
int sm_kir_add_local(sm_kir_kernel *k, smelt_dtype dtype, uint32_t elements);
int sm_kir_add_shared(sm_kir_kernel *k, smelt_dtype dtype, uint32_t elements);
int sm_kir_add_scalar(sm_kir_kernel *k, smelt_dtype dtype); /* the argument, not a value */
int sm_kir_add_size(sm_kir_kernel *k);

int32_t sm_kir_const(sm_kir_kernel *k, smelt_dtype dtype, sm_word value);
int32_t sm_kir_i64(sm_kir_kernel *k, int64_t value);
int32_t sm_kir_size(sm_kir_kernel *k, int index);
int32_t sm_kir_scalar(sm_kir_kernel *k, int index);
int32_t sm_kir_table(sm_kir_kernel *k, smelt_dtype dtype, int32_t element);
int32_t sm_kir_chunk_begin(sm_kir_kernel *k);
int32_t sm_kir_chunk_end(sm_kir_kernel *k);
int32_t sm_kir_for(sm_kir_kernel *k, int32_t begin, int32_t end, int64_t step);
void sm_kir_end(sm_kir_kernel *k);
int32_t sm_kir_carry(sm_kir_kernel *k, int32_t start);
void sm_kir_next(sm_kir_kernel *k, int32_t carry, int32_t value);
int32_t sm_kir_result(sm_kir_kernel *k, int32_t carry);
int32_t sm_kir_splat(sm_kir_kernel *k, int32_t value, int width);
int32_t sm_kir_iota(sm_kir_kernel *k, int32_t base, int width);
int32_t sm_kir_half(sm_kir_kernel *k, int32_t vector, int which);
/* Unused args are SM_KIR_NONE. `to` is read for CONVERT kops only. */
int32_t sm_kir_kop(sm_kir_kernel *k, sm_kop kop, int32_t a, int32_t b, int32_t c, smelt_dtype to);
int32_t sm_kir_load(sm_kir_kernel *k, int buffer, int32_t index, int32_t stride, int width);
int32_t sm_kir_load_first(sm_kir_kernel *k, int buffer, int32_t index, int32_t lanes, int width);
int32_t sm_kir_gather(sm_kir_kernel *k, int buffer, int32_t indices);
void sm_kir_store(sm_kir_kernel *k, int buffer, int32_t index, int32_t stride, int32_t value);
void sm_kir_store_first(sm_kir_kernel *k, int buffer, int32_t index, int32_t lanes, int32_t value);
void sm_kir_stream(sm_kir_kernel *k, int buffer, int32_t index, int32_t value);
void sm_kir_prefetch(sm_kir_kernel *k, int buffer, int32_t index, int width);
void sm_kir_fence(sm_kir_kernel *k);
int32_t sm_kir_member(sm_kir_kernel *k);
void sm_kir_barrier(sm_kir_kernel *k);
int32_t sm_kir_shuffle(sm_kir_kernel *k, int32_t value, int digit);

/* ERR_MEMORY if building ran out of memory. */
smelt_status sm_kir_built(const sm_kir_kernel *k, smelt_error *err);
/* The same, and then what the verifier says. */
smelt_status sm_kir_finish(sm_kir_kernel *k, smelt_error *err);

/* --- Reading ------------------------------------------------------------------ */
static inline bool sm_kir_stores(const sm_kir_ins *ins) {
  return ins->kind == SM_KIR_STORE || ins->kind == SM_KIR_STORE_FIRST;
}
static inline bool sm_kir_defines_value(const sm_kir_ins *ins) {
  return ins->kind != SM_KIR_END && ins->kind != SM_KIR_NEXT && !sm_kir_stores(ins) &&
         ins->kind != SM_KIR_PREFETCH && ins->kind != SM_KIR_FENCE && ins->kind != SM_KIR_BARRIER;
}
/* Whether it reads, writes or asks for elements of its buffer. */
static inline bool sm_kir_accesses(const sm_kir_ins *ins) {
  return ins->kind == SM_KIR_LOAD || ins->kind == SM_KIR_LOAD_FIRST || ins->kind == SM_KIR_GATHER ||
         sm_kir_stores(ins) || ins->kind == SM_KIR_PREFETCH;
}
/* How many values the FOR at `loop` carries: the instructions that follow it. */
static inline int32_t sm_kir_carries(const sm_kir_kernel *k, int32_t loop) {
  int32_t n = 0, rest = (int32_t)k->ins.len - loop - 1;
  while (n < rest && k->ins.items[loop + 1 + n].kind == SM_KIR_CARRY) n++;
  return n;
}
/* kir_verify.c: ERR_INTERNAL naming the instruction that breaks an invariant. */
smelt_status sm_kir_verify(const sm_kir_kernel *k, smelt_error *err);
/* kir_print.c: one line an instruction, indented by region; stable. */
void sm_kir_print(sm_text *text, const sm_kir_kernel *k);
/* kir_hash.c: identity of the code, the name left out. */
sm_hash sm_kir_hash(const sm_kir_kernel *k);

/* --- Changing ----------------------------------------------------------------- */
/* Steps of making a kernel of another one: its name and arguments; one instruction
 * whose arguments are renamed (kir_builder.c). */
void sm_kir_copy_signature(const sm_kir_kernel *in, sm_kir_kernel *out);
int32_t sm_kir_copy(sm_kir_kernel *k, const sm_kir_ins *ins, const int32_t *renamed);

/* kir_expand.c: makes `out` of `in` with each function (core/functions.h) replaced
 * by its steps, so that only primitives are left; all results keep their bits.
 * ERR_MEMORY, and `out` is then empty. */
smelt_status sm_kir_expand(const sm_kir_kernel *in, sm_kir_kernel *out, smelt_error *err);
/* kir_fold.c: makes `out` of `in` with what is known now computed now: kops of constants,
 * and choices by them. Bits stay. ERR_MEMORY, and `out` is then empty. */
smelt_status sm_kir_fold(const sm_kir_kernel *in, sm_kir_kernel *out, smelt_error *err);
/* kir_hoist.c: makes `out` of `in` with what is the same in all rounds of loops
 * computed once, at the beginning. ERR_MEMORY, and `out` is then empty. */
smelt_status sm_kir_hoist(const sm_kir_kernel *in, sm_kir_kernel *out, smelt_error *err);

/* --- Running (kir_eval.c) -----------------------------------------------------------
 * A *program* is a kernel made ready to run many times, by many threads: it knows
 * the loop of each scalar operation and where values are kept. Every access is
 * checked before it is made, so that running is the oracle too; with vectors of some
 * hundred lanes checking costs nothing. */
typedef struct sm_kir_span {
  void *data;
  size_t bytes;
} sm_kir_span;

typedef struct sm_kir_call {
  const sm_kir_span *buffers;
  const int64_t *sizes;
  const sm_word *scalars; /* the arguments, then the table */
  int64_t n_table;
  int64_t begin, end; /* the chunk, of a group if the kernel has `threads` */
  bool streaming;     /* what goes to arguments, vector by vector, bypasses the caches */
} sm_kir_call;

typedef struct sm_kir_program {
  const sm_kir_kernel *k;
  struct sm_kir_op *ops; /* by instruction */
  size_t value_bytes;    /* of all places together */
  size_t n_loops;
} sm_kir_program;

/* With the instructions of `level`. The kernel stays the caller's and must outlive
 * the program. ERR_MEMORY. */
smelt_status sm_kir_prepare(const sm_kir_kernel *k, sm_cpu_level level, sm_kir_program *out,
                            smelt_error *err);
void sm_kir_program_free(sm_kir_program *p); /* also of one that is all zeros */
/* ERR_MEMORY; ERR_INTERNAL if it would read or write outside a buffer. */
smelt_status sm_kir_run(const sm_kir_program *p, const sm_kir_call *call, smelt_error *err);
/* Both, for a kernel that is run once, on any processor. */
smelt_status sm_kir_eval(const sm_kir_kernel *k, const sm_kir_call *call, smelt_error *err);

#endif
