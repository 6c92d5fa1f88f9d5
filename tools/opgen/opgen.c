/* SPDX-License-Identifier: Apache-2.0
 *
 * opgen OUTDIR: writes what follows from src/ir/ops.def alone,
 *
 *   OUTDIR/include/smelt/ops.h     prototypes and macros
 *   OUTDIR/src/api/ops_gen.c       the functions' bodies
 *   OUTDIR/docs/operations.md      the reference
 *
 * and from src/core/functions.def (function_write.h)
 *
 *   OUTDIR/src/core/functions_gen.[hc]
 *
 * The results are checked in. opgen runs before the library exists, so it uses
 * types of the library's headers, but nothing that would have to be linked.
 *
 * A function's parameters are, in this order: the context if no operand is a
 * tensor, the operands, the attributes. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "function_write.h"
#include "ir/op.h"

typedef struct row {
  const char *id;
  sm_op_row op;
} row;

static const row rows[] = {
#define OP(id, ...) {#id, {__VA_ARGS__}},
#include "ir/ops.def"
#undef OP
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static const sm_attr_row attr_rows[] = {
#define ATTR(...) {__VA_ARGS__},
#include "ir/attrs.def"
#undef ATTR
};

/* Short names of the operations that everybody types. */
static const struct {
  const char *alias, *name, *operands;
} aliases[] = {
    {"mul", "multiply", "x, y"},
    {"sub", "subtract", "x, y"},
    {"div", "divide", "x, y"},
    {"neg", "negative", "x"},
};

/* Both indexed by the or-ed kinds of .accepts. */
static const char *const dtype_words[SM_ANY + 1] = {
    [SM_BOOLEAN] = "bool",  [SM_INTEGER] = "integer", [SM_FLOAT] = "float",
    [SM_NUMBER] = "number", [SM_ANY] = "any dtype",   [SM_INTEGER | SM_BOOLEAN] = "integer or bool",
};

/* --- What the columns mean ---------------------------------------------------- */

static int n_operands(const sm_op_row *op) { return (int)strlen(op->operands); }

static const sm_attr_row *attr_row(char letter) {
  const sm_attr_row *found = attr_rows;
  while (found->letter != letter) found++;
  return found;
}

/* Operands whose order of evaluation matters, or which may be C scalars. */
static bool has_macro(const sm_op_row *op) {
  return n_operands(op) >= 2 || strpbrk(op->operands, "AS") != NULL;
}

/* The letters of the attributes. */
static const char *attrs_of(const sm_op_row *op) { return op->attrs ? op->attrs : ""; }

/* The i-th of the operands' names; its length is put into `len`. */
static const char *operand_name(const sm_op_row *op, int i, int *len) {
  const char *name = op->names ? op->names : "x y z";
  for (; i > 0; i--) name += strcspn(name, " ") + 1;
  *len = (int)strcspn(name, " ");
  return name;
}

/* --- Lists of parameters --------------------------------------------------------- */

typedef struct list {
  FILE *out;
  int n;
} list;

/* Begins the next item of a list separated by commas. */
static FILE *next(list *l) {
  if (l->n++ > 0) fputs(", ", l->out);
  return l->out;
}

static void put_operands(list *l, const sm_op_row *op, const char *before) {
  if (sm_op_takes_list(op)) {
    fprintf(next(l), "%s%s, %sn", *before ? "smelt_tensor *const *" : "", op->names,
            *before ? "size_t " : "");
    return;
  }
  for (int i = 0; i < n_operands(op); i++) {
    int len;
    const char *name = operand_name(op, i, &len);
    fprintf(next(l), "%s%.*s", before, len, name);
  }
}

static void put_parameters(FILE *out, const sm_op_row *op) {
  list l = {out, 0};
  if (sm_op_creates(op)) fputs("smelt_context *ctx", next(&l));
  put_operands(&l, op, "smelt_tensor *");
  bool break_line = sm_op_creates(op) && n_operands(op) > 0;
  for (const char *a = attrs_of(op); *a; a++) {
    fputs(break_line && a == op->attrs ? ",\n    " : ", ", out);
    fputs(attr_row(*a)->parameters, out);
  }
}

