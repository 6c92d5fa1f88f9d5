/* SPDX-License-Identifier: Apache-2.0 */
#include "function_write.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "function_text.h"

static const function_source sources[] = {
#define FUNCTION(id, dtype, text) {#id, SM_KOP_##id, SMELT_##dtype, __LINE__, text},
#include "core/functions.def"
#undef FUNCTION
};
enum { N_FUNCTIONS = sizeof sources / sizeof sources[0] };

/* A program's globals: what the rows above say. */
static function_steps functions[N_FUNCTIONS];

static const struct {
  const char *id, *name, *ctype;
} dtypes[SM_DTYPE_LIMIT] = {
#define DTYPE(id, value, name, ctype, kind, npy) [SMELT_##id] = {#id, name, #ctype},
#include "smelt/dtype.def"
#undef DTYPE
};

static const char *const kop_ids[SM_KOP_COUNT] = {
    [SM_KOP_NONE] = "NONE",
#define KOP(id, name, arity, result, cost) [SM_KOP_##id] = #id,
#include "core/kops_rows.h"
};

/* --- Parsing -------------------------------------------------------------------------- */

enum { BEFORE = 40, AFTER = 30 };

/* The place in the text, with a caret below it. */
static void show_place(FILE *report, const char *text, int at) {
  int from = at > BEFORE ? at - BEFORE : 0;
  fprintf(report, "  %.*s\n  %*s^\n", at - from + AFTER, text + from, at - from, "");
}

static void report_fault(FILE *report, const function_source *source, const function_fault *fault) {
  fprintf(report, "src/core/functions.def:%d: %s of %s: %s\n", source->line,
          function_kop_info(source->kop)->name, dtypes[source->dtype].name, fault->message);
  show_place(report, source->text, fault->at);
}

bool functions_parse(FILE *report) {
  for (int i = 0; i < N_FUNCTIONS; i++) {
    function_fault fault;
    if (function_parse(&sources[i], sources, N_FUNCTIONS, &functions[i], &fault)) continue;
    report_fault(report, &sources[i], &fault);
    return false;
  }
  return true;
}

/* --- Literals ---------------------------------------------------------------------------- */

static void put_float(FILE *out, double value, const char *suffix) {
  if (isnan(value)) fputs("NAN", out);
  else if (isinf(value)) fputs(value < 0 ? "-INFINITY" : "INFINITY", out);
  else fprintf(out, "%a%s", value, suffix);
}

static void put_literal(FILE *out, const sm_function_step *step) {
  const sm_word *word = &step->literal;
  switch ((smelt_dtype)step->dtype) {
    case SMELT_F32:
      put_float(out, (double)word->F32, "f");
      break;
    case SMELT_F64:
      put_float(out, word->F64, "");
      break;
    case SMELT_I32:
      fprintf(out, "INT32_C(%" PRId32 ")", word->I32);
      break;
    case SMELT_I64:
      fprintf(out, "INT64_C(%" PRId64 ")", word->I64);
      break;
    case SMELT_U32:
      fprintf(out, "UINT32_C(0x%" PRIx32 ")", word->U32);
      break;
    default:
      fprintf(out, "UINT64_C(0x%" PRIx64 ")", word->U64);
      break;
  }
}

/* --- src/core/functions_gen.h ---------------------------------------------------------------- */

static const char header_head[] =
    "/* SPDX-License-Identifier: Apache-2.0\n"
    " *\n"
    " * Functions of floats in C. Generated from src/core/functions.def by opgen: do not\n"
    " * edit. The bits of a result are the same wherever they are compiled, provided\n"
    " * that the compiler contracts nothing. */\n"
    "#ifndef SM_CORE_FUNCTIONS_GEN_H\n"
    "#define SM_CORE_FUNCTIONS_GEN_H\n"
    "\n"
    "#include \"core/kop_primitives.h\"\n"
    "\n"
    "/* A primitive of one dtype; operands that it does not have are 0. */\n"
    "#define SM_KOP_OPERANDS(a, b, c, ...) (a, b, c)\n"
    "#define SM_KOP(id, dtype, ...) sm_kop_##id##_##dtype SM_KOP_OPERANDS(__VA_ARGS__, 0, 0, 0)\n"
    "#define SM_KOP_CONVERT(id, to, from, a) sm_kop_##id##_##to##_##from(a)\n";

static const char header_tail[] =
    "\n"
    "#undef SM_KOP_OPERANDS\n"
    "#undef SM_KOP\n"
    "#undef SM_KOP_CONVERT\n"
    "\n"
    "#endif\n";

static smelt_dtype dtype_of(const function_steps *f, smelt_dtype parameters, int value) {
  return value < f->arity ? parameters : (smelt_dtype)f->steps[value - f->arity].dtype;
}

static void put_value(FILE *out, const function_steps *f, int value) {
  const sm_function_step *step = value < f->arity ? NULL : &f->steps[value - f->arity];
  if (!step) fputc("xyz"[value], out);
  else if (step->kop == SM_KOP_NONE) put_literal(out, step);
  else fprintf(out, "v%d", value);
}

