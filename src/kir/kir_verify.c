/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel verifier: one pass in which `open` says which instructions the
 * current one may still refer to. END closes everything from its FOR on, so an
 * open FOR is one whose END has not come yet; `ended` is the FOR whose END came
 * last. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "kir/kir.h"

static const sm_kir_type i64_type = {SMELT_I64, 1};
static const sm_kir_type no_type = {SMELT_DTYPE_NONE, 0};

typedef struct verifier {
  const sm_kir_kernel *k;
  int32_t at;            /* the instruction under check */
  const sm_kir_ins *ins; /* the same */
  bool *open;
  bool *uniform; /* the same for all threads of a group */
  int32_t ended;
  smelt_error *err;
} verifier;

__attribute__((format(printf, 2, 3))) static smelt_status fault(const verifier *v, const char *format, ...) {
  char what[200];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return sm_error_set(v->err, SMELT_ERR_INTERNAL, "kernel %s, instruction %" PRId32 ": %s", v->k->name, v->at,
                      what);
}

/* --- Types --------------------------------------------------------------------- */
enum { TYPE_TEXT = 24 };

static const char *type_text(char *buf, sm_kir_type type) {
  (void)snprintf(buf, TYPE_TEXT, "%sx%u", smelt_dtype_name(type.dtype), (unsigned)type.width);
  return buf;
}

static bool same_type(sm_kir_type a, sm_kir_type b) { return a.dtype == b.dtype && a.width == b.width; }

/* The instruction's own type, where its kind decides it. */
static smelt_status expect_type(const verifier *v, sm_kir_type wanted) {
  char have[TYPE_TEXT], want[TYPE_TEXT];
  if (same_type(v->ins->type, wanted)) return SMELT_OK;
  return fault(v, "its type is %s, not %s", type_text(have, v->ins->type), type_text(want, wanted));
}

static smelt_status expect_vector(const verifier *v, smelt_dtype dtype) {
  if (v->ins->type.width == 0) return fault(v, "its width is 0");
  return expect_type(v, (sm_kir_type){dtype, v->ins->type.width});
}

/* --- Arguments ------------------------------------------------------------------ */
static smelt_status check_reference(const verifier *v, int slot) {
  int32_t arg = v->ins->args[slot];
  if (arg == SM_KIR_NONE) return fault(v, "argument %d is missing", slot);
  if (arg < 0 || arg >= v->at) {
    return fault(v, "argument %d, %%%" PRId32 ", is no earlier instruction", slot, arg);
  }
  if (!sm_kir_defines_value(&v->k->ins.items[arg])) {
    return fault(v, "argument %d, %%%" PRId32 ", defines no value", slot, arg);
  }
  if (v->open[arg]) return SMELT_OK;
  return fault(v, "argument %d, %%%" PRId32 ", belongs to a loop that has ended", slot, arg);
}

/* The type of an argument that check_reference has passed. */
static sm_kir_type arg_type(const verifier *v, int slot) { return v->k->ins.items[v->ins->args[slot]].type; }

static smelt_status check_arg(const verifier *v, int slot, sm_kir_type wanted) {
  char have[TYPE_TEXT], want[TYPE_TEXT];
  SM_TRY(check_reference(v, slot));
  sm_kir_type type = arg_type(v, slot);
  if (same_type(type, wanted)) return SMELT_OK;
  return fault(v, "argument %d, %%%" PRId32 ", is %s, not %s", slot, v->ins->args[slot],
               type_text(have, type), type_text(want, wanted));
}

static smelt_status check_unused(const verifier *v, int from) {
  for (int slot = from; slot < SM_KIR_ARGS; slot++) {
    if (v->ins->args[slot] != SM_KIR_NONE) return fault(v, "argument %d is one too many", slot);
  }
  return SMELT_OK;
}

/* --- Instructions ----------------------------------------------------------------- */
static smelt_status check_const(const verifier *v) {
  smelt_dtype dtype = v->ins->type.dtype;
  if (!sm_dtype_valid(dtype)) return fault(v, "%d is no dtype", (int)dtype);
  return expect_type(v, (sm_kir_type){dtype, 1});
}

static smelt_status check_index(const verifier *v, const char *what, size_t n) {
  int32_t index = v->ins->imm.index;
  if (index >= 0 && (size_t)index < n) return SMELT_OK;
  return fault(v, "there is no %s argument %" PRId32, what, index);
}

