/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/c_family.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "codegen/c_family_printer.h"

/* --- What is needed --------------------------------------------------------------------------- */

/* Something other than a value, which has to be done. */
static bool has_effect(const sm_kir_ins *ins) {
  return sm_kir_stores(ins) || ins->kind == SM_KIR_FOR || ins->kind == SM_KIR_END ||
         ins->kind == SM_KIR_NEXT || ins->kind == SM_KIR_BARRIER;
}

static void use(sm_c_printer *p, int32_t value, int32_t by) {
  if (value == SM_KIR_NONE) return;
  if (!p->used[value]) p->last_use[value] = by;
  p->used[value] = true;
}

/* Backwards, so that what only unused values use is unused. NEXTs keep what they carry. */
static void find_used(sm_c_printer *p) {
  for (int32_t i = (int32_t)p->kernel->ins.len - 1; i >= 0; i--) {
    const sm_kir_ins *ins = &p->kernel->ins.items[i];
    int args = sm_c_is_once(p, ins) ? 1 : SM_KIR_ARGS;
    p->used[i] = p->used[i] || has_effect(ins);
    for (int a = 0; a < args && p->used[i]; a++) use(p, ins->args[a], i);
  }
}

/* --- Statements -------------------------------------------------------------------------------- */

static void add(sm_c_printer *p, const char *s) { sm_text_add(p->text, s); }
void sm_c_indent(sm_c_printer *p) { sm_text_addf(p->text, "%*s", 2 * p->depth, ""); }

static void line(sm_c_printer *p, const char *s) {
  if (!s) return;
  sm_c_indent(p);
  add(p, s);
  add(p, "\n");
}

static void end_statement(sm_c_printer *p) { add(p, ";\n"); }

/* Words hold the bits of a scalar at their low end. */
static void add_word_value(sm_c_printer *p, smelt_dtype dtype, const char *word) {
  const char *template = dtype == SMELT_F32    ? "bitcast_f32_u32((u32)"
                         : dtype == SMELT_F64  ? "bitcast_f64_u64("
                         : dtype == SMELT_BOOL ? "(0 != (u8)"
                                               : "(T)(";
  sm_c_template(p, template, (sm_c_scope){dtype, NULL});
  add(p, word);
}

static const char *member_access(const sm_c_printer *p) {
  return p->dialect->binding || sm_c_family_by_value(p->kernel, p->dialect) ? "words." : "words->";
}

static void add_size(sm_c_printer *p, int32_t index) {
  if (p->dialect->words) sm_text_addf(p->text, "%sn%" PRId32, member_access(p), index);
  else sm_text_addf(p->text, "sizes[%" PRId32 "]", index);
}

static void add_scalar(sm_c_printer *p, const sm_kir_ins *ins) {
  add_word_value(p, ins->type.dtype, p->dialect->words ? member_access(p) : "");
  sm_text_addf(p->text, p->dialect->words ? "s%" PRId32 ")" : "scalars[%" PRId32 "])", ins->imm.index);
}

/* In C the table lies behind the scalar arguments. */
static void add_table(sm_c_printer *p, const sm_kir_ins *ins) {
  add_word_value(p, ins->type.dtype, p->dialect->words ? "table[" : "scalars[");
  if (!p->dialect->words) sm_text_addf(p->text, "%zu + ", p->kernel->scalars.len);
  sm_c_value(p, ins->args[0]);
  add(p, "])");
}

/* --- Instructions -------------------------------------------------------------------------------- */

static void add_value(sm_c_printer *p, int32_t i) {
  const sm_kir_ins *ins = &p->kernel->ins.items[i];
  sm_c_begin_value(p, i, true);
  if (ins->kind == SM_KIR_SIZE) add_size(p, ins->imm.index);
  else if (ins->kind == SM_KIR_SCALAR) add_scalar(p, ins);
  else if (ins->kind == SM_KIR_TABLE) add_table(p, ins);
  else if (ins->kind == SM_KIR_MEMBER) add(p, p->dialect->member);
  else if (ins->kind == SM_KIR_HALF) sm_c_half(p, ins);
  else if (ins->kind == SM_KIR_SHUFFLE) sm_c_shuffle(p, ins);
  else sm_c_kop(p, i);
  end_statement(p);
}