static void put_application(FILE *out, const function_steps *f, smelt_dtype parameters,
                            const sm_function_step *step) {
  const sm_kop_info *info = function_kop_info((sm_kop)step->kop);
  smelt_dtype operands = dtype_of(f, parameters, step->args[info->arity - 1]);
  if (info->result == SM_RESULT_CONVERT) {
    fprintf(out, "SM_KOP_CONVERT(%s, %s, ", kop_ids[step->kop], dtypes[step->dtype].id);
  } else {
    fprintf(out, "SM_KOP(%s, ", kop_ids[step->kop]);
  }
  fputs(dtypes[operands].id, out);
  for (int a = 0; a < info->arity; a++) {
    fputs(", ", out);
    put_value(out, f, step->args[a]);
  }
  fputc(')', out);
}

static void put_prototype(FILE *out, const function_source *source, const function_steps *f) {
  const char *ctype = dtypes[source->dtype].ctype;
  fprintf(out, "\nstatic inline %s sm_fn_%s_%s(", ctype, function_kop_info(source->kop)->name,
          dtypes[source->dtype].name);
  for (int a = 0; a < f->arity; a++) fprintf(out, "%s%s %c", a ? ", " : "", ctype, "xyz"[a]);
  fputs(") {\n", out);
}

static void put_function(FILE *out, const function_source *source, const function_steps *f) {
  put_prototype(out, source, f);
  for (int i = 0; i < f->n_steps; i++) {
    const sm_function_step *step = &f->steps[i];
    if (step->kop == SM_KOP_NONE) continue;
    if (i == f->n_steps - 1) fputs("  return ", out);
    else fprintf(out, "  const %s v%d = ", dtypes[step->dtype].ctype, f->arity + i);
    put_application(out, f, source->dtype, step);
    fputs(";\n", out);
  }
  fputs("}\n", out);
}

void functions_write_header(FILE *out) {
  fputs(header_head, out);
  for (int i = 0; i < N_FUNCTIONS; i++) put_function(out, &sources[i], &functions[i]);
  fputs(header_tail, out);
}

/* --- src/core/functions_gen.c --------------------------------------------------------------------- */

static const char tables_head[] =
    "/* SPDX-License-Identifier: Apache-2.0\n"
    " *\n"
    " * The steps of functions of floats. Generated from src/core/functions.def by\n"
    " * opgen: do not edit. */\n"
    "#include \"core/functions.h\"\n"
    "\n"
    "#include <math.h>\n";

static const char tables_tail[] =
    "\n"
    "const sm_function *sm_kop_function(sm_kop kop, smelt_dtype dtype) {\n"
    "  const sm_function *const *of_dtype = dtype == SMELT_F32   ? functions_f32\n"
    "                                       : dtype == SMELT_F64 ? functions_f64\n"
    "                                                            : NULL;\n"
    "  return of_dtype ? of_dtype[kop] : NULL;\n"
    "}\n";

static void put_step(FILE *out, const sm_function_step *step) {
  fprintf(out, "    {SM_KOP_%s, SMELT_%s, {%d, %d, %d}, {", kop_ids[step->kop], dtypes[step->dtype].id,
          step->args[0], step->args[1], step->args[2]);
  if (step->kop != SM_KOP_NONE) fputs(".bits = 0", out);
  else fprintf(out, ".%s = ", dtypes[step->dtype].id), put_literal(out, step);
  fputs("}},\n", out);
}

static void put_table(FILE *out, const function_source *source, const function_steps *f) {
  const char *name = function_kop_info(source->kop)->name, *dtype = dtypes[source->dtype].name;
  fprintf(out, "\nstatic const sm_function_step %s_%s_steps[] = {\n", name, dtype);
  for (int i = 0; i < f->n_steps; i++) put_step(out, &f->steps[i]);
  fputs("};\n", out);
  fprintf(out, "static const sm_function %s_%s = {%d, %d, %s_%s_steps};\n", name, dtype, f->arity, f->n_steps,
          name, dtype);
}

/* The functions of one dtype by kop. */
static void put_index(FILE *out, smelt_dtype dtype) {
  fprintf(out, "\nstatic const sm_function *const functions_%s[SM_KOP_COUNT] = {\n", dtypes[dtype].name);
  for (int i = 0; i < N_FUNCTIONS; i++) {
    if (sources[i].dtype != dtype) continue;
    fprintf(out, "    [SM_KOP_%s] = &%s_%s,\n", sources[i].id, function_kop_info(sources[i].kop)->name,
            dtypes[dtype].name);
  }
  fputs("};\n", out);
}

void functions_write_tables(FILE *out) {
  fputs(tables_head, out);
  for (int i = 0; i < N_FUNCTIONS; i++) put_table(out, &sources[i], &functions[i]);
  put_index(out, SMELT_F32);
  put_index(out, SMELT_F64);
  fputs(tables_tail, out);
}