/* "x, y", or "ctx, value, ..." where attributes follow. */
static void put_macro_parameters(FILE *out, const sm_op_row *op, const char *rest) {
  list l = {out, 0};
  if (sm_op_creates(op)) fputs("ctx", next(&l));
  put_operands(&l, op, "");
  if (op->attrs) fputs(rest, next(&l));
}

/* --- Sentences ----------------------------------------------------------------------- */

static const char *operand_kind(char letter) {
  switch (letter) {
    case 'A':
      return "tensor or scalar";
    case 'S':
      return "scalar";
    case 'L':
      return "`n` tensors, promoted";
    default:
      return "tensor";
  }
}

static bool same_kind(const sm_op_row *op, int i, int j) { return op->operands[i] == op->operands[j]; }

/* "x, y: number, tensor or scalar; " for each run of operands of one kind. */
static void put_operand_kinds(FILE *out, const sm_op_row *op) {
  for (int i = 0, end; i < n_operands(op); i = end) {
    list l = {out, 0};
    for (end = i; end < n_operands(op) && same_kind(op, i, end); end++) {
      int len;
      const char *name = operand_name(op, end, &len);
      fprintf(next(&l), "%.*s", len, name);
    }
    const char *dtypes = op->operands[i] == 'B'   ? "bool"
                         : op->operands[i] == 'I' ? "integer"
                                                  : dtype_words[op->accepts];
    fprintf(out, ": %s, %s%s", dtypes, operand_kind(op->operands[i]), end < n_operands(op) ? "; " : "");
  }
}

static const char *result_dtype(const sm_op_row *op) {
  switch (op->result) {
    case SM_DTYPE_BOOL:
      return "bool";
    case SM_DTYPE_TRUTH:
      return "bool";
    case SM_DTYPE_ATTR:
      return "`dtype`";
    case SM_DTYPE_SUM:
      return "`dtype`, or if that is NONE i64, u64 or the float dtype of x";
    case SM_DTYPE_INDEX:
      return "i64";
    default:
      break;
  }
  bool of_x = n_operands(op) == 1 || op->operands[1] == 'I';
  return of_x && !sm_op_takes_list(op) ? "dtype of x" : "promoted dtype";
}

static const char *result_shape(const sm_op_row *op) {
  static const char *const words[] = {
      [SM_SHAPE_ATTR] = "shape `dims`",
      [SM_SHAPE_ARANGE] = "one axis",
      [SM_SHAPE_RESHAPE] = "shape `dims`",
      [SM_SHAPE_SQUEEZE] = "axes left out",
      [SM_SHAPE_EXPAND] = "one more axis",
      [SM_SHAPE_PERMUTE] = "axes permuted",
      [SM_SHAPE_SWAP] = "axes exchanged",
      [SM_SHAPE_FLIP] = "shape of x",
      [SM_SHAPE_SLICE] = "lengths of the ranges",
      [SM_SHAPE_BROADCAST_TO] = "shape `dims`",
      [SM_SHAPE_TAKE] = "axis replaced by the shape of indices",
      [SM_SHAPE_TAKE_ALONG] = "shapes broadcast, the axis of indices",
      [SM_SHAPE_CONCAT] = "extents of the axis added",
      [SM_SHAPE_REDUCE] = "axes left out or of extent 1",
      [SM_SHAPE_LABELS] = "axis left out",
      [SM_SHAPE_ALONG] = "shape of x",
      [SM_SHAPE_GROUPS] = "shape of x",
  };
  if (op->shape != SM_SHAPE_BROADCAST) return words[op->shape];
  return n_operands(op) == 1 ? "shape of x" : "shapes broadcast";
}

/* The accepted dtypes are said here where no operand says them. */
static void put_result(FILE *out, const sm_op_row *op) {
  fputs(result_dtype(op), out);
  if (n_operands(op) == 0) fprintf(out, " (%s)", dtype_words[op->accepts]);
  fprintf(out, ", %s", result_shape(op));
}

/* --- include/smelt/ops.h ---------------------------------------------------------------- */

