/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass over the text by recursive descent. Literals and the index get their
 * dtype when the call around them is complete and the siblings are known. */
#include "ir/expr.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

typedef struct compiler {
  const char *at;
  const smelt_dtype *operands;
  int n_operands;
  smelt_dtype result;
  sm_expr *out;
  int depth;         /* of nested calls */
  const char *fault; /* NULL while all is well */
} compiler;

static void skip_blanks(compiler *c) {
  while (*c->at == ' ') c->at++;
}

static bool accept(compiler *c, char symbol) {
  skip_blanks(c);
  if (*c->at != symbol) return false;
  c->at++;
  return true;
}

static void refuse(compiler *c, const char *fault) {
  if (!c->fault) c->fault = fault;
}

/* --- Dtypes of literals and of the index ----------------------------------------- */

typedef struct parsed {
  sm_expr_arg arg;
  double number; /* of a literal whose dtype is open */
} parsed;

static bool converts(sm_kop kop) { return sm_kop_info_of(kop)->result == SM_RESULT_CONVERT; }

static bool is_open(const parsed *p) { return p->arg.dtype == SMELT_DTYPE_NONE; }

/* False if the dtype has no such value. */
static bool make_literal(double number, smelt_dtype dtype, sm_word *out) {
  sm_scalar s = {.kind = sm_kind_of(dtype)};
  bool integral = fabs(number) < 0x1p63 && number == trunc(number);
  switch (s.kind) {
    case SM_KIND_BOOL:
      s.as.b = number != 0;
      break;
    case SM_KIND_FLOAT:
      s.as.f64 = number;
      break;
    default:
      if (!integral) return false;
      s = (sm_scalar){.kind = SM_KIND_SINT, .as.i64 = (int64_t)number};
  }
  return sm_scalar_convert(s, dtype, out, NULL) == SMELT_OK;
}

static void settle(compiler *c, parsed *p, smelt_dtype dtype) {
  if (!is_open(p)) return;
  p->arg.dtype = p->arg.kind == SM_ARG_INDEX && dtype != SMELT_U64 ? SMELT_I64 : dtype;
  if (p->arg.kind == SM_ARG_LITERAL && !make_literal(p->number, dtype, &p->arg.literal)) {
    refuse(c, "a literal does not fit its dtype");
  }
}

/* The dtype a call's arguments share: that of the first whose dtype is known;
 * the first argument of a select is its mask. */
static smelt_dtype shared_dtype(const compiler *c, sm_kop kop, const parsed *args, int n) {
  for (int i = kop == SM_KOP_SELECT ? 1 : 0; i < n; i++) {
    if (!is_open(&args[i])) return args[i].arg.dtype;
  }
  return converts(kop) ? SMELT_I64 : sm_dtype_working(c->result);
}

/* --- Half types ---------------------------------------------------------------------- */

static parsed add_cast(compiler *c, parsed p, smelt_dtype to) {
  if (c->out->n_steps == SM_EXPR_STEPS) refuse(c, "too many steps");
  if (c->fault) return p;
  c->out->steps[c->out->n_steps] =
      (sm_expr_step){.kop = SM_KOP_CAST, .n_args = 1, .args = {p.arg}, .dtype = to};
  return (parsed){.arg = {.kind = SM_ARG_STEP, .index = c->out->n_steps++, .dtype = to}};
}

/* A half operand as f32; once, however often it is named. */
static parsed widen(compiler *c, parsed operand) {
  for (int s = 0; s < c->out->n_steps; s++) {
    const sm_expr_arg *arg = &c->out->steps[s].args[0];
    bool same = arg->kind == SM_ARG_OPERAND && arg->index == operand.arg.index;
    if (same) return (parsed){.arg = {.kind = SM_ARG_STEP, .index = s, .dtype = SMELT_F32}};
  }
  return add_cast(c, operand, SMELT_F32);
}

/* The half result from an f32. A copy takes the operand itself, a conversion makes
 * the half directly. */
static parsed narrow(compiler *c, parsed p) {
  if (c->fault || !sm_dtype_is_half(c->result) || p.arg.dtype != SMELT_F32) return p;
  if (p.arg.kind == SM_ARG_STEP) {
    sm_expr_step *last = &c->out->steps[p.arg.index];
    bool copies =
        last->n_args == 1 && last->args[0].kind == SM_ARG_OPERAND && last->args[0].dtype == c->result;
    if (copies) {
      c->out->n_steps = 0;
      return (parsed){.arg = last->args[0]};
    }
    if (converts(last->kop) && sm_kop_eval(last->kop, last->args[0].dtype, c->result)) {
      last->dtype = p.arg.dtype = c->result;
      return p;
    }
  }
  c->out->rounds = true;
  return add_cast(c, p, c->result);
}