void sm_c_statement(sm_c_printer *p, int32_t i) {
  const sm_kir_ins *ins = &p->kernel->ins.items[i];
  switch (ins->kind) {
    case SM_KIR_FOR:
      sm_c_begin_loop(p, i);
      break;
    case SM_KIR_NEXT:
      if (p->kernel->ins.items[i - 1].kind != SM_KIR_NEXT) sm_c_nexts(p, i);
      break;
    case SM_KIR_END:
      p->depth--;
      line(p, "}");
      break;
    case SM_KIR_BARRIER:
      line(p, p->dialect->barrier);
      break;
    case SM_KIR_STORE:
    case SM_KIR_STORE_FIRST:
      sm_c_store(p, i);
      break;
    case SM_KIR_LOAD:
    case SM_KIR_LOAD_FIRST:
    case SM_KIR_GATHER:
      sm_c_load(p, i);
      break;
    case SM_KIR_CARRY: /* declared before the loop */
    case SM_KIR_PREFETCH:
    case SM_KIR_FENCE:
      break;
    default:
      if (sm_c_is_inline(p, i)) break;
      if (sm_c_is_native(p, ins)) sm_c_native_statement(p, i);
      else add_value(p, i);
      break;
  }
}

/* --- Memory of the kernel's own -------------------------------------------------------------- */

/* Where shared buffer number `i` begins, if they lie behind each other; of as many as there are what all
 * take. */
static uint32_t shared_offset(const sm_kir_kernel *k, size_t i) {
  enum { ALIGNED = 16 };
  uint32_t bytes = 0;
  for (size_t other = 0; other < i; other++) {
    const sm_kir_buffer *b = &k->buffers.items[other];
    uint32_t own = b->shared ? b->local * (uint32_t)smelt_dtype_size(b->dtype) : 0;
    bytes += (own + ALIGNED - 1) / ALIGNED * ALIGNED;
  }
  return bytes;
}

uint32_t sm_c_family_given_shared(const sm_kir_kernel *kernel, const sm_dialect *dialect) {
  uint32_t bytes = shared_offset(kernel, kernel->buffers.len);
  return dialect->most_shared && bytes > dialect->most_shared ? bytes : 0;
}

/* "f32 * const b4 = (f32 *)(shared + 8192);" */
static void add_given(sm_c_printer *p, size_t i) {
  smelt_dtype dtype = p->kernel->buffers.items[i].dtype;
  sm_c_indent(p);
  sm_c_type(p, dtype == SMELT_BOOL ? SMELT_U8 : dtype, 1);
  sm_text_addf(p->text, " * const b%zu = (", i);
  sm_c_type(p, dtype == SMELT_BOOL ? SMELT_U8 : dtype, 1);
  sm_text_addf(p->text, " *)(shared + %" PRIu32 ")", shared_offset(p->kernel, i));
  end_statement(p);
}

static void add_local(sm_c_printer *p, size_t i) {
  const sm_kir_buffer *b = &p->kernel->buffers.items[i];
  if (!b->local) return;
  sm_c_indent(p);
  if (b->aligned) add(p, p->dialect->aligned);
  if (b->shared) add(p, p->dialect->shared);
  sm_c_type(p, b->dtype == SMELT_BOOL ? SMELT_U8 : b->dtype, 1);
  sm_text_addf(p->text, " b%zu[%" PRIu32 "]", i, b->local);
  end_statement(p);
}

static void add_memory(sm_c_printer *p) {
  bool given = sm_c_family_given_shared(p->kernel, p->dialect) > 0;
  if (given) line(p, p->dialect->given_shared);
  for (size_t i = 0; i < p->kernel->buffers.len; i++) {
    if (given && p->kernel->buffers.items[i].shared) add_given(p, i);
    else add_local(p, i);
  }
}

/* --- The body ----------------------------------------------------------------------------------- */

static bool needs_end(const sm_c_printer *p) {
  for (size_t i = 0; i < p->kernel->ins.len; i++) {
    if (p->used[i] && p->kernel->ins.items[i].kind == SM_KIR_CHUNK_END) return true;
  }
  return false;
}

