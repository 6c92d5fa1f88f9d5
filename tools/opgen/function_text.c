/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass over the text by recursive descent. A literal stays open until its
 * siblings are known; everything else becomes a step at once. The steps of a
 * called function are those of its own text, parsed in a scope of its own. */
#include "function_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 100, DEPTH = 8, LEVELS = 7, TERMS = 32 };

/* --- Kops and dtypes, without the library ----------------------------------------- */

static const sm_kop_info kops[SM_KOP_COUNT] = {
#define KOP(id, name_, arity_, result_, cost_) \
  [SM_KOP_##id] = {.name = name_, .arity = arity_, .result = SM_RESULT_##result_, .cost = cost_},
#include "core/kops_rows.h"
};

enum { BOOLEANS = 1, INTEGERS = 2, FLOATS = 4 };

/* The classes of dtypes that have the kop; those of SELECT and CONVERT are not here. */
static const int classes[SM_KOP_COUNT][4] = {
#define KOP_BOOL(id, body) [SM_KOP_##id][0] = BOOLEANS,
#define KOP_INT(id, body) [SM_KOP_##id][1] = INTEGERS,
#define KOP_INT_TEST(id, body) [SM_KOP_##id][1] = INTEGERS,
#define KOP_UINT(id, body) [SM_KOP_##id][2] = INTEGERS,
#define KOP_FLOAT(id, body) [SM_KOP_##id][3] = FLOATS,
#define KOP_FLOAT_TEST(id, body) [SM_KOP_##id][3] = FLOATS,
#include "core/kops_rows.h"
};

static const struct {
  const char *name;
  size_t size;
  sm_kind kind;
} dtypes[SM_DTYPE_LIMIT] = {
#define DTYPE(id, value, name, ctype, kind, npy) [SMELT_##id] = {name, sizeof(ctype), SM_KIND_##kind},
#include "smelt/dtype.def"
#undef DTYPE
};

const sm_kop_info *function_kop_info(sm_kop kop) { return &kops[kop]; }

static bool is_float(smelt_dtype dtype) { return dtypes[dtype].kind == SM_KIND_FLOAT; }

static bool is_primitive(sm_kop kop, smelt_dtype dtype) {
  int wanted = is_float(dtype) ? FLOATS : dtype == SMELT_BOOL ? BOOLEANS : INTEGERS, have = 0;
  for (int i = 0; i < 4; i++) have |= classes[kop][i];
  return kop == SM_KOP_SELECT || (have & wanted);
}

/* --- The state of a parse ------------------------------------------------------------ */

typedef struct value {
  smelt_dtype dtype;   /* NONE while it is an open literal */
  int number;          /* of the value */
  const char *literal; /* where an open literal begins, after its sign */
  bool negative;
} value;

typedef struct name {
  const char *text;
  size_t len;
  value value;
} name;

/* A text and the names that are known in it. */
typedef struct scope {
  const function_source *source;
  const char *at;
  int n_names, depth;
  name names[NAMES];
} scope;

typedef struct parser {
  const function_source *all;
  int n_all;
  function_steps *out;
  function_fault *fault;
  bool failed;
} parser;

__attribute__((format(printf, 4, 5))) static value refuse(parser *p, const scope *s, const char *at,
                                                          const char *format, ...) {
  value nothing = {.dtype = s->source->dtype};
  if (p->failed) return nothing;
  va_list args;
  va_start(args, format);
  (void)vsnprintf(p->fault->message, sizeof p->fault->message, format, args);
  va_end(args);
  p->fault->at = (int)(at - s->source->text);
  p->failed = true;
  return nothing;
}

/* --- Symbols --------------------------------------------------------------------------- */

static const char *skip_blanks(scope *s) {
  while (*s->at == ' ') s->at++;
  return s->at;
}

static bool accept(scope *s, const char *symbol) {
  size_t len = strlen(symbol);
  if (strncmp(skip_blanks(s), symbol, len) != 0) return false;
  s->at += len;
  return true;
}

static size_t name_length(const char *at) {
  size_t len = 0;
  if (isalpha((unsigned char)*at)) {
    while (isalnum((unsigned char)at[len]) || at[len] == '_') len++;
  }
  return len;
}

static bool equals(const char *at, size_t len, const char *word) {
  return strlen(word) == len && memcmp(at, word, len) == 0;
}

/* --- Steps ------------------------------------------------------------------------------- */

static bool same_step(const sm_function_step *a, const sm_function_step *b) {
  return a->kop == b->kop && a->dtype == b->dtype && memcmp(a->args, b->args, sizeof a->args) == 0 &&
         a->literal.bits == b->literal.bits;
}

/* The value of the step: of an equal one if there is one. */
static value add_step(parser *p, const scope *s, const char *at, sm_function_step step) {
  function_steps *out = p->out;
  int i = 0;
  while (i < out->n_steps && !same_step(&out->steps[i], &step)) i++;
  if (i == SM_FUNCTION_STEPS) return refuse(p, s, at, "more than %d steps", SM_FUNCTION_STEPS);
  if (i == out->n_steps) out->steps[out->n_steps++] = step;
  return (value){.dtype = (smelt_dtype)step.dtype, .number = out->arity + i};
}

static value add_kop(parser *p, const scope *s, const char *at, sm_kop kop, smelt_dtype dtype,
                     const value *args) {
  sm_function_step step = {.kop = (uint8_t)kop, .dtype = (uint8_t)dtype};
  for (int i = 0; i < kops[kop].arity; i++) step.args[i] = (int16_t)args[i].number;
  return add_step(p, s, at, step);
}

/* --- Literals ------------------------------------------------------------------------------ */

/* An integer's bits; those of a negative one modulo 2^64. */
static bool read_integer(const value *v, smelt_dtype dtype, uint64_t *bits) {
  char *end, *float_end;
  errno = 0;
  *bits = strtoull(v->literal, &end, 0);
  (void)strtod(v->literal, &float_end);
  unsigned digits = (unsigned)dtypes[dtype].size * 8 - (dtypes[dtype].kind == SM_KIND_SINT);
  bool fits = digits == 64 || *bits >> digits == 0;
  if (v->negative) *bits = 0 - *bits;
  return errno == 0 && end == float_end && fits && (!v->negative || dtypes[dtype].kind == SM_KIND_SINT);
}

/* strtof and not a rounded double: each dtype gets the nearest number. */
static double read_float(const value *v, smelt_dtype dtype) {
  double magnitude = dtype == SMELT_F32 ? (double)strtof(v->literal, NULL) : strtod(v->literal, NULL);
  return v->negative ? -magnitude : magnitude;
}

static sm_word integer_word(smelt_dtype dtype, uint64_t bits) {
  sm_word word = {.bits = 0};
  switch (dtype) {
    case SMELT_I32:
      word.I32 = (int32_t)(uint32_t)bits;
      break;
    case SMELT_U32:
      word.U32 = (uint32_t)bits;
      break;
    default:
      word.U64 = bits;
      break;
  }
  return word;
}

static bool has_literals(smelt_dtype dtype) { return dtypes[dtype].size >= 4; }

/* Gives an open literal its dtype and makes it a step. */
static value settle(parser *p, const scope *s, value v, smelt_dtype dtype) {
  if (v.dtype != SMELT_DTYPE_NONE || p->failed) return v;
  if (!has_literals(dtype)) return refuse(p, s, v.literal, "no literals of %s", dtypes[dtype].name);
  sm_function_step step = {.kop = SM_KOP_NONE, .dtype = (uint8_t)dtype};
  uint64_t bits;
  if (dtype == SMELT_F32) step.literal.F32 = (float)read_float(&v, dtype);
  else if (dtype == SMELT_F64) step.literal.F64 = read_float(&v, dtype);
  else if (read_integer(&v, dtype, &bits)) step.literal = integer_word(dtype, bits);
  else return refuse(p, s, v.literal, "this is no %s", dtypes[dtype].name);
  return add_step(p, s, v.literal, step);
}

/* --- Kops ------------------------------------------------------------------------------------- */

/* The dtype of a list of operands: that of the first which has one. */
static smelt_dtype shared_dtype(const scope *s, const value *args, int from, int n) {
  for (int i = from; i < n; i++) {
    if (args[i].dtype != SMELT_DTYPE_NONE) return args[i].dtype;
  }
  return s->source->dtype;
}

static value expand_call(parser *p, const scope *caller, const char *at, sm_kop kop, smelt_dtype dtype,
                         const value *args);

static value apply(parser *p, const scope *s, const char *at, sm_kop kop, value *args) {
  const sm_kop_info *info = &kops[kop];
  int first = info->result == SM_RESULT_SELECT;
  smelt_dtype dtype = shared_dtype(s, args, first, info->arity);
  for (int i = 0; i < info->arity; i++) {
    smelt_dtype wanted = i < first ? SMELT_BOOL : dtype;
    args[i] = settle(p, s, args[i], wanted);
    if (p->failed) return args[i];
    if (args[i].dtype == wanted) continue;
    return refuse(p, s, at, "operand %d of %s is %s, not %s", i + 1, info->name, dtypes[args[i].dtype].name,
                  dtypes[wanted].name);
  }
  if (!is_primitive(kop, dtype)) return expand_call(p, s, at, kop, dtype, args);
  return add_kop(p, s, at, kop, info->result == SM_RESULT_TEST ? SMELT_BOOL : dtype, args);
}

/* --- Conversions -------------------------------------------------------------------------------- */

static smelt_dtype find_dtype(const char *at, size_t len) {
  for (int d = 1; d < SM_DTYPE_LIMIT; d++) {
    if (dtypes[d].name && equals(at, len, dtypes[d].name)) return (smelt_dtype)d;
  }
  return SMELT_DTYPE_NONE;
}

/* What bits() and float() make of a dtype, NONE if they do not take it. */
static smelt_dtype other_form(smelt_dtype dtype, bool to_float) {
  smelt_dtype small = to_float ? SMELT_U32 : SMELT_F32, large = to_float ? SMELT_U64 : SMELT_F64;
  if (dtype == small) return to_float ? SMELT_F32 : SMELT_U32;
  if (dtype == large) return to_float ? SMELT_F64 : SMELT_U64;
  return SMELT_DTYPE_NONE;
}

static value reinterpret(parser *p, const scope *s, const char *at, value v, bool to_float) {
  smelt_dtype to = other_form(v.dtype, to_float);
  if (to == SMELT_DTYPE_NONE) return refuse(p, s, at, "no bits to be taken as another dtype");
  return add_kop(p, s, at, SM_KOP_BITCAST, to, &v);
}

static value cast(parser *p, const scope *s, const char *at, value v, smelt_dtype to) {
  if (v.dtype == SMELT_DTYPE_NONE || v.dtype == to) return refuse(p, s, at, "nothing to convert");
  return add_kop(p, s, at, SM_KOP_CAST, to, &v);
}

/* --- Expressions ----------------------------------------------------------------------------------- */

static value parse_level(parser *p, scope *s, int level);

static int parse_arguments(parser *p, scope *s, value args[SM_FUNCTION_ARGS]) {
  int n = 0;
  do {
    value arg = parse_level(p, s, 0);
    if (n == SM_FUNCTION_ARGS) refuse(p, s, s->at, "too many arguments");
    if (p->failed) return 0;
    args[n++] = arg;
  } while (accept(s, ","));
  if (!accept(s, ")")) refuse(p, s, s->at, "expected , or )");
  return n;
}

static sm_kop find_kop(const char *at, size_t len) {
  for (int k = 1; k < SM_KOP_COUNT; k++) {
    if (equals(at, len, kops[k].name)) return (sm_kop)k;
  }
  return SM_KOP_NONE;
}

/* c0 + v * (c1 + v * ...), after `poly(`. */
static value parse_poly(parser *p, scope *s, const char *at) {
  value v = parse_level(p, s, 0), terms[TERMS];
  int n = 0;
  while (!p->failed && n < TERMS && accept(s, ",")) terms[n++] = parse_level(p, s, 0);
  if (!accept(s, ")")) return refuse(p, s, s->at, "expected , or )");
  if (n < 2) return refuse(p, s, at, "a polynomial has at least two coefficients");
  value sum = terms[n - 1];
  while (!p->failed && --n > 0) sum = apply(p, s, at, SM_KOP_FMA, (value[]){sum, v, terms[n - 1]});
  return sum;
}

static value parse_call(parser *p, scope *s, const char *at, size_t len) {
  if (equals(at, len, "poly")) return parse_poly(p, s, at);
  value args[SM_FUNCTION_ARGS] = {{.dtype = SMELT_DTYPE_NONE}};
  int n = parse_arguments(p, s, args);
  if (p->failed) return args[0];
  sm_kop kop = find_kop(at, len);
  bool converts = kop == SM_KOP_NONE || kops[kop].result == SM_RESULT_CONVERT;
  if (!converts && n == kops[kop].arity) return apply(p, s, at, kop, args);
  if (!converts) return refuse(p, s, at, "%s has %d operands", kops[kop].name, kops[kop].arity);
  if (n == 1 && equals(at, len, "bits")) return reinterpret(p, s, at, args[0], false);
  if (n == 1 && equals(at, len, "float")) return reinterpret(p, s, at, args[0], true);
  smelt_dtype to = find_dtype(at, len);
  if (n == 1 && to != SMELT_DTYPE_NONE) return cast(p, s, at, args[0], to);
  return refuse(p, s, at, "there is no %.*s of %d operands", (int)len, at, n);
}

static value parse_name(parser *p, scope *s) {
  const char *at = s->at;
  size_t len = name_length(at);
  s->at += len;
  if (accept(s, "(")) return parse_call(p, s, at, len);
  for (int i = s->n_names - 1; i >= 0; i--) {
    if (s->names[i].len == len && memcmp(s->names[i].text, at, len) == 0) return s->names[i].value;
  }
  if (equals(at, len, "inf") || equals(at, len, "nan")) return (value){.literal = at};
  return refuse(p, s, at, "%.*s has no value yet", (int)len, at);
}

static value parse_primary(parser *p, scope *s) {
  const char *at = skip_blanks(s);
  if (accept(s, "(")) {
    value v = parse_level(p, s, 0);
    return accept(s, ")") ? v : refuse(p, s, s->at, "expected )");
  }
  if (isalpha((unsigned char)*at)) return parse_name(p, s);
  if (!isdigit((unsigned char)*at)) return refuse(p, s, at, "expected a name, a number or (");
  char *end;
  (void)strtod(at, &end);
  s->at = end;
  return (value){.literal = at};
}

static value parse_unary(parser *p, scope *s) {
  const char *at = skip_blanks(s);
  bool minus = accept(s, "-");
  if (!minus && !accept(s, "~")) return parse_primary(p, s);
  value v = parse_unary(p, s);
  if (!minus || v.dtype != SMELT_DTYPE_NONE)
    return p->failed ? v : apply(p, s, at, minus ? SM_KOP_NEG : SM_KOP_NOT, &v);
  v.negative = !v.negative;
  return v;
}

/* Binary operators; the longer ones first. Level 0 binds least. */
static const struct {
  const char *symbol;
  int level;
  sm_kop kop;
  bool swapped;
} operators[] = {
    {"==", 0, SM_KOP_EQ, false}, {"!=", 0, SM_KOP_NE, false},  {"<=", 0, SM_KOP_LE, false},
    {">=", 0, SM_KOP_LE, true},  {"<<", 4, SM_KOP_SHL, false}, {">>", 4, SM_KOP_SHR, false},
    {"<", 0, SM_KOP_LT, false},  {">", 0, SM_KOP_LT, true},    {"|", 1, SM_KOP_OR, false},
    {"^", 2, SM_KOP_XOR, false}, {"&", 3, SM_KOP_AND, false},  {"+", 5, SM_KOP_ADD, false},
    {"-", 5, SM_KOP_SUB, false}, {"*", 6, SM_KOP_MUL, false},  {"/", 6, SM_KOP_DIV, false},
};
enum { N_OPERATORS = sizeof operators / sizeof operators[0] };

/* The operator that comes next, N_OPERATORS if there is none. */
static int peek_operator(scope *s) {
  const char *at = skip_blanks(s);
  int i = 0;
  while (i < N_OPERATORS && strncmp(at, operators[i].symbol, strlen(operators[i].symbol)) != 0) i++;
  return i;
}

static value parse_level(parser *p, scope *s, int level) {
  if (level == LEVELS) return parse_unary(p, s);
  value left = parse_level(p, s, level + 1);
  for (int i; !p->failed && (i = peek_operator(s)) < N_OPERATORS && operators[i].level == level;) {
    const char *at = s->at;
    s->at += strlen(operators[i].symbol);
    value right = parse_level(p, s, level + 1);
    if (p->failed) return right;
    value pair[] = {operators[i].swapped ? right : left, operators[i].swapped ? left : right};
    left = apply(p, s, at, operators[i].kop, pair);
    if (level == 0) break;
  }
  return left;
}

/* --- Statements --------------------------------------------------------------------------------------- */

/* Whether `name =` comes next; then it is consumed. */
static bool accept_target(scope *s, name *target) {
  const char *at = skip_blanks(s);
  *target = (name){.text = at, .len = name_length(at)};
  const char *after = at + target->len;
  while (*after == ' ') after++;
  if (target->len == 0 || after[0] != '=' || after[1] == '=') return false;
  s->at = after + 1;
  return true;
}

static void parse_assignment(parser *p, scope *s, name target) {
  target.value = settle(p, s, parse_level(p, s, 0), s->source->dtype);
  if (!p->failed && !accept(s, ";")) refuse(p, s, s->at, "expected an operator or ;");
  if (s->n_names == NAMES) refuse(p, s, target.text, "more than %d names", NAMES);
  if (!p->failed) s->names[s->n_names++] = target;
}

static value parse_text(parser *p, scope *s) {
  name target;
  while (!p->failed && accept_target(s, &target)) parse_assignment(p, s, target);
  const char *at = skip_blanks(s);
  value result = settle(p, s, parse_level(p, s, 0), s->source->dtype);
  if (!p->failed && *skip_blanks(s)) return refuse(p, s, s->at, "expected an operator or the end");
  if (!p->failed && result.dtype == s->source->dtype) return result;
  return refuse(p, s, at, "the result is %s, not %s", dtypes[result.dtype].name,
                dtypes[s->source->dtype].name);
}

static scope open_scope(const function_source *source, const value *args, int depth) {
  static const char *const parameters[SM_FUNCTION_ARGS] = {"x", "y", "z"};
  scope s = {.source = source, .at = source->text, .n_names = kops[source->kop].arity, .depth = depth};
  for (int i = 0; i < s.n_names; i++) s.names[i] = (name){parameters[i], 1, args[i]};
  return s;
}

/* --- Functions ------------------------------------------------------------------------------------------ */

static value expand_call(parser *p, const scope *caller, const char *at, sm_kop kop, smelt_dtype dtype,
                         const value *args) {
  int i = 0;
  while (i < p->n_all && (p->all[i].kop != kop || p->all[i].dtype != dtype)) i++;
  if (i == p->n_all) return refuse(p, caller, at, "there is no %s of %s", kops[kop].name, dtypes[dtype].name);
  if (caller->depth == DEPTH) return refuse(p, caller, at, "functions call each other too deeply");
  scope s = open_scope(&p->all[i], args, caller->depth + 1);
  value result = parse_text(p, &s);
  if (p->failed) p->fault->at = (int)(at - caller->source->text);
  return result;
}

/* Leaves out steps that the result, the value `result`, does not need. */
static void drop_unused(function_steps *f, int result) {
  bool used[SM_FUNCTION_ARGS + SM_FUNCTION_STEPS] = {false};
  int renamed[SM_FUNCTION_ARGS + SM_FUNCTION_STEPS] = {0, 1, 2}, n = 0;
  used[result] = true;
  for (int i = f->n_steps - 1; i >= 0; i--) {
    const sm_function_step *step = &f->steps[i];
    for (int a = 0; used[f->arity + i] && a < kops[step->kop].arity; a++) used[step->args[a]] = true;
  }
  for (int i = 0; i < f->n_steps; i++) {
    if (!used[f->arity + i]) continue;
    sm_function_step step = f->steps[i];
    for (int a = 0; a < kops[step.kop].arity; a++) step.args[a] = (int16_t)renamed[step.args[a]];
    renamed[f->arity + i] = f->arity + n;
    f->steps[n++] = step;
  }
  f->n_steps = n;
}

bool function_parse(const function_source *source, const function_source *all, int n_all,
                    function_steps *steps, function_fault *fault) {
  parser p = {.all = all, .n_all = n_all, .out = steps, .fault = fault};
  *steps = (function_steps){.arity = kops[source->kop].arity};
  value parameters[SM_FUNCTION_ARGS];
  for (int i = 0; i < SM_FUNCTION_ARGS; i++) parameters[i] = (value){.dtype = source->dtype, .number = i};
  scope s = open_scope(source, parameters, 0);
  value result = parse_text(&p, &s);
  if (!p.failed && result.number < steps->arity) refuse(&p, &s, source->text, "the function has no steps");
  if (!p.failed) drop_unused(steps, result.number);
  return !p.failed;
}
