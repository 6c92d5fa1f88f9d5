/* SPDX-License-Identifier: Apache-2.0 */
#include "io/npy_header.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

static const char magic[] = "\x93NUMPY";

enum {
  MAGIC = sizeof magic - 1,
  ALIGNMENT = 64,     /* of the data in the file */
  GROWTH_DIGITS = 21, /* NumPy leaves room for a first extent of so many digits */
  LITTLE_ENDIAN = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
};

/* --- Prefix ------------------------------------------------------------------- */

static size_t little_endian(const unsigned char *bytes, int n) {
  size_t value = 0;
  while (n-- > 0) value = value << 8 | bytes[n];
  return value;
}

smelt_status sm_npy_prefix_parse(const unsigned char *bytes, size_t n, sm_npy_prefix *out, smelt_error *err) {
  if (n < MAGIC || memcmp(bytes, magic, MAGIC) != 0) {
    return sm_error_set(err, SMELT_ERR_FORMAT, "not a .npy file (it does not start with \\x93NUMPY)");
  }
  if (n < MAGIC + 2) return sm_error_set(err, SMELT_ERR_FORMAT, "truncated in the version, offset %zu", n);
  int major = bytes[MAGIC], minor = bytes[MAGIC + 1];
  if (major < 1 || major > 3 || minor != 0) {
    return sm_error_set(err, SMELT_ERR_FORMAT, "format version %d.%d is not 1.0, 2.0 or 3.0", major, minor);
  }
  int length_bytes = major == 1 ? 2 : 4;
  out->header_at = MAGIC + 2 + (size_t)length_bytes;
  if (n < out->header_at) {
    return sm_error_set(err, SMELT_ERR_FORMAT, "truncated in the header's length, offset %zu", n);
  }
  out->header_len = little_endian(bytes + MAGIC + 2, length_bytes);
  if (out->header_len > SM_NPY_MAX_HEADER) {
    return sm_error_set(err, SMELT_ERR_FORMAT, "header of %zu bytes, at most %d are accepted",
                        out->header_len, SM_NPY_MAX_HEADER);
  }
  return SMELT_OK;
}

/* --- Reading the dict ------------------------------------------------------------ */

typedef struct span {
  const char *start;
  size_t n;
} span;

typedef struct reader {
  const char *text;
  size_t n;
  size_t pos;
  size_t file_at; /* offset of `text` in the file, for messages */
  smelt_error *err;
} reader;

/* What the dict says, before it is checked. */
typedef struct dict {
  span descr;
  bool fortran;
  int rank;
  int64_t dims[SMELT_MAX_RANK];
} dict;

static smelt_status expected(const reader *r, const char *what) {
  return sm_error_set(r->err, SMELT_ERR_FORMAT, "malformed header, offset %zu: expected %s",
                      r->file_at + r->pos, what);
}

/* The current character, NUL at the end (a NUL in the text fits nowhere). */
static char peek(const reader *r) { return r->pos < r->n ? r->text[r->pos] : 0; }

static void skip_space(reader *r) {
  while (peek(r) && strchr(" \t\n\r\f", peek(r))) r->pos++;
}

/* Takes `c` and the white space around it, if it comes next. */
static bool take(reader *r, char c) {
  skip_space(r);
  if (peek(r) != c) return false;
  r->pos++;
  skip_space(r);
  return true;
}

static bool take_word(reader *r, const char *word) {
  size_t n = strlen(word);
  if (r->n - r->pos < n || memcmp(r->text + r->pos, word, n) != 0) return false;
  r->pos += n;
  return true;
}

/* Up to the closing quote, which is not taken. */
static bool skip_quoted(reader *r, char quote) {
  while ((unsigned char)peek(r) >= ' ' && peek(r) != quote && peek(r) != '\\') r->pos++;
  return peek(r) == quote;
}

/* A string without escapes; the span is what stands between the quotes. */
static smelt_status read_string(reader *r, const char *what, span *out) {
  char quote = peek(r);
  if (quote != '\'' && quote != '"') return expected(r, what);
  r->pos++;
  size_t start = r->pos;
  if (!skip_quoted(r, quote)) return expected(r, "a closing quote");
  *out = (span){r->text + start, r->pos - start};
  r->pos++;
  return SMELT_OK;
}