/* The chunk of this thread or group; one that has none is done. */
static void add_chunk(sm_c_printer *p) {
  const char *number = p->kernel->threads ? p->dialect->group : p->dialect->thread;
  const char *words = member_access(p), *type = p->kernel->narrow ? "i32" : "i64";
  p->dtypes[SMELT_I32] = p->dtypes[SMELT_I32] || p->kernel->narrow;
  sm_text_addf(p->text, "  const %s begin = (%s)(%s * ", type, type, number);
  if (p->kernel->grain) sm_text_addf(p->text, "%d);\n", p->kernel->grain);
  else sm_text_addf(p->text, "%sgrain);\n", words);
  sm_text_addf(p->text, "  if (begin >= (%s)%sitems) return;\n", type, words);
  if (!needs_end(p)) return;
  sm_text_addf(p->text, "  const i64 after = (i64)begin + %sgrain;\n", words);
  sm_text_addf(p->text, "  const %s end = (%s)(after < %sitems ? after : %sitems);\n", type, type, words,
               words);
}

static void add_body(sm_c_printer *p) {
  p->depth = 1;
  line(p, p->dialect->init_begin);
  add_memory(p);
  if (p->dialect->words) add_chunk(p);
  line(p, p->dialect->init_end);
  line(p, p->dialect->body_begin);
  for (int32_t i = 0; i < (int32_t)p->kernel->ins.len; i++) {
    if (i == p->group_end) sm_c_end_group(p);
    if (i >= p->group_end) sm_c_begin_group(p, i);
    if (p->used[i] && !sm_c_is_ahead(p, i)) sm_c_statement(p, i);
  }
  line(p, p->dialect->body_end);
}

/* --- The entry ----------------------------------------------------------------------------------- */

static size_t n_words(const sm_kir_kernel *k) { return 2 + (size_t)k->n_sizes + k->scalars.len; }

bool sm_c_family_by_value(const sm_kir_kernel *kernel, const sm_dialect *dialect) {
  size_t pointers = kernel->buffers.len + 1;
  return 8 * (n_words(kernel) + pointers) <= dialect->by_value;
}

bool sm_c_family_has_table(const sm_kir_kernel *kernel) {
  for (size_t i = 0; i < kernel->ins.len; i++) {
    if (kernel->ins.items[i].kind == SM_KIR_TABLE) return true;
  }
  return false;
}

static void add_words_struct(sm_c_printer *p) {
  add(p, "typedef struct {\n  i64 items, grain;\n");
  for (int i = 0; i < p->kernel->n_sizes; i++) sm_text_addf(p->text, "  i64 n%d;\n", i);
  for (size_t i = 0; i < p->kernel->scalars.len; i++) sm_text_addf(p->text, "  u64 s%zu;\n", i);
  add(p, "} smelt_words;\n");
}

/* After a parameter: its number, where the dialect counts them. */
static void add_binding(sm_c_printer *p, int number) {
  if (p->dialect->binding) sm_text_addf(p->text, p->dialect->binding, number);
}

/* "f32 const* const b0" */
static void add_pointer(sm_c_printer *p, size_t i) {
  const sm_kir_buffer *b = &p->kernel->buffers.items[i];
  add(p, p->dialect->global);
  sm_c_type(p, b->dtype == SMELT_BOOL ? SMELT_U8 : b->dtype, 1);
  sm_text_addf(p->text, "%s* const b%zu", b->written ? " " : " const", i);
}

static void add_words(sm_c_printer *p, int number) {
  if (p->dialect->binding || sm_c_family_by_value(p->kernel, p->dialect)) add(p, p->dialect->words);
  else sm_text_addf(p->text, "%ssmelt_words const* const words", p->dialect->constant);
  add_binding(p, number);
}

static void add_parameters(sm_c_printer *p) {
  int number = 0;
  for (size_t i = 0; i < p->kernel->buffers.len && !p->kernel->buffers.items[i].local; i++) {
    add_pointer(p, i);
    add_binding(p, number++);
    add(p, ", ");
  }
  add_words(p, number++);
  if (sm_c_family_has_table(p->kernel)) {
    sm_text_addf(p->text, ", %su64 const* const table", p->dialect->constant);
    add_binding(p, number);
  }
  const char *builtins = p->kernel->threads ? p->dialect->group_builtins : p->dialect->builtins;
  if (builtins) add(p, builtins);
}