static const char header_head[] =
    "/* SPDX-License-Identifier: Apache-2.0\n"
    " *\n"
    " * Tensor operations. Generated from src/ir/ops.def by opgen: do not edit.\n"
    " *\n"
    " * Every operation takes its operands and returns a reference that is the\n"
    " * caller's. None fails: a wrong call returns a poisoned tensor with\n"
    " * ERR_ARGUMENT, ERR_SHAPE, ERR_DTYPE, ERR_DEVICE, ERR_STALE or ERR_MEMORY, and a\n"
    " * poisoned operand passes its cause on. Nothing is computed until a value is\n"
    " * needed. All operations are thread-safe.\n"
    " *\n"
    " * Operations with several operands or a scalar operand are macros too: they\n"
    " * evaluate operands from left to right, each once, and accept C scalars\n"
    " * (macros.h says how). (smelt_add)(x, y) is the function.\n"
    " *\n"
    " * Vocabulary: an *integer* is i8 to i64 or u8 to u64, a *float* f16, bf16, f32 or f64, a\n"
    " * *number* either. Dtypes of tensors are promoted and shapes broadcast by the\n"
    " * rules of the Python Array API; a scalar takes the dtype of the tensors beside\n"
    " * it. `dims` has `rank` extents, NULL is allowed for rank 0. Negative axes count\n"
    " * from the end; NULL in place of a list of axes leaves them out, so that a reduction\n"
    " * is over all of them; with `keepdims` reduced axes stay, with extent 1. `indices` gets\n"
    " * a second result, which is the caller's too, and poisoned if the first is, because the\n"
    " * call is wrong; it is NULL if the second result is not wanted. A list of tensors\n"
    " * is taken whole; write its elements in statements of their own, or at least so\n"
    " * that their order does not matter: C leaves it open inside braces. */\n"
    "#ifndef SMELT_OPS_H\n"
    "#define SMELT_OPS_H\n"
    "\n"
    "#include \"smelt/macros.h\"\n"
    "\n"
    "#ifdef __cplusplus\n"
    "extern \"C\" {\n"
    "#endif\n";

static const char places[] =
    "\n"
    "/* With SMELT_DEBUG each call tells where it is (places.h). */\n"
    "#ifdef SMELT_DEBUG\n";

static const char header_tail[] =
    "#endif\n"
    "\n"
    "#ifdef __cplusplus\n"
    "}\n"
    "#endif\n"
    "#endif\n";

static void put_comment(FILE *out, const sm_op_row *op) {
  fprintf(out, "/* %s\n * ", op->doc);
  if (n_operands(op) > 0) {
    put_operand_kinds(out, op);
    fputs(".\n * ", out);
  }
  fputs("Result: ", out);
  put_result(out, op);
  fputs(". */\n", out);
}

static void put_prototype(FILE *out, const sm_op_row *op) {
  fputs("SMELT_API SMELT_GIVES", out);
  if (n_operands(op) > 0 && !sm_op_takes_list(op)) {
    list l = {out, 0};
    fputs(" SMELT_TAKES(", out);
    for (int i = 1; i <= n_operands(op); i++) fprintf(next(&l), "%d", i + sm_op_creates(op));
    fputs(")", out);
  }
  fprintf(out, "\nsmelt_tensor *smelt_%s(", op->name);
  put_parameters(out, op);
  fputs(");\n", out);
}

/* The expansion begins with `before` and ends with `after`. */
static void put_macro(FILE *out, const sm_op_row *op, const char *before, const char *after) {
  fprintf(out, "#define smelt_%s(", op->name);
  put_macro_parameters(out, op, "...");
  fputs(op->attrs ? ") \\\n  " : ") ", out);
  fprintf(out, "%ssmelt__apply%d%s%s(smelt_%s, ", before, n_operands(op), op->attrs ? "_" : "",
          op->attrs ? op->attrs : "", op->name);
  put_macro_parameters(out, op, "__VA_ARGS__");
  fprintf(out, ")%s\n", after);
}

static void put_place(FILE *out, const sm_op_row *op) {
  if (has_macro(op)) {
    fprintf(out, "#undef smelt_%s\n", op->name);
    put_macro(out, op, "smelt__here(", ")");
  } else {
    fprintf(out, "#define smelt_%s(...) smelt__here(smelt_%s(__VA_ARGS__))\n", op->name, op->name);
  }
}

static void put_alias(FILE *out, const sm_op_row *op) {
  for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
    if (strcmp(aliases[i].name, op->name) == 0)
      fprintf(out, "#define smelt_%s(%s) smelt_%s(%s)\n", aliases[i].alias, aliases[i].operands, op->name,
              aliases[i].operands);
}