/* A structured type is a list or tuple of anything; it is refused later, so only
 * its end matters here. */
static smelt_status read_structure(reader *r, span *out) {
  size_t start = r->pos, depth = 0;
  do {
    char c = peek(r);
    if (!c) return expected(r, "a closing bracket");
    if (c == '[' || c == '(') depth++;
    if (c == ']' || c == ')') depth--;
    r->pos++;
    if (c == '\'' || c == '"') {
      if (!skip_quoted(r, c)) return expected(r, "a closing quote");
      r->pos++;
    }
  } while (depth);
  *out = (span){r->text + start, r->pos - start};
  return SMELT_OK;
}

static smelt_status read_descr(reader *r, dict *d) {
  if (peek(r) == '[' || peek(r) == '(') return read_structure(r, &d->descr);
  return read_string(r, "a type string for 'descr'", &d->descr);
}

static smelt_status read_order(reader *r, dict *d) {
  d->fortran = take_word(r, "True");
  if (d->fortran || take_word(r, "False")) return SMELT_OK;
  return expected(r, "True or False for 'fortran_order'");
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static smelt_status read_extent(reader *r, int64_t *out) {
  size_t start = r->pos;
  if (peek(r) == '-') return expected(r, "an extent that is not negative in 'shape'");
  for (*out = 0; is_digit(peek(r)); r->pos++) {
    if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, peek(r) - '0', out)) {
      return sm_error_set(r->err, SMELT_ERR_SHAPE, "the extent at offset %zu in 'shape' is too large",
                          r->file_at + start);
    }
  }
  if (r->pos == start) return expected(r, "an extent in 'shape'");
  if (r->text[start] == '0' && r->pos - start > 1) {
    r->pos = start;
    return expected(r, "an extent without leading zeros in 'shape'");
  }
  if (peek(r) == 'L') r->pos++;
  return SMELT_OK;
}

static smelt_status read_shape(reader *r, dict *d) {
  if (!take(r, '(')) return expected(r, "a tuple for 'shape'");
  bool comma = true;
  while (!take(r, ')')) {
    if (!comma) return expected(r, "',' or ')' in 'shape'");
    if (d->rank == SMELT_MAX_RANK) {
      return sm_error_set(r->err, SMELT_ERR_SHAPE, "'shape' has more than %d axes", SMELT_MAX_RANK);
    }
    SM_TRY(read_extent(r, &d->dims[d->rank++]));
    comma = take(r, ',');
  }
  /* In Python (3) is a number; only (3,) is a tuple. */
  return d->rank == 1 && !comma ? expected(r, "a tuple for 'shape': (N,)") : SMELT_OK;
}

static const struct {
  const char *name;
  smelt_status (*read)(reader *r, dict *d);
} keys[] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};

enum { KEYS = sizeof keys / sizeof keys[0] };

static bool span_is(span s, const char *word) {
  return s.n == strlen(word) && memcmp(s.start, word, s.n) == 0;
}

/* For messages: cut, and without control characters. */
typedef struct quoted {
  char text[64];
} quoted;

static quoted quote(span s) {
  quoted q = {""};
  size_t room = sizeof q.text - 1, n = s.n < room ? s.n : room;
  for (size_t i = 0; i < n; i++) q.text[i] = s.start[i] >= ' ' && s.start[i] <= '~' ? s.start[i] : '?';
  if (s.n > room) memcpy(q.text + room - 3, "...", 3);
  return q;
}

static smelt_status read_item(reader *r, bool *seen, dict *d) {
  span name;
  SM_TRY(read_string(r, "a key or '}'", &name));
  size_t key = 0;
  while (key < KEYS && !span_is(name, keys[key].name)) key++;
  if (key == KEYS) {
    return sm_error_set(r->err, SMELT_ERR_FORMAT, "malformed header: unknown key '%s'", quote(name).text);
  }
  if (seen[key]) {
    return sm_error_set(r->err, SMELT_ERR_FORMAT, "malformed header: key '%s' twice", keys[key].name);
  }
  seen[key] = true;
  if (!take(r, ':')) return expected(r, "':'");
  return keys[key].read(r, d);
}