/* The entry of C gets its buffers in an array. */
static void add_c_buffers(sm_c_printer *p) {
  for (size_t i = 0; i < p->kernel->buffers.len && !p->kernel->buffers.items[i].local; i++) {
    add(p, "  ");
    add_pointer(p, i);
    sm_text_addf(p->text, " = buffers[%zu];\n", i);
  }
}

static void add_entry(sm_c_printer *p) {
  const sm_dialect *d = p->dialect;
  int group = p->kernel->threads ? p->kernel->threads : d->exact_groups ? 0 : p->form.group;
  if (group && d->group_entry) sm_text_addf(p->text, d->group_entry, group);
  else add(p, d->entry);
  sm_text_addf(p->text, "%s(", p->kernel->name);
  if (d->words) add_parameters(p);
  else add(p, "void *const *buffers, i64 const* sizes, u64 const* scalars, i64 begin, i64 end");
  add(p, ") {\n");
  if (!d->words) add_c_buffers(p);
}

/* --- The text ---------------------------------------------------------------------------------------- */

/* The kernel is written first: it says what has to stand before it. */
static void add_all(sm_c_printer *p, sm_text *out) {
  sm_text kernel, functions;
  sm_text_init(&kernel, out->allocator);
  sm_text_init(&functions, out->allocator);
  p->dtypes[SMELT_I64] = p->dtypes[SMELT_U64] = true; /* of the words */
  p->text = &kernel;
  add_entry(p);
  add_body(p);
  add(p, "}\n");
  p->text = &functions;
  sm_c_functions(p);
  sm_c_shuffle_functions(p);
  p->text = out;
  add(p, p->dialect->head);
  if (p->dtypes[SMELT_F64] && p->dialect->f64_head) add(p, p->dialect->f64_head);
  if (p->rounds && p->dialect->rounding_head) add(p, p->dialect->rounding_head);
  if (p->streams) add(p, p->dialect->streaming_head);
  sm_c_types(p);
  add(p, functions.data);
  if (p->dialect->words) add_words_struct(p);
  add(p, "\n");
  add(p, kernel.data);
  p->failed = p->failed || kernel.failed || functions.failed || out->failed;
  sm_text_free(&kernel);
  sm_text_free(&functions);
}

static smelt_status print(sm_c_printer *p, sm_text *out, smelt_error *err) {
  enum { FLAGS = 4 };
  size_t n = p->kernel->ins.len ? p->kernel->ins.len : 1;
  size_t bytes = sizeof *p->last_use + FLAGS * sizeof *p->used;
  p->last_use = sm_calloc(p->kernel->allocator, n, bytes);
  if (!p->last_use) return sm_error_memory(err, "the text of a kernel");
  p->used = (bool *)(p->last_use + n);
  p->narrow = p->used + n;
  p->alone = p->narrow + n;
  find_used(p);
  if (p->kernel->narrow) sm_c_find_narrow(p, p->alone + n);
  add_all(p, out);
  sm_free(p->kernel->allocator, p->last_use, n * bytes);
  sm_vec_free(p->kernel->allocator, &p->vectors);
  if (p->failed) return sm_error_memory(err, "the text of a kernel");
  if (!p->missing) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_UNSUPPORTED, "%s has no %s", p->dialect->name, p->missing);
}

smelt_status sm_c_family_text(const sm_kir_kernel *kernel, const sm_dialect *dialect, sm_text_form form,
                              sm_text *out, smelt_error *err) {
  sm_kir_kernel primitive;
  if (kernel->threads && !dialect->group)
    return sm_error_set(err, SMELT_ERR_UNSUPPORTED, "%s has no groups of threads", dialect->name);
  SM_TRY(sm_kir_expand(kernel, &primitive, err));
  sm_c_printer p = {.kernel = &primitive, .dialect = dialect, .form = form, .group_end = SM_KIR_NONE};
  smelt_status status = print(&p, out, err);
  sm_kir_free(&primitive);
  return status;
}