static smelt_status check_size(const verifier *v) {
  SM_TRY(check_index(v, "size", (size_t)v->k->n_sizes));
  return expect_type(v, i64_type);
}

static smelt_status check_scalar(const verifier *v) {
  SM_TRY(check_index(v, "scalar", v->k->scalars.len));
  return expect_type(v, (sm_kir_type){v->k->scalars.items[v->ins->imm.index], 1});
}

static smelt_status check_table(const verifier *v) {
  SM_TRY(check_arg(v, 0, i64_type));
  return check_const(v);
}

static smelt_status check_for(const verifier *v) {
  SM_TRY(expect_type(v, i64_type));
  SM_TRY(check_arg(v, 0, i64_type));
  SM_TRY(check_arg(v, 1, i64_type));
  if (v->ins->imm.step < 1) return fault(v, "its step is %" PRId64, v->ins->imm.step);
  return SMELT_OK;
}

/* The last FOR before `at` that is still open, SM_KIR_NONE if there is none. */
static int32_t innermost_for(const verifier *v, int32_t at) {
  while (--at >= 0 && !(v->open[at] && v->k->ins.items[at].kind == SM_KIR_FOR)) continue;
  return at >= 0 ? at : SM_KIR_NONE;
}

/* --- Carried values --------------------------------------------------------------- */
static sm_kir_kind kind_at(const verifier *v, int32_t at) {
  bool exists = at >= 0 && at < (int32_t)v->k->ins.len;
  return exists ? (sm_kir_kind)v->k->ins.items[at].kind : SM_KIR_KIND_COUNT;
}

/* Whether the argument is a CARRY of the FOR at `loop`. */
static bool is_carry_of(const verifier *v, int slot, int32_t loop) {
  int32_t arg = v->ins->args[slot];
  return loop != SM_KIR_NONE && arg > loop && arg <= loop + sm_kir_carries(v->k, loop);
}

static smelt_status check_carry(const verifier *v) {
  int32_t loop = v->at - 1;
  while (kind_at(v, loop) == SM_KIR_CARRY) loop--;
  if (kind_at(v, loop) != SM_KIR_FOR) return fault(v, "it is not at the beginning of a loop");
  SM_TRY(check_reference(v, 0));
  if (v->ins->args[0] >= loop) {
    return fault(v, "argument 0, %%%" PRId32 ", is not defined before the loop", v->ins->args[0]);
  }
  return expect_type(v, arg_type(v, 0));
}

static smelt_status check_next(const verifier *v) {
  sm_kir_kind after = kind_at(v, v->at + 1);
  if (after != SM_KIR_NEXT && after != SM_KIR_END) return fault(v, "it is not at the end of a loop");
  if (!is_carry_of(v, 0, innermost_for(v, v->at))) {
    return fault(v, "argument 0, %%%" PRId32 ", is no value that the loop carries", v->ins->args[0]);
  }
  SM_TRY(expect_type(v, arg_type(v, 0)));
  return check_arg(v, 1, v->ins->type);
}

static smelt_status check_result(const verifier *v) {
  sm_kir_kind before = kind_at(v, v->at - 1);
  if (before != SM_KIR_END && before != SM_KIR_RESULT) return fault(v, "it is not after a loop");
  if (is_carry_of(v, 0, v->ended)) return expect_type(v, arg_type(v, 0));
  return fault(v, "argument 0, %%%" PRId32 ", is no value that the loop carried", v->ins->args[0]);
}

/* At the END of `loop`: as many NEXTs as CARRYs before it, each for its own. */
static smelt_status check_all_carried(const verifier *v, int32_t loop) {
  int32_t n = sm_kir_carries(v->k, loop), first = v->at - n;
  for (int32_t c = 0; c < n; c++) {
    bool in_place = kind_at(v, first + c) == SM_KIR_NEXT;
    if (in_place && v->k->ins.items[first + c].args[0] == loop + 1 + c) continue;
    return fault(v, "there is no NEXT, in its place, for %%%" PRId32, loop + 1 + c);
  }
  return kind_at(v, first - 1) == SM_KIR_NEXT ? fault(v, "there are more NEXTs than CARRYs") : SMELT_OK;
}