/* --- Grammar ------------------------------------------------------------------------ */

static parsed parse(compiler *c);

static parsed add_step(compiler *c, sm_kop kop, parsed *args, int n) {
  smelt_dtype in = shared_dtype(c, kop, args, n);
  smelt_dtype to = converts(kop) ? sm_dtype_working(c->result) : sm_kop_result_dtype(kop, in);
  if (!sm_kop_eval(kop, in, to)) refuse(c, "a kop does not exist for its operands");
  if (c->out->n_steps == SM_EXPR_STEPS) refuse(c, "too many steps");
  if (c->fault) return (parsed){.arg = {.kind = SM_ARG_INDEX, .dtype = in}};
  sm_expr_step *step = &c->out->steps[c->out->n_steps];
  *step = (sm_expr_step){.kop = kop, .n_args = n, .dtype = to};
  for (int i = 0; i < n; i++) {
    smelt_dtype wanted = kop == SM_KOP_SELECT && i == 0 ? SMELT_BOOL : in;
    settle(c, &args[i], wanted);
    if (args[i].arg.dtype != wanted) refuse(c, "an argument has another dtype");
    step->args[i] = args[i].arg;
  }
  return (parsed){.arg = {.kind = SM_ARG_STEP, .index = c->out->n_steps++, .dtype = to}};
}

static parsed parse_call(compiler *c, const char *name, size_t len) {
  parsed args[SM_EXPR_ARGS] = {0}, nothing = {.arg = {.kind = SM_ARG_INDEX, .dtype = SMELT_I64}};
  int n = 0;
  if (++c->depth > SM_EXPR_STEPS) refuse(c, "too many steps");
  do {
    parsed arg = parse(c);
    if (n == SM_EXPR_ARGS) refuse(c, "too many arguments");
    if (c->fault) return nothing;
    args[n++] = arg;
  } while (accept(c, ','));
  if (!accept(c, ')')) refuse(c, "missing )");
  c->depth--;
  sm_kop kop = sm_kop_find(name, len);
  if (kop == SM_KOP_NONE || sm_kop_info_of(kop)->arity != n) refuse(c, "no such kop of that arity");
  return c->fault ? nothing : add_step(c, kop, args, n);
}

static parsed parse_name(compiler *c) {
  const char *name = c->at;
  while (isalnum((unsigned char)*c->at) || *c->at == '_') c->at++;
  size_t len = (size_t)(c->at - name);
  if (accept(c, '(')) return parse_call(c, name, len);
  if (len == 5 && memcmp(name, "index", 5) == 0) return (parsed){.arg = {.kind = SM_ARG_INDEX}};
  int operand = len == 1 ? name[0] - 'x' : -1;
  if (operand < 0 || operand >= c->n_operands) {
    refuse(c, "unknown name");
    operand = 0;
  }
  smelt_dtype dtype = c->fault ? SMELT_I64 : c->operands[operand];
  parsed p = {.arg = {.kind = SM_ARG_OPERAND, .index = operand, .dtype = dtype}};
  return sm_dtype_is_half(dtype) ? widen(c, p) : p;
}

static parsed parse(compiler *c) {
  if (c->fault) return (parsed){.arg = {.kind = SM_ARG_INDEX, .dtype = SMELT_I64}};
  skip_blanks(c);
  if (isalpha((unsigned char)*c->at)) return parse_name(c);
  char *end;
  double number = sm_parse_f64(c->at, &end);
  if (end == c->at) refuse(c, "expected a name or a number");
  c->at = end;
  return (parsed){.arg = {.kind = SM_ARG_LITERAL}, .number = number};
}

smelt_status sm_expr_compile(const char *source, const smelt_dtype *operands, int n_operands,
                             smelt_dtype result, sm_expr *out, smelt_error *err) {
  compiler c = {.at = source, .operands = operands, .n_operands = n_operands, .result = result, .out = out};
  out->n_steps = 0;
  out->rounds = false;
  parsed p = parse(&c);
  settle(&c, &p, result);
  p = narrow(&c, p);
  skip_blanks(&c);
  if (*c.at) refuse(&c, "text after the expression");
  if (p.arg.dtype != result) refuse(&c, "the result has another dtype");
  out->result = p.arg;
  if (!c.fault) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_INTERNAL, "expression \"%.300s\": %s", source, c.fault);
}