static void write_header(FILE *out) {
  fputs(header_head, out);
  for (size_t i = 0; i < N_ROWS; i++) {
    const sm_op_row *op = &rows[i].op;
    if (op->section) fprintf(out, "\n/* --- %s --- */\n", op->section);
    fputc('\n', out);
    put_comment(out, op);
    put_prototype(out, op);
    if (has_macro(op)) put_macro(out, op, "", "");
    put_alias(out, op);
  }
  fputs(places, out);
  for (size_t i = 0; i < N_ROWS; i++) put_place(out, &rows[i].op);
  fputs(header_tail, out);
}

/* --- src/api/ops_gen.c ---------------------------------------------------------------------- */

static const char source_head[] =
    "/* SPDX-License-Identifier: Apache-2.0\n"
    " *\n"
    " * The functions of ops.h. Generated from src/ir/ops.def by opgen: do not edit.\n"
    " * Parentheses around the names keep the macros of ops.h away. */\n"
    "#include \"api/record.h\"\n"
    "#include \"smelt/ops.h\"\n";

static void put_attrs(FILE *out, const sm_op_row *op) {
  fputs("  const smelt_attrs attrs = {.size = sizeof attrs", out);
  for (const char *a = attrs_of(op); *a; a++) fprintf(out, ", %s", attr_row(*a)->members);
  fputs("};\n", out);
}

static void put_body(FILE *out, const row *r) {
  const sm_op_row *op = &r->op;
  list l = {out, 0};
  if (sm_op_takes_list(op)) {
    put_attrs(out, op);
    fprintf(out, "  return sm_record_list(NULL, SM_OP_%s, %s, n, &attrs);\n", r->id, op->names);
    return;
  }
  if (n_operands(op) > 0) {
    fputs("  smelt_tensor *const operands[] = {", out);
    put_operands(&l, op, "");
    fputs("};\n", out);
  }
  if (op->attrs) put_attrs(out, op);
  fprintf(out, "  return sm_record_call(%s, SM_OP_%s, %s, %d, %s);\n", sm_op_creates(op) ? "ctx" : "NULL",
          r->id, n_operands(op) > 0 ? "operands" : "NULL", n_operands(op), op->attrs ? "&attrs" : "NULL");
}

static void put_info(FILE *out, const row *r) {
  static const char *const families[] = {[SM_FAMILY_BASE] = "Base",
                                         [SM_FAMILY_NUMERIC] = "Numeric",
                                         [SM_FAMILY_FLOAT] = "Float",
                                         [SM_FAMILY_INT] = "Int",
                                         [SM_FAMILY_BOOL] = "Bool"};
  const sm_op_row *op = &r->op;
  fprintf(out, "    [SM_OP_%s] = {\"%s\", \"%s\", \"%s\", \"%s\",\n        \"%s\"},\n", r->id, op->name,
          op->operands, op->attrs ? op->attrs : "", families[op->family], op->doc);
}

/* The public form of the rows. */
static void write_infos(FILE *out) {
  fputs("\nconst smelt_op_info sm_op_infos[SM_OP_COUNT] = {\n", out);
  for (size_t i = 0; i < N_ROWS; i++) put_info(out, &rows[i]);
  fputs("};\n", out);
}

static void write_source(FILE *out) {
  fputs(source_head, out);
  write_infos(out);
  for (size_t i = 0; i < N_ROWS; i++) {
    fprintf(out, "\nsmelt_tensor *(smelt_%s)(", rows[i].op.name);
    put_parameters(out, &rows[i].op);
    fputs(") {\n", out);
    put_body(out, &rows[i]);
    fputs("}\n", out);
  }
}

/* --- docs/operations.md ------------------------------------------------------------------------ */

