/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/mode.h"
#include "ir/smt_parser.h"

static smelt_status input(sm_smt_parser *p, sm_smt_stmt *s) {
  sm_smt_skip_blanks(p);
  const char *start = p->at;
  sm_shape checked;
  smelt_error cause;
  SM_TRY(sm_smt_read_type(p, &s->type));
  if (sm_shape_make(&checked, s->type.dtype, s->type.rank, s->type.dims, &cause) != SMELT_OK) {
    return sm_smt_fail(p, start, "%s", cause.text);
  }
  sm_smt_skip_blanks(p);
  start = p->at;
  SM_TRY(sm_smt_read_data(p, s->type.dtype, &s->data));
  int64_t count = sm_shape_count(&checked);
  if (s->data.fill == SM_SMT_LIST && s->data.n != (uint64_t)count) {
    return sm_smt_fail(p, start, "%zu elements for a shape of %lld", s->data.n, (long long)count);
  }
  return SMELT_OK;
}

static smelt_status operand(sm_smt_parser *p) {
  sm_smt_operand o = {.use = sm_smt_accept(p, '&') ? SM_SMT_KEEP : SM_SMT_TAKE};
  const char *start = p->at;
  sm_smt_span w = sm_smt_word(p);
  if (o.use == SM_SMT_KEEP || (w.n && !sm_smt_is_reserved(w))) {
    SM_TRY(sm_smt_look_up(p, w, &o.name));
  } else {
    p->at = start;
    o.use = SM_SMT_SCALAR;
    SM_TRY(sm_smt_read_scalar(p, &o.scalar));
  }
  return sm_vec_push(p->allocator, &p->operands, o) ? SMELT_OK : sm_smt_out_of_memory(p);
}

/* An operand or name=value. Attributes come last. */
static smelt_status argument(sm_smt_parser *p, sm_smt_stmt *s) {
  sm_smt_skip_blanks(p);
  const char *start = p->at;
  sm_smt_span w = sm_smt_word(p);
  if (w.n && sm_smt_accept(p, '=')) return sm_smt_read_attribute(p, w, s);
  p->at = start;
  if (p->given) return sm_smt_expected(p, "an attribute");
  return operand(p);
}

static smelt_status keep_operands(sm_smt_parser *p, sm_smt_stmt *s) {
  s->n_operands = p->operands.len;
  s->operands = sm_arena_copy(&p->out->arena, p->operands.items, s->n_operands * sizeof *s->operands);
  return s->operands ? SMELT_OK : sm_smt_out_of_memory(p);
}

static smelt_status call(sm_smt_parser *p, sm_smt_span name, sm_smt_stmt *s) {
  s->code = sm_op_find(sm_smt_terminated(name).s);
  if (s->code == SM_OP_COUNT) return sm_smt_fail(p, name.s, "there is no operation '%.*s'", SHOWN(name));
  char number = sm_op_number_letter(sm_op_row_of(s->code));
  if (number) s->attrs.number = sm_attr_row_of(number)->usual;
  p->given = 0;
  p->operands.len = 0;
  SM_TRY(sm_smt_expect(p, '('));
  if (!sm_smt_peek(p, ')')) {
    do SM_TRY(argument(p, s));
    while (sm_smt_accept(p, ','));
  }
  SM_TRY(sm_smt_expect(p, ')'));
  return keep_operands(p, s);
}

/* What follows "name =". The name is not yet visible there. */
static smelt_status definition(sm_smt_parser *p, sm_smt_span name, sm_smt_stmt *s) {
  sm_smt_span w = sm_smt_word(p);
  if (w.n == 0) return sm_smt_expected(p, "input or an operation");
  s->kind = sm_smt_is(w, "input") ? SM_SMT_INPUT : SM_SMT_CALL;
  if (s->kind == SM_SMT_INPUT) SM_TRY(input(p, s));
  else SM_TRY(call(p, w, s));
  return sm_smt_define(p, name, &s->name);
}

/* What follows "name,". */
static smelt_status definition_of_two(sm_smt_parser *p, sm_smt_span name, sm_smt_stmt *s) {
  sm_smt_span second = sm_smt_word(p);
  if (second.n == 0) return sm_smt_expected(p, "a name");
  SM_TRY(sm_smt_expect(p, '='));
  const char *start = p->at;
  SM_TRY(definition(p, name, s));
  s->has_second = s->kind == SM_SMT_CALL && sm_op_has_second(sm_op_row_of(s->code));
  if (!s->has_second) return sm_smt_fail(p, start, "there is only one result");
  return sm_smt_define(p, second, &s->second);
}

