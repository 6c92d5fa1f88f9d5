/* SPDX-License-Identifier: Apache-2.0 */
#include "expr_token.h"

#include <string.h>

/* The longest number that is read: more than any f64 needs. */
enum { MAX_NUMBER = 400 };

static const expr_operator operators[] = {
#define OPERATOR(word, ...) {.text = word, __VA_ARGS__},
#include "expr_operators.def"
#undef OPERATOR
};

const expr_operator *expr_operator_at(size_t i) {
  return i < sizeof operators / sizeof operators[0] ? &operators[i] : NULL;
}

bool expr_text_is(expr_text text, const char *word) {
  return strlen(word) == text.n && memcmp(text.s, word, text.n) == 0;
}

bool expr_text_equal(expr_text a, expr_text b) { return a.n == b.n && memcmp(a.s, b.s, a.n) == 0; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_word(char c) { return is_letter(c) || is_digit(c); }

bool expr_text_is_name(expr_text text) {
  if (!text.n || !is_letter(text.s[0])) return false;
  for (size_t i = 0; i < text.n; i++)
    if (!is_word(text.s[i])) return false;
  return true;
}

/* --- Numbers ------------------------------------------------------------------ */

static unsigned digit_value(char c) {
  if (is_digit(c)) return (unsigned)(c - '0');
  if (c >= 'a' && c <= 'f') return (unsigned)(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return (unsigned)(c - 'A') + 10;
  return 99;
}

/* The base that a prefix such as 0x announces, 0 if there is none. */
static unsigned prefix_base(const char *s) {
  if (s[0] != '0') return 0;
  return s[1] == 'x' || s[1] == 'X'   ? 16
         : s[1] == 'o' || s[1] == 'O' ? 8
         : s[1] == 'b' || s[1] == 'B' ? 2
                                      : 0;
}

/* Everything that looks like part of one number, right or wrong, so that the
 * message can quote it whole. */
static size_t number_length(const char *s) {
  bool exponent = !prefix_base(s);
  size_t n = 0;
  for (;; n++) {
    bool sign = s[n] == '+' || s[n] == '-';
    bool after_e = n && (s[n - 1] == 'e' || s[n - 1] == 'E');
    if (!is_word(s[n]) && s[n] != '.' && !(exponent && sign && after_e)) return n;
  }
}

/* Copies without the underscores, which must stand between digits. */
static bool copy_number(expr_text text, char *buf) {
  unsigned base = prefix_base(text.s) == 16 ? 16 : 10;
  size_t len = 0;
  for (size_t i = 0; i < text.n; i++) {
    if (text.s[i] != '_') {
      buf[len++] = text.s[i];
    } else if (!i || i + 1 == text.n || digit_value(text.s[i - 1]) >= base ||
               digit_value(text.s[i + 1]) >= base) {
      return false;
    }
  }
  buf[len] = 0;
  return true;
}

typedef enum number_result { NUMBER_OK, NUMBER_INVALID, NUMBER_TOO_LARGE } number_result;

static number_result read_integer(const char *digits, unsigned base, sm_scalar *out) {
  uint64_t value = 0;
  if (!*digits) return NUMBER_INVALID;
  for (; *digits; digits++) {
    unsigned digit = digit_value(*digits);
    if (digit >= base) return NUMBER_INVALID;
    if (__builtin_mul_overflow(value, (uint64_t)base, &value)) return NUMBER_TOO_LARGE;
    if (__builtin_add_overflow(value, (uint64_t)digit, &value)) return NUMBER_TOO_LARGE;
  }
  *out = value <= INT64_MAX ? (sm_scalar){.kind = SM_KIND_SINT, .as.i64 = (int64_t)value}
                            : (sm_scalar){.kind = SM_KIND_UINT, .as.u64 = value};
  return NUMBER_OK;
}

static number_result read_float(const char *s, sm_scalar *out) {
  char *end;
  *out = (sm_scalar){.kind = SM_KIND_FLOAT, .as.f64 = sm_parse_f64(s, &end)};
  return end != s && !*end ? NUMBER_OK : NUMBER_INVALID;
}

static number_result read_number(const char *s, sm_scalar *out) {
  unsigned base = prefix_base(s);
  if (base) return read_integer(s + 2, base, out);
  if (s[strspn(s, "0123456789")]) return read_float(s, out);
  bool leading_zero = s[0] == '0' && s[strspn(s, "0")];
  return leading_zero ? NUMBER_INVALID : read_integer(s, 10, out);
}

static smelt_status lex_number(expr_lexer *lexer, expr_token *token, expr_fault *fault) {
  char buf[MAX_NUMBER + 1] = {0};
  token->kind = EXPR_TOKEN_NUMBER;
  token->text.n = number_length(token->text.s);
  lexer->at += token->text.n;
  number_result result = NUMBER_INVALID;
  if (token->text.n > MAX_NUMBER) {
    result = NUMBER_TOO_LARGE;
  } else if (copy_number(token->text, buf)) {
    result = read_number(buf, &token->number);
  }
  if (result == NUMBER_OK) return SMELT_OK;
  return expr_fault_set(fault, lexer->source, token->at, SMELT_ERR_FORMAT, "%s '%.*s'",
                        result == NUMBER_INVALID ? "invalid number" : "number too large:",
                        expr_text_width(token->text), token->text.s);
}

/* --- Words, strings, operators ------------------------------------------------- */

static const expr_operator *find_operator(expr_text text) {
  for (const expr_operator *op = operators; op < operators + sizeof operators / sizeof operators[0]; op++)
    if (expr_text_is(text, op->text)) return op;
  return NULL;
}

static smelt_status lex_word(expr_lexer *lexer, expr_token *token) {
  while (is_word(lexer->source[lexer->at])) lexer->at++;
  token->text.n = lexer->at - token->at;
  token->op = find_operator(token->text);
  token->kind = token->op ? EXPR_TOKEN_OPERATOR : EXPR_TOKEN_NAME;
  bool yes = expr_text_is(token->text, "True") || expr_text_is(token->text, "true");
  bool no = expr_text_is(token->text, "False") || expr_text_is(token->text, "false");
  if (yes || no) {
    token->kind = EXPR_TOKEN_NUMBER;
    token->number = (sm_scalar){.kind = SM_KIND_BOOL, .as.b = yes};
  }
  return SMELT_OK;
}

static smelt_status lex_string(expr_lexer *lexer, expr_token *token, expr_fault *fault) {
  const char *start = token->text.s + 1;
  const char *end = strchr(start, token->text.s[0]);
  if (!end) return expr_fault_set(fault, lexer->source, token->at, SMELT_ERR_FORMAT, "unterminated string");
  token->kind = EXPR_TOKEN_STRING;
  token->text = (expr_text){start, (size_t)(end - start)};
  lexer->at = (size_t)(end + 1 - lexer->source);
  return SMELT_OK;
}

static smelt_status refuse_character(const expr_lexer *lexer, const expr_token *token, expr_fault *fault) {
  size_t n = expr_character_length(token->text.s);
  if (n > 1 || (n == 1 && token->text.s[0] > 0x20 && token->text.s[0] < 0x7F))
    return expr_fault_set(fault, lexer->source, token->at, SMELT_ERR_FORMAT, "unexpected character '%.*s'",
                          (int)n, token->text.s);
  return expr_fault_set(fault, lexer->source, token->at, SMELT_ERR_FORMAT, "unexpected byte 0x%02X",
                        (unsigned)(unsigned char)token->text.s[0]);
}

static smelt_status lex_symbol(expr_lexer *lexer, expr_token *token, expr_fault *fault) {
  token->kind = EXPR_TOKEN_OPERATOR;
  for (size_t n = 2; n > 0; n--) {
    if (n == 2 && !token->text.s[1]) continue;
    token->text.n = n;
    token->op = find_operator(token->text);
    if (token->op) break;
  }
  if (!token->op) {
    if (!strchr("()[],;=.:", token->text.s[0])) return refuse_character(lexer, token, fault);
    token->kind = EXPR_TOKEN_MARK;
  }
  lexer->at += token->text.n;
  return SMELT_OK;
}

smelt_status expr_lexer_next(expr_lexer *lexer, expr_token *token, expr_fault *fault) {
  lexer->at += strspn(lexer->source + lexer->at, " \t\r\n");
  const char *s = lexer->source + lexer->at;
  *token = (expr_token){.kind = EXPR_TOKEN_END, .at = lexer->at, .text = {s, 0}};
  if (!*s) return SMELT_OK;
  if (is_digit(*s) || (*s == '.' && is_digit(s[1]))) return lex_number(lexer, token, fault);
  if (is_letter(*s)) return lex_word(lexer, token);
  if (*s == '\'' || *s == '"') return lex_string(lexer, token, fault);
  return lex_symbol(lexer, token, fault);
}