static smelt_status read_dict(reader *r, dict *d) {
  bool seen[KEYS] = {false}, comma = true;
  if (!take(r, '{')) return expected(r, "'{'");
  while (!take(r, '}')) {
    if (!comma) return expected(r, "',' or '}'");
    SM_TRY(read_item(r, seen, d));
    comma = take(r, ',');
  }
  if (r->pos < r->n) return expected(r, "nothing but white space after '}'");
  for (size_t i = 0; i < KEYS; i++) {
    if (!seen[i]) {
      return sm_error_set(r->err, SMELT_ERR_FORMAT, "malformed header: no key '%s'", keys[i].name);
    }
  }
  return SMELT_OK;
}

/* --- Types ------------------------------------------------------------------------ */

static const char *kind_of_letter(char letter) {
  switch (letter) {
    case 'O':
      return "Python objects";
    case 'c':
      return "complex numbers";
    case 'S':
    case 'a':
    case 'U':
      return "text";
    case 'V':
      return "raw records";
    case 'M':
    case 'm':
      return "times";
    case '[':
    case '(':
      return "a structured type";
    default:
      return "not a type of Smelt";
  }
}

static smelt_dtype find_dtype(char letter, char size) {
  for (int i = 0; i < SM_DTYPE_LIMIT; i++) {
    const sm_dtype_info *info = sm_dtype_info_of((smelt_dtype)i);
    if (info->size && info->npy == letter && info->size == size - '0') return (smelt_dtype)i;
  }
  return SMELT_DTYPE_NONE;
}

/* "<f4": an optional byte order ('|' and '=' mean this machine's), a letter, the
 * number of bytes. */
static smelt_status resolve_descr(span s, sm_npy_header *out, smelt_error *err) {
  bool has_order = s.n && memchr("<>|=", s.start[0], 4);
  char order = has_order ? s.start[0] : '=';
  span type = has_order ? (span){s.start + 1, s.n - 1} : s;
  out->dtype = type.n == 2 ? find_dtype(type.start[0], type.start[1]) : SMELT_DTYPE_NONE;
  out->big_endian = order == '>' || (order != '<' && !LITTLE_ENDIAN);
  if (out->dtype != SMELT_DTYPE_NONE) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_DTYPE,
                      "descr '%s' is %s; bool, i1 to i8, u1 to u8, f4 and f8 can be read", quote(s).text,
                      kind_of_letter(type.n ? type.start[0] : 0));
}

smelt_status sm_npy_header_parse(const char *text, size_t n, size_t at, sm_npy_header *out,
                                 smelt_error *err) {
  reader r = {.text = text, .n = n, .file_at = at, .err = err};
  dict d = {.rank = 0};
  SM_TRY(read_dict(&r, &d));
  SM_TRY(resolve_descr(d.descr, out, err));
  out->fortran = d.fortran;
  return sm_shape_make(&out->shape, out->dtype, d.rank, d.dims, err);
}

/* --- Printing --------------------------------------------------------------------- */

static void print_dict(sm_text *text, smelt_dtype dtype, const sm_shape *shape) {
  const sm_dtype_info *info = sm_dtype_info_of(dtype);
  char order = info->size == 1 ? '|' : LITTLE_ENDIAN ? '<' : '>';
  sm_text_addf(text, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (", order, info->npy, info->size);
  size_t before = text->len;
  for (int i = 0; i < shape->rank; i++) {
    sm_text_addf(text, "%s%" PRId64, i ? ", " : "", shape->dims[i]);
    if (i == 0) before = text->len - before;
  }
  sm_text_add(text, shape->rank == 1 ? ",), }" : "), }");
  if (shape->rank) sm_text_addf(text, "%*s", GROWTH_DIGITS - (int)before, "");
}

void sm_npy_header_print(sm_text *text, smelt_dtype dtype, const sm_shape *shape) {
  enum { PREFIX = MAGIC + 4 };
  size_t start = text->len;
  sm_text_add(text, magic);
  sm_text_add_n(text, "\1\0\0\0", 4);
  print_dict(text, dtype, shape);
  int filled = (int)(text->len - start) + 1;
  sm_text_addf(text, "%*s\n", ALIGNMENT - filled % ALIGNMENT, "");
  if (text->failed) return;
  size_t header = text->len - start - PREFIX;
  text->data[start + PREFIX - 2] = (char)(header & 0xff);
  text->data[start + PREFIX - 1] = (char)(header >> 8);
}