static smelt_status name_list(sm_smt_parser *p, sm_smt_stmt *s) {
  p->operands.len = 0;
  do {
    sm_smt_operand o = {.use = s->kind == SM_SMT_DROP ? SM_SMT_TAKE : SM_SMT_KEEP};
    sm_smt_span w = sm_smt_word(p);
    SM_TRY(sm_smt_look_up(p, w, &o.name));
    if (!sm_vec_push(p->allocator, &p->operands, o)) return sm_smt_out_of_memory(p);
  } while (sm_smt_accept(p, ','));
  return keep_operands(p, s);
}

static smelt_status nothing(sm_smt_parser *p, sm_smt_stmt *s) {
  (void)p, (void)s;
  return SMELT_OK;
}

static smelt_status marker(sm_smt_parser *p, sm_smt_stmt *s) { return sm_smt_read_string(p, &s->string); }
static smelt_status number(sm_smt_parser *p, sm_smt_stmt *s) {
  return sm_smt_read_unsigned_number(p, &s->number);
}

static bool options_are_over(const sm_smt_parser *p) {
  size_t n = p->out->stmts.len;
  return n > 0 && p->out->stmts.items[n - 1].kind != SM_SMT_OPTION;
}

static smelt_status mode(sm_smt_parser *p, sm_smt_stmt *s) {
  sm_smt_span w = sm_smt_word(p);
  smelt_mode found;
  smelt_error cause;
  s->option = SM_SMT_MODE;
  if (sm_mode_find(sm_smt_terminated(w).s, &found, &cause) != SMELT_OK)
    return sm_smt_fail(p, w.s, "%s", cause.text);
  s->number = (uint64_t)found;
  return SMELT_OK;
}

static smelt_status option(sm_smt_parser *p, sm_smt_stmt *s) {
  sm_smt_span w = sm_smt_word(p);
  if (options_are_over(p)) return sm_smt_fail(p, w.s, "options come before everything else");
  sm_smt_skip_blanks(p);
  if (sm_smt_is(w, "fusion")) {
    s->option = SM_SMT_FUSION;
    s->number = sm_smt_accept_word(p, "on");
    return s->number || sm_smt_accept_word(p, "off") ? SMELT_OK : sm_smt_expected(p, "on or off");
  }
  if (sm_smt_is(w, "mode")) return mode(p, s);
  if (!sm_smt_is(w, "max_ops"))
    return sm_smt_fail(p, w.s, "there is no option '%.*s' (fusion, mode, max_ops)", SHOWN(w));
  const char *start = p->at;
  s->option = SM_SMT_MAX_OPS;
  SM_TRY(sm_smt_read_unsigned_number(p, &s->number));
  return s->number && s->number <= INT32_MAX ? SMELT_OK
                                             : sm_smt_fail(p, start, "max_ops is between 1 and 2^31 - 1");
}

static smelt_status status_code(sm_smt_parser *p, smelt_status *out) {
  static const struct {
    const char *name;
    smelt_status value;
  } codes[] = {
#define STATUS(id, value, meaning) {#id, SMELT_##id},
#include "smelt/status.def"
#undef STATUS
  };
  sm_smt_skip_blanks(p);
  sm_smt_span w = sm_smt_word(p);
  for (size_t i = 1; i < sizeof codes / sizeof codes[0]; i++) {
    if (!sm_smt_is(w, codes[i].name)) continue;
    *out = codes[i].value;
    return SMELT_OK;
  }
  return w.n ? sm_smt_fail(p, w.s, "'%.*s' is not an error code", SHOWN(w))
             : sm_smt_expected(p, "an error code");
}

static smelt_status expect_poisoned(sm_smt_parser *p, sm_smt_stmt *s) {
  s->kind = SM_SMT_EXPECT_POISONED;
  SM_TRY(status_code(p, &s->status));
  return sm_smt_peek(p, '"') ? sm_smt_read_string(p, &s->string) : SMELT_OK;
}

static smelt_status ulp(sm_smt_parser *p, sm_smt_stmt *s) {
  sm_smt_skip_blanks(p);
  const char *start = p->at;
  SM_TRY(sm_smt_read_unsigned_number(p, &s->number));
  if (s->number > INT32_MAX) return sm_smt_fail(p, start, "a bound is below 2^31");
  s->ulp = (int64_t)s->number;
  return SMELT_OK;
}

static bool at_data(sm_smt_parser *p) {
  const char *before = p->at;
  bool yes = sm_smt_peek(p, '{') || sm_smt_accept_word(p, "fill") || sm_smt_accept_word(p, "iota");
  p->at = before;
  return yes;
}

static bool at_end(sm_smt_parser *p) {
  return sm_smt_peek(p, '\n') || sm_smt_peek(p, '#') || p->at == p->end;
}

/* [type] [data ["ulp" n]], not all left out. */
static smelt_status expect_value(sm_smt_parser *p, sm_smt_stmt *s) {
  s->kind = SM_SMT_EXPECT_VALUE;
  if (!at_data(p)) SM_TRY(sm_smt_read_type(p, &s->type));
  if (at_end(p)) return SMELT_OK;
  SM_TRY(sm_smt_read_data(p, s->type.dtype, &s->data));
  return sm_smt_accept_word(p, "ulp") ? ulp(p, s) : SMELT_OK;
}