/* --- Groups ------------------------------------------------------------------------ */
static bool is_uniform(const verifier *v) {
  switch (v->ins->kind) {
    case SM_KIR_MEMBER:
    case SM_KIR_LOAD:
    case SM_KIR_LOAD_FIRST:
    case SM_KIR_GATHER:
    case SM_KIR_CARRY:
    case SM_KIR_RESULT:
    case SM_KIR_SHUFFLE:
      return false;
    default:
      break;
  }
  for (int a = 0; a < SM_KIR_ARGS; a++) {
    if (v->ins->args[a] != SM_KIR_NONE && !v->uniform[v->ins->args[a]]) return false;
  }
  return true;
}

static smelt_status check_group(const verifier *v) {
  return v->k->threads > 0 ? SMELT_OK : fault(v, "the kernel is not run by groups");
}

/* All threads of a group come to it equally often. */
static smelt_status check_meeting(const verifier *v) {
  SM_TRY(check_group(v));
  for (int32_t loop = innermost_for(v, v->at); loop != SM_KIR_NONE; loop = innermost_for(v, loop)) {
    if (!v->uniform[loop]) return fault(v, "the loop %%%" PRId32 " is not the same for all threads", loop);
  }
  return SMELT_OK;
}

static smelt_status check_shuffle(const verifier *v) {
  int32_t digit = v->ins->imm.index;
  SM_TRY(check_reference(v, 0));
  SM_TRY(expect_type(v, arg_type(v, 0)));
  SM_TRY(check_meeting(v));
  bool pairs = digit > 0 && (digit & (digit - 1)) == 0 && v->k->threads % digit == 0;
  if (!pairs || v->k->threads / digit % 2 != 0)
    return fault(v, "%d threads have no pairs that differ in %" PRId32, v->k->threads, digit);
  return SMELT_OK;
}

static smelt_status check_end(verifier *v) {
  SM_TRY(expect_type(v, no_type));
  int32_t loop = innermost_for(v, v->at);
  if (loop == SM_KIR_NONE) return fault(v, "END without FOR");
  SM_TRY(check_all_carried(v, loop));
  memset(v->open + loop, 0, (size_t)(v->at - loop) * sizeof *v->open);
  v->ended = loop;
  return SMELT_OK;
}

/* --- Operations and accesses --------------------------------------------------------- */

static smelt_status check_splat(const verifier *v) {
  SM_TRY(check_reference(v, 0));
  smelt_dtype dtype = arg_type(v, 0).dtype;
  SM_TRY(expect_vector(v, dtype));
  return check_arg(v, 0, (sm_kir_type){dtype, 1});
}

static smelt_status check_iota(const verifier *v) {
  SM_TRY(expect_vector(v, SMELT_I64));
  return check_arg(v, 0, i64_type);
}

static smelt_status check_half(const verifier *v) {
  sm_kir_type whole = v->ins->type;
  if (whole.width == 0 || whole.width > UINT16_MAX / 2)
    return fault(v, "its width is %u", (unsigned)whole.width);
  if (v->ins->imm.index != 0 && v->ins->imm.index != 1)
    return fault(v, "there is no half %" PRId32, v->ins->imm.index);
  whole.width *= 2;
  return check_arg(v, 0, whole);
}

static smelt_status check_kop(const verifier *v) {
  if (v->ins->kop == SM_KOP_NONE || v->ins->kop >= SM_KOP_COUNT) {
    return fault(v, "there is no kop %u", (unsigned)v->ins->kop);
  }
  const sm_kop_info *info = sm_kop_info_of((sm_kop)v->ins->kop);
  bool is_select = info->result == SM_RESULT_SELECT;
  for (int slot = 0; slot < info->arity; slot++) SM_TRY(check_reference(v, slot));
  SM_TRY(check_unused(v, info->arity));
  sm_kir_type operand = {arg_type(v, is_select).dtype, v->ins->type.width}, result = v->ins->type;
  for (int slot = 0; slot < info->arity; slot++) {
    bool is_condition = is_select && slot == 0;
    SM_TRY(check_arg(v, slot, is_condition ? (sm_kir_type){SMELT_BOOL, operand.width} : operand));
  }
  if (sm_kop_eval((sm_kop)v->ins->kop, operand.dtype, result.dtype)) return SMELT_OK;
  return fault(v, "there is no %s from %s to %s", info->name, smelt_dtype_name(operand.dtype),
               smelt_dtype_name(result.dtype));
}