static const char reference_head[] =
    "<!-- Generated from src/ir/ops.def by opgen: do not edit. -->\n"
    "\n"
    "# Operations\n"
    "\n"
    "Every operation takes its operands ([ownership](ownership.md)) and returns a tensor that is the\n"
    "caller's. A wrong call returns a poisoned tensor. An *integer* is i8 to i64 or u8 to u64, a *float*\n"
    "f16, bf16, f32 or f64, a *number* either. Dtypes of tensors are promoted and shapes broadcast by the "
    "rules of\n"
    "the Python Array API; where a scalar is accepted it takes the dtype of the tensors beside it.\n"
    "\n"
    "`ctx` is a `smelt_context *`, `dtype` a `smelt_dtype`, `rank` an `int`, `dims` a `const int64_t *` to\n"
    "`rank` extents, `axis` an `int`, `axes` a `const int *` to `n_axes` of them or NULL, `ranges` a\n"
    "`const smelt_range *` to `n_ranges` of them, `tensors` a `smelt_tensor *const *` to `n`;\n"
    "`keepdims` is a `bool`, with which reduced axes stay, with extent 1; `correction`, `ord` and `eps` are "
    "of type\n"
    "`double`, `groups` is an `int64_t`; `indices` is a `smelt_tensor **` that gets the second result, or "
    "NULL if\n"
    "that is not wanted; everything else is an operand. Negative axes count from the end; without axes "
    "(NULL) a "
    "reduction is over\n"
    "all of them. A range is `{start, stop, step}` with the\n"
    "meaning of Python's `start:stop:step`, where `SMELT_ABSENT` stands for what is left out. In expressions "
    "of\n"
    "`smelt eval` the names are the same without `smelt_`.\n";

static void put_signature(FILE *out, const sm_op_row *op) {
  list l = {out, 0};
  fprintf(out, "| `smelt_%s(", op->name);
  if (sm_op_creates(op)) fputs("ctx", next(&l));
  put_operands(&l, op, "");
  for (const char *a = attrs_of(op); *a; a++) fputs(attr_row(*a)->arguments, next(&l));
  fputs(")` | ", out);
}

/* Plain text as the cell of a Markdown table. */
static void put_markdown(FILE *out, const char *text) {
  for (; *text; text++) {
    if (strchr("*|", *text)) fputc('\\', out);
    fputc(*text, out);
  }
}

static void put_reference_row(FILE *out, const sm_op_row *op) {
  put_signature(out, op);
  if (n_operands(op) > 0) put_operand_kinds(out, op);
  fputs(" | ", out);
  put_result(out, op);
  fputs(" | ", out);
  put_markdown(out, op->doc);
  fputs(" |\n", out);
}

static void put_alias_reference(FILE *out) {
  fputs("\n## Short names\n\n| Short | Operation |\n| --- | --- |\n", out);
  for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
    fprintf(out, "| `smelt_%s(%s)` | `smelt_%s` |\n", aliases[i].alias, aliases[i].operands, aliases[i].name);
}

static void write_reference(FILE *out) {
  fputs(reference_head, out);
  for (size_t i = 0; i < N_ROWS; i++) {
    const sm_op_row *op = &rows[i].op;
    if (op->section)
      fprintf(out, "\n## %s\n\n| Signature | Operands | Result | Meaning |\n| --- | --- | --- | --- |\n",
              op->section);
    put_reference_row(out, op);
  }
  put_alias_reference(out);
}

/* --- Files ------------------------------------------------------------------------------------- */

static const struct {
  const char *path;
  void (*write)(FILE *out);
} outputs[] = {
    {"include/smelt/ops.h", write_header},
    {"src/api/ops_gen.c", write_source},
    {"docs/operations.md", write_reference},
    {"src/core/functions_gen.h", functions_write_header},
    {"src/core/functions_gen.c", functions_write_tables},
};

/* Creates the folders above the file `path`, which is changed meanwhile. */
static bool make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    bool ok = mkdir(path, 0777) == 0 || errno == EEXIST;
    *slash = '/';
    if (!ok) return false;
  }
  return true;
}

static bool write_file(const char *path, void (*write)(FILE *out)) {
  FILE *out = fopen(path, "w");
  if (!out) return false;
  write(out);
  bool ok = !ferror(out);
  return fclose(out) == 0 && ok;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fputs("usage: opgen OUTDIR\n", stderr);
    return 2;
  }
  if (!functions_parse(stderr)) return 1;
  for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
    char path[4096];
    int len = snprintf(path, sizeof path, "%s/%s", argv[1], outputs[i].path);
    if (len < 0 || (size_t)len >= sizeof path) errno = ENAMETOOLONG;
    else if (make_folders(path) && write_file(path, outputs[i].write)) continue;
    fprintf(stderr, "opgen: %s: %s\n", path, strerror(errno));
    return 1;
  }
  return 0;
}