static smelt_status expectation(sm_smt_parser *p, sm_smt_stmt *s) {
  bool blocks = sm_smt_accept_word(p, "blocks");
  if (blocks || sm_smt_accept_word(p, "launches")) {
    s->kind = blocks ? SM_SMT_EXPECT_BLOCKS : SM_SMT_EXPECT_LAUNCHES;
    return sm_smt_read_unsigned_number(p, &s->number);
  }
  if (sm_smt_accept_word(p, "line")) {
    s->kind = SM_SMT_EXPECT_LINE;
    return sm_smt_read_string(p, &s->string);
  }
  sm_smt_span w = sm_smt_word(p);
  SM_TRY(sm_smt_look_up(p, w, &s->name));
  return sm_smt_accept_word(p, "poisoned") ? expect_poisoned(p, s) : expect_value(p, s);
}

static const struct {
  const char *word;
  sm_smt_kind kind;
  smelt_status (*rest)(sm_smt_parser *p, sm_smt_stmt *s);
} keywords[] = {
    {"option", SM_SMT_OPTION, option}, {"seed", SM_SMT_SEED, number},
    {"drop", SM_SMT_DROP, name_list},  {"eval", SM_SMT_EVAL, name_list},
    {"read", SM_SMT_READ, name_list},  {"sync", SM_SMT_SYNC, nothing},
    {"marker", SM_SMT_MARKER, marker}, {"expect", SM_SMT_EXPECT_VALUE, expectation},
};

static smelt_status keyword_statement(sm_smt_parser *p, sm_smt_span w, sm_smt_stmt *s) {
  for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
    if (!sm_smt_is(w, keywords[i].word)) continue;
    s->kind = keywords[i].kind;
    return keywords[i].rest(p, s);
  }
  return sm_smt_fail(p, w.s, "'%.*s' does not begin a statement", SHOWN(w));
}

static smelt_status statement(sm_smt_parser *p) {
  sm_smt_stmt s = {.line = p->line,
                   .type = {.rank = -1},
                   .attrs = {.size = sizeof s.attrs, .rank = -1},
                   .ulp = SM_SMT_EXACT};
  sm_smt_span w = sm_smt_word(p);
  if (w.n == 0) return sm_smt_expected(p, "a statement");
  if (sm_smt_accept(p, '=')) SM_TRY(definition(p, w, &s));
  else if (sm_smt_accept(p, ',')) SM_TRY(definition_of_two(p, w, &s));
  else SM_TRY(keyword_statement(p, w, &s));
  return sm_vec_push(p->allocator, &p->out->stmts, s) ? SMELT_OK : sm_smt_out_of_memory(p);
}

static smelt_status header(sm_smt_parser *p) {
  uint64_t version = 0;
  sm_smt_span w = sm_smt_word(p);
  if (!sm_smt_is(w, "smt")) return sm_smt_fail(p, w.s, "the first line has to be \"smt %d\"", SM_SMT_VERSION);
  sm_smt_skip_blanks(p);
  const char *start = p->at;
  SM_TRY(sm_smt_read_unsigned_number(p, &version));
  if (version != SM_SMT_VERSION)
    return sm_smt_fail(p, start, "this build reads version %d of the format", SM_SMT_VERSION);
  return sm_smt_end_of_line(p);
}

static smelt_status file(sm_smt_parser *p) {
  SM_TRY(header(p));
  while (p->at < p->end) {
    if (!at_end(p)) SM_TRY(statement(p));
    SM_TRY(sm_smt_end_of_line(p));
  }
  return SMELT_OK;
}

smelt_status sm_smt_parse(const sm_allocator *allocator, const char *text, size_t n, sm_smt *out,
                          smelt_error *err) {
  memset(out, 0, sizeof *out);
  sm_arena_init(&out->arena, allocator);
  sm_smt_parser p = {.allocator = allocator,
                     .at = text,
                     .end = text + n,
                     .line_start = text,
                     .line = 1,
                     .out = out,
                     .err = err};
  smelt_status status = file(&p);
  sm_vec_free(allocator, &p.scalars);
  sm_vec_free(allocator, &p.operands);
  sm_vec_free(allocator, &p.dims);
  sm_vec_free(allocator, &p.ranges);
  sm_free(allocator, p.slots, p.n_slots * sizeof *p.slots);
  if (status != SMELT_OK) sm_smt_free(out);
  return status;
}

void sm_smt_free(sm_smt *smt) {
  const sm_allocator *allocator = smt->arena.allocator;
  sm_vec_free(allocator, &smt->stmts);
  sm_vec_free(allocator, &smt->names);
  sm_arena_free(&smt->arena);
}