static smelt_status check_buffer(const verifier *v) {
  if (v->ins->buffer >= v->k->buffers.len) return fault(v, "there is no buffer %u", (unsigned)v->ins->buffer);
  return expect_vector(v, v->k->buffers.items[v->ins->buffer].dtype);
}

static smelt_status check_gather(const verifier *v) {
  SM_TRY(check_buffer(v));
  return check_arg(v, 0, (sm_kir_type){SMELT_I64, v->ins->type.width});
}

/* What LOAD and STORE share. */
static smelt_status check_access(const verifier *v) {
  SM_TRY(check_buffer(v));
  SM_TRY(check_arg(v, 0, i64_type));
  return v->ins->args[1] == SM_KIR_NONE ? SMELT_OK : check_arg(v, 1, i64_type);
}

/* Of a vector of which not all lanes exist. */
static smelt_status check_first(const verifier *v) {
  SM_TRY(check_access(v));
  if (v->ins->type.width > UINT8_MAX || v->ins->type.width == 1)
    return fault(v, "its width is %u", (unsigned)v->ins->type.width);
  return check_arg(v, 1, i64_type);
}

static smelt_status check_stored(const verifier *v) {
  if (!v->k->buffers.items[v->ins->buffer].written) {
    return fault(v, "buffer %u is read-only", (unsigned)v->ins->buffer);
  }
  return check_arg(v, 2, v->ins->type);
}

static smelt_status check_store(const verifier *v) {
  SM_TRY(check_access(v));
  SM_TRY(check_stored(v));
  bool contiguous_argument = v->ins->args[1] == SM_KIR_NONE && !v->k->buffers.items[v->ins->buffer].local;
  if (v->ins->imm.streaming && !contiguous_argument) return fault(v, "it cannot be a streaming store");
  return SMELT_OK;
}

/* A kernel that streams ends with a FENCE. */
static smelt_status check_fenced(const sm_kir_kernel *k, smelt_error *err) {
  bool fenced = k->ins.len && k->ins.items[k->ins.len - 1].kind == SM_KIR_FENCE;
  for (size_t i = 0; i < k->ins.len && !fenced; i++) {
    if (k->ins.items[i].kind == SM_KIR_STORE && k->ins.items[i].imm.streaming) {
      return sm_error_set(err, SMELT_ERR_INTERNAL, "kernel %s streams, but has no FENCE at its end", k->name);
    }
  }
  return SMELT_OK;
}

/* The rules of the kind, and no more arguments than it has. */
static smelt_status check_ins(verifier *v) {
  switch (v->ins->kind) {
    case SM_KIR_CONST:
      SM_TRY(check_const(v));
      return check_unused(v, 0);
    case SM_KIR_SIZE:
      SM_TRY(check_size(v));
      return check_unused(v, 0);
    case SM_KIR_SCALAR:
      SM_TRY(check_scalar(v));
      return check_unused(v, 0);
    case SM_KIR_TABLE:
      SM_TRY(check_table(v));
      return check_unused(v, 1);
    case SM_KIR_CHUNK_BEGIN:
    case SM_KIR_CHUNK_END:
      SM_TRY(expect_type(v, i64_type));
      return check_unused(v, 0);
    case SM_KIR_FOR:
      SM_TRY(check_for(v));
      return check_unused(v, 2);
    case SM_KIR_END:
      SM_TRY(check_end(v));
      return check_unused(v, 0);
    case SM_KIR_CARRY:
      SM_TRY(check_carry(v));
      return check_unused(v, 1);
    case SM_KIR_NEXT:
      SM_TRY(check_next(v));
      return check_unused(v, 2);
    case SM_KIR_RESULT:
      SM_TRY(check_result(v));
      return check_unused(v, 1);
    case SM_KIR_SPLAT:
      SM_TRY(check_splat(v));
      return check_unused(v, 1);
    case SM_KIR_IOTA:
      SM_TRY(check_iota(v));
      return check_unused(v, 1);
    case SM_KIR_HALF:
      SM_TRY(check_half(v));
      return check_unused(v, 1);
    case SM_KIR_KOP:
      return check_kop(v);
    case SM_KIR_LOAD:
      SM_TRY(check_access(v));
      return check_unused(v, 2);
    case SM_KIR_GATHER:
      SM_TRY(check_gather(v));
      return check_unused(v, 1);
    case SM_KIR_LOAD_FIRST:
      SM_TRY(check_first(v));
      return check_unused(v, 2);
    case SM_KIR_STORE:
      return check_store(v);
    case SM_KIR_STORE_FIRST:
      SM_TRY(check_first(v));
      return check_stored(v);
    case SM_KIR_PREFETCH:
      SM_TRY(check_access(v));
      return check_unused(v, 1);
    case SM_KIR_FENCE:
      SM_TRY(expect_type(v, no_type));
      return check_unused(v, 0);
    case SM_KIR_MEMBER:
      SM_TRY(check_group(v));
      SM_TRY(expect_type(v, i64_type));
      return check_unused(v, 0);
    case SM_KIR_BARRIER:
      SM_TRY(expect_type(v, no_type));
      SM_TRY(check_meeting(v));
      return check_unused(v, 0);
    case SM_KIR_SHUFFLE:
      SM_TRY(check_shuffle(v));
      return check_unused(v, 1);
    default:
      return fault(v, "there is no kind %u", (unsigned)v->ins->kind);
  }
}

static smelt_status check_code(verifier *v) {
  int32_t n = (int32_t)v->k->ins.len;
  for (v->at = 0; v->at < n; v->at++) {
    v->ins = &v->k->ins.items[v->at];
    SM_TRY(check_ins(v));
    v->open[v->at] = true;
    v->uniform[v->at] = is_uniform(v);
  }
  v->at = innermost_for(v, n);
  return v->at == SM_KIR_NONE ? SMELT_OK : fault(v, "FOR without END");
}

static smelt_status check_argument(const sm_kir_kernel *k, const char *what, size_t i, smelt_dtype dtype,
                                   smelt_error *err) {
  if (sm_dtype_valid(dtype)) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_INTERNAL, "kernel %s, %s %zu: %d is no dtype", k->name, what, i,
                      (int)dtype);
}

static smelt_status check_signature(const sm_kir_kernel *k, smelt_error *err) {
  if (k->buffers.len > UINT16_MAX) {
    return sm_error_set(err, SMELT_ERR_INTERNAL, "kernel %s has %zu buffers, more than %d", k->name,
                        k->buffers.len, UINT16_MAX);
  }
  for (size_t i = 0; i < k->buffers.len; i++) {
    SM_TRY(check_argument(k, "buffer", i, k->buffers.items[i].dtype, err));
    if (i > 0 && !k->buffers.items[i].local && k->buffers.items[i - 1].local) {
      return sm_error_set(err, SMELT_ERR_INTERNAL, "kernel %s, buffer %zu: an argument after a local buffer",
                          k->name, i);
    }
  }
  if (k->threads < 0)
    return sm_error_set(err, SMELT_ERR_INTERNAL, "kernel %s has %d threads", k->name, k->threads);
  if (k->grain < 0 || k->grain > INT16_MAX)
    return sm_error_set(err, SMELT_ERR_INTERNAL, "kernel %s has grain %d", k->name, k->grain);
  for (size_t i = 0; i < k->buffers.len; i++) {
    if (k->buffers.items[i].shared && (!k->threads || !k->buffers.items[i].local))
      return sm_error_set(err, SMELT_ERR_INTERNAL, "kernel %s, buffer %zu: no group shares it", k->name, i);
    if (k->buffers.items[i].aligned && k->buffers.items[i].local && !k->buffers.items[i].shared)
      return sm_error_set(err, SMELT_ERR_INTERNAL, "kernel %s, buffer %zu: local and aligned", k->name, i);
  }
  for (size_t i = 0; i < k->scalars.len; i++) {
    SM_TRY(check_argument(k, "scalar", i, k->scalars.items[i], err));
  }
  return SMELT_OK;
}

smelt_status sm_kir_verify(const sm_kir_kernel *k, smelt_error *err) {
  SM_TRY(check_signature(k, err));
  SM_TRY(check_fenced(k, err));
  bool *open = sm_calloc(k->allocator, k->ins.len, 2 * sizeof *open);
  if (!open) return sm_error_memory(err, "verifying a kernel");
  verifier v = {.k = k, .open = open, .uniform = open + k->ins.len, .ended = SM_KIR_NONE, .err = err};
  smelt_status status = check_code(&v);
  sm_free(k->allocator, open, k->ins.len * 2 * sizeof *open);
  return status;
}
