/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs from seeds. While a program is written it runs on a guide, a context
 * on `ref`: a call is tried there, and what comes out well-typed and of bearable
 * size is taken. So the generator needs to know no operation: those of the table
 * take part by themselves. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff_program.h"
#include "ir/infer.h"

/* --- Randomness ----------------------------------------------------------------------- */

uint64_t draw(uint64_t *state) {
  uint64_t x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

int draw_below(uint64_t *state, int n) { return (int)(draw(state) % (uint64_t)n); }
bool draw_once_in(uint64_t *state, int n) { return draw_below(state, n) == 0; }

static double draw_unit(uint64_t *state) { return (double)(draw(state) >> 11) * 0x1p-53; }

/* --- Elements --------------------------------------------------------------------------- */

static double draw_float(uint64_t *state, smelt_dtype dtype) {
  static const double both[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 1,     -1,
                                0.5, -0.5, 2,   3,        1e-3,      -7.25, 88.8};
  static const double f32[] = {FLT_MAX, -FLT_MAX, FLT_MIN, -FLT_MIN, 0x1p-149, -0x1p-149, 0x1p-130, 16777217};
  static const double f64[] = {DBL_MAX, -DBL_MAX, DBL_MIN, -DBL_MIN, 0x1p-1074, -0x1p-1074, 0x1p-1050, 1e300};
  static const double f16[] = {65504, -65504, 0x1p-14, -0x1p-14, 0x1p-24, -0x1p-24, 0x1.8p-16, 2049};
  const double *special = dtype == SMELT_F16 ? f16 : dtype == SMELT_F64 ? f64 : f32; /* f32 suits bf16 */
  switch (draw_below(state, 6)) {
    case 0:
      return both[draw_below(state, sizeof both / sizeof both[0])];
    case 1:
      return special[draw_below(state, 8)];
    case 2:
      return (draw_unit(state) - 0.5) * 1e6;
    default:
      return (draw_unit(state) - 0.5) * 8;
  }
}

/* Bits of an integer of any width, which takes the low ones. */
static uint64_t draw_integer(uint64_t *state, size_t size) {
  uint64_t top = (uint64_t)1 << (8 * size - 1);
  switch (draw_below(state, 6)) {
    case 0:
      return top; /* the smallest, or half of the largest */
    case 1:
      return top - 1; /* the largest signed one */
    case 2:
      return draw_once_in(state, 2) ? ~(uint64_t)0 : 0;
    case 3:
      return draw(state);
    default:
      return (uint64_t)(int64_t)(draw_below(state, 21) - 10);
  }
}

static bool is_float(smelt_dtype dtype) { return sm_kind_of(dtype) == SM_KIND_FLOAT; }

static sm_word float_element(smelt_dtype dtype, double value) {
  sm_word word = {.bits = 0};
  (void)sm_scalar_convert((sm_scalar){SM_KIND_FLOAT, {.f64 = value}}, dtype, &word, NULL);
  return word;
}

static sm_word draw_element(uint64_t *state, smelt_dtype dtype) {
  sm_word word = {.bits = 0};
  if (is_float(dtype)) return float_element(dtype, draw_float(state, dtype));
  if (dtype == SMELT_BOOL) word.BOOL = draw_once_in(state, 2);
  else word.bits = draw_integer(state, smelt_dtype_size(dtype));
  return word;
}

static sm_word plain_element(smelt_dtype dtype, size_t i) {
  sm_word word = {.bits = i + 1};
  if (is_float(dtype)) return float_element(dtype, (double)(i + 1));
  if (dtype == SMELT_BOOL) word.BOOL = true;
  return word;
}

void *input_elements(const step *s, size_t count) {
  size_t size = smelt_dtype_size(s->dtype);
  unsigned char *data = malloc(count * size + 1);
  uint64_t state = s->seed;
  for (size_t i = 0; data && i < count; i++) {
    sm_word word = s->fill == FILL_WILD ? draw_element(&state, s->dtype) : plain_element(s->dtype, i);
    memcpy(data + i * size, &word, size); /* little endian: the low bytes of an integer */
  }
  return data;
}

smelt_attrs step_attrs(const step *s) {
  return (smelt_attrs){.size = sizeof(smelt_attrs),
                       .dtype = s->dtype,
                       .rank = s->rank,
                       .dims = s->dims,
                       .axes = s->names_axes ? s->axes : NULL,
                       .n_axes = (size_t)s->n_axes,
                       .ranges = s->ranges,
                       .n_ranges = (size_t)s->n_ranges,
                       .keepdims = s->keepdims,
                       .number = s->number};
}

/* --- The generator ------------------------------------------------------------------------- */

enum { FAMILIES = 3, DTYPES = 4, RECENT = 6, ATTEMPTS = 40 };

typedef struct family {
  int rank;
  int64_t dims[MAX_RANK];
} family;

/* How a program is written: a few dtypes and a few families of shapes that
 * broadcast among themselves, so that operands often go together. */
typedef struct generator {
  program *p;
  uint64_t state;
  smelt_context *guide;
  smelt_tensor *tokens[MAX_STEPS]; /* by name; the guide's */
  bool held[MAX_STEPS];            /* the name's reference is there */
  smelt_dtype dtypes[DTYPES];
  int n_dtypes;
  family families[FAMILIES];
  int n_families;
  int keep_percent;
} generator;

static smelt_dtype any_dtype(uint64_t *state) {
  static const smelt_dtype all[] = {
#define DTYPE(id, value, name, ctype, kind, npy) SMELT_##id,
#include "smelt/dtype.def"
#undef DTYPE
  };
  return all[draw_below(state, sizeof all / sizeof all[0])];
}

static smelt_dtype program_dtype(generator *g) {
  if (draw_once_in(&g->state, 12)) return any_dtype(&g->state);
  return g->dtypes[draw_below(&g->state, g->n_dtypes)];
}

static family draw_family(uint64_t *state) {
  static const int64_t small[] = {0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 15, 16, 17, 33};
  family f = {.rank = draw_below(state, 4)};
  if (draw_once_in(state, 4)) f.rank = draw_below(state, MAX_RANK + 1);
  int64_t count = 1;
  for (int axis = f.rank - 1; axis >= 0; axis--) {
    int64_t dim = small[draw_below(state, sizeof small / sizeof small[0])];
    if (dim == 0 && !draw_once_in(state, 3)) dim = 6;
    if (draw_once_in(state, 8)) dim = 1 + draw_below(state, 3000);
    f.dims[axis] = count * dim > MAX_ELEMENTS ? 1 : dim;
    count *= f.dims[axis] ? f.dims[axis] : 1;
  }
  return f;
}

/* A shape that broadcasts with the others of a family. */
static void draw_shape(generator *g, step *s) {
  const family *f = &g->families[draw_below(&g->state, g->n_families)];
  int cut = f->rank && draw_once_in(&g->state, 4) ? draw_below(&g->state, f->rank + 1) : 0;
  s->rank = f->rank - cut;
  for (int axis = 0; axis < s->rank; axis++) {
    s->dims[axis] = draw_once_in(&g->state, 6) ? 1 : f->dims[axis + cut];
  }
}

static step *add_step(generator *g, step_kind kind) {
  step *s = &g->p->steps[g->p->n++];
  *s = (step){.kind = kind};
  return s;
}

static void hold(generator *g, smelt_tensor *token) {
  g->tokens[g->p->n - 1] = token;
  g->held[g->p->n - 1] = true;
}

static void let_go(generator *g, int name) {
  smelt_drop(g->tokens[name]);
  g->held[name] = false;
}

static void add_input(generator *g) {
  step *s = add_step(g, STEP_INPUT);
  s->dtype = program_dtype(g);
  s->seed = draw(&g->state);
  draw_shape(g, s);
  size_t count = 1;
  for (int axis = 0; axis < s->rank; axis++) count *= (size_t)s->dims[axis];
  void *data = input_elements(s, count);
  hold(g, smelt_from_host(g->guide, s->dtype, s->rank, s->dims, data));
  free(data);
}

/* --- Operands --------------------------------------------------------------------------------- */

static bool is_name(const generator *g, int i, smelt_dtype wanted) {
  if (!g->held[i]) return false;
  return wanted == SMELT_DTYPE_NONE || smelt_dtype_of(g->tokens[i]) == wanted;
}

/* A name that is held, of dtype `wanted` if there is one; recent ones are
 * preferred. -1 if nothing is held. */
static int pick_name(generator *g, smelt_dtype wanted) {
  int names[MAX_STEPS], n = 0;
  for (int i = 0; i < g->p->n; i++) {
    if (is_name(g, i, wanted)) names[n++] = i;
  }
  if (n == 0) return wanted == SMELT_DTYPE_NONE ? -1 : pick_name(g, SMELT_DTYPE_NONE);
  if (n > RECENT && !draw_once_in(&g->state, 3)) return names[n - 1 - draw_below(&g->state, RECENT)];
  return names[draw_below(&g->state, n)];
}

/* A name that was defined and is gone, or -1. */
static int pick_stale(generator *g) {
  for (int tries = 0; tries < 20 && g->p->n; tries++) {
    int i = draw_below(&g->state, g->p->n);
    if (g->tokens[i] && !g->held[i]) return i;
  }
  return -1;
}

static sm_scalar draw_scalar(generator *g, smelt_dtype meets) {
  uint64_t *state = &g->state;
  bool among_floats = is_float(meets);
  if (meets == SMELT_BOOL) return (sm_scalar){SM_KIND_BOOL, {.b = draw_once_in(state, 2)}};
  if (among_floats && !draw_once_in(state, 3)) {
    return (sm_scalar){SM_KIND_FLOAT, {.f64 = draw_float(state, meets)}};
  }
  int64_t value = draw_below(state, 14) - 3;
  size_t size = smelt_dtype_size(meets);
  if (size && !among_floats && draw_once_in(state, 6)) value = (int64_t)(((uint64_t)1 << (8 * size - 1)) - 1);
  return (sm_scalar){SM_KIND_SINT, {.i64 = value}};
}

static smelt_dtype any_integer(uint64_t *state) {
  smelt_dtype dtype = any_dtype(state);
  while (is_float(dtype) || dtype == SMELT_BOOL) dtype = any_dtype(state);
  return dtype;
}

static operand draw_operand(generator *g, char letter, smelt_dtype meets, bool wrong) {
  bool scalar = letter == 'S' || (letter == 'A' && draw_once_in(&g->state, 4));
  int name = -1;
  if (letter == 'B' && !wrong) meets = SMELT_BOOL;
  else if (letter == 'I' && !wrong) meets = any_integer(&g->state);
  else if (draw_once_in(&g->state, 4)) meets = SMELT_DTYPE_NONE;
  if (!scalar && wrong && draw_once_in(&g->state, 4)) name = pick_stale(g);
  if (!scalar && name < 0) name = pick_name(g, meets);
  if (name < 0) return (operand){.use = USE_SCALAR, .scalar = draw_scalar(g, meets)};
  bool keep = draw_below(&g->state, 100) < g->keep_percent;
  return (operand){.use = keep ? USE_KEEP : USE_TAKE, .name = name};
}

/* A name that occurs again later in the call has to be kept until then. */
static void keep_repeated(step *s) {
  for (int i = 0; i < s->n; i++) {
    for (int k = i + 1; k < s->n; k++) {
      bool same = s->operands[i].use != USE_SCALAR && s->operands[k].use != USE_SCALAR &&
                  s->operands[i].name == s->operands[k].name;
      if (same) s->operands[i].use = USE_KEEP;
    }
  }
}

/* A list of tensors is so many operands. */
static const char *letters_of(generator *g, const char *letters) {
  static const char list[] = "TTTT";
  return *letters == 'L' ? list + draw_below(&g->state, MAX_OPERANDS) : letters;
}

static void draw_operands(generator *g, step *s, const char *letters, bool wrong) {
  smelt_dtype meets = letters[0] == 'S' ? s->dtype : SMELT_DTYPE_NONE;
  s->n = 0;
  for (const char *letter = letters; *letter && s->n < MAX_OPERANDS; letter++) {
    s->operands[s->n] = draw_operand(g, *letter, meets, wrong);
    const operand *o = &s->operands[s->n++];
    if (o->use != USE_SCALAR && *letter != 'B' && *letter != 'I') meets = smelt_dtype_of(g->tokens[o->name]);
  }
  if (wrong && s->n < MAX_OPERANDS && draw_once_in(&g->state, 8)) {
    s->operands[s->n++] = draw_operand(g, 'A', meets, true);
  }
  if (!wrong) keep_repeated(s);
}

/* --- Attributes of views and selections -------------------------------------------------------- */

/* The shape of the first operand. */
static sm_shape first_shape(const generator *g, const step *s) {
  sm_shape shape = {.rank = 0};
  if (s->n == 0 || s->operands[0].use == USE_SCALAR) return shape;
  int rank = smelt_dims(g->tokens[s->operands[0].name], shape.dims);
  shape.rank = rank < 0 || rank > MAX_RANK ? 0 : rank;
  return shape;
}

/* The shape with two extents in one, with one more axis, with a 1 that is more, or
 * otherwise different. */
static void draw_other_shape(generator *g, step *s) {
  sm_shape shape = first_shape(g, s);
  int axis = shape.rank ? draw_below(&g->state, shape.rank) : 0;
  s->rank = shape.rank;
  memcpy(s->dims, shape.dims, sizeof s->dims);
  switch (draw_below(&g->state, 5)) {
    case 0:
      draw_shape(g, s);
      break;
    case 1:
      if (axis + 1 >= s->rank) break;
      s->dims[axis] *= s->dims[axis + 1];
      s->rank--;
      memmove(s->dims + axis + 1, s->dims + axis + 2, (size_t)(s->rank - axis - 1) * sizeof s->dims[0]);
      break;
    case 2:
      if (s->rank == MAX_RANK) break;
      memmove(s->dims + axis + 1, s->dims + axis, (size_t)(s->rank++ - axis) * sizeof s->dims[0]);
      s->dims[axis] = draw_once_in(&g->state, 2) ? 1 : draw_below(&g->state, 4);
      break;
    case 3:
      if (s->rank && s->dims[axis] == 1) s->dims[axis] = draw_below(&g->state, 5);
      break;
    default:
      if (s->rank) s->dims[axis] = -1;
      break;
  }
}

/* `n` axes of a tensor of this rank in any order; if it has fewer, wrong ones too. */
static void draw_axes(generator *g, step *s, int rank, int n) {
  int all[MAX_RANK];
  s->names_axes = true;
  s->n_axes = n;
  for (int i = 0; i < MAX_RANK; i++) all[i] = i;
  for (int i = rank - 1; i > 0; i--) {
    int k = draw_below(&g->state, i + 1), axis = all[i];
    all[i] = all[k];
    all[k] = axis;
  }
  for (int i = 0; i < n; i++) s->axes[i] = draw_once_in(&g->state, 4) ? all[i] - rank : all[i];
}

static int64_t draw_place(generator *g, int64_t extent) {
  if (draw_once_in(&g->state, 3)) return SMELT_ABSENT;
  return draw_below(&g->state, (int)(2 * extent + 5)) - extent - 2;
}

static void draw_ranges(generator *g, step *s, const sm_shape *shape) {
  s->n_ranges = draw_below(&g->state, shape->rank + 1);
  for (int i = 0; i < s->n_ranges; i++) {
    static const int64_t steps[] = {1, 1, 1, -1, -1, 2, -2, 3, SMELT_ABSENT, 1000000, -1000000};
    s->ranges[i] = (smelt_range){draw_place(g, shape->dims[i]), draw_place(g, shape->dims[i]),
                                 steps[draw_below(&g->state, sizeof steps / sizeof steps[0])]};
  }
}

static void draw_places(generator *g, step *s, const char *attrs) {
  sm_shape shape = first_shape(g, s);
  if (strchr(attrs, 's')) draw_other_shape(g, s);
  if (strchr(attrs, 'r')) draw_ranges(g, s, &shape);
  if (strchr(attrs, 'p')) draw_axes(g, s, shape.rank, 2);
  if (strchr(attrs, 'x')) draw_axes(g, s, shape.rank, 1);
  if (strchr(attrs, 'a') && !draw_once_in(&g->state, 4)) {
    draw_axes(g, s, shape.rank, draw_once_in(&g->state, 2) ? shape.rank : draw_below(&g->state, 3));
  }
  if (strchr(attrs, 'o') && !draw_once_in(&g->state, 3))
    draw_axes(g, s, shape.rank, draw_below(&g->state, 3));
  if (strchr(attrs, 'k')) s->keepdims = draw_once_in(&g->state, 2);
  if (strchr(attrs, 'd') && draw_once_in(&g->state, 4)) s->dtype = program_dtype(g);
  if (strpbrk(attrs, "cne")) s->number = draw_below(&g->state, 4);
}

/* --- Calls -------------------------------------------------------------------------------------- */

static smelt_tensor *scalar_token(sm_scalar s) {
  if (s.kind == SM_KIND_BOOL) return smelt_scalar_bool(s.as.b);
  return s.kind == SM_KIND_FLOAT ? smelt_scalar_f64(s.as.f64) : smelt_scalar_i64(s.as.i64);
}

/* The call on the guide, which keeps all names. */
static smelt_tensor *try_call(generator *g, const step *s) {
  smelt_tensor *tokens[MAX_OPERANDS];
  for (int i = 0; i < s->n; i++) {
    const operand *o = &s->operands[i];
    tokens[i] = o->use == USE_SCALAR ? scalar_token(o->scalar) : smelt_ref(g->tokens[o->name]);
  }
  smelt_attrs attrs = step_attrs(s);
  return smelt_call(g->guide, s->op, tokens, (size_t)s->n, &attrs);
}

static sm_call_operand describe(const generator *g, const operand *o, sm_shape *shape) {
  if (o->use == USE_SCALAR) return (sm_call_operand){.is_scalar = true, .scalar = o->scalar};
  int rank = smelt_dims(g->tokens[o->name], shape->dims);
  shape->rank = rank < 0 ? 0 : rank;
  return (sm_call_operand){.dtype = smelt_dtype_of(g->tokens[o->name]), .shape = shape};
}

/* Asked before a call is recorded, because a result that needs much memory ends
 * the segment at once. */
static bool is_too_large(const generator *g, const step *s) {
  sm_call_operand operands[MAX_OPERANDS];
  sm_shape shapes[MAX_OPERANDS] = {{.rank = 0}};
  for (int i = 0; i < s->n; i++) operands[i] = describe(g, &s->operands[i], &shapes[i]);
  smelt_attrs attrs = step_attrs(s);
  sm_inferred result;
  return sm_infer(sm_op_find(s->op), operands, s->n, &attrs, &result, NULL) == SMELT_OK &&
         (sm_shape_count(&result.shape) > MAX_ELEMENTS || result.shape.rank > MAX_RANK);
}

static bool has_nan(const smelt_tensor *t) {
  smelt_dtype dtype = smelt_dtype_of(t);
  size_t count = (size_t)smelt_count(t), size = smelt_dtype_size(dtype);
  if (!is_float(dtype)) return false;
  unsigned char *data = malloc(count * size + 1);
  bool found = smelt_read(t, dtype, data, count * size, NULL) != SMELT_OK;
  for (size_t i = 0; i < count && !found; i++) {
    found = isnan(sm_scalar_of(dtype, data + i * size).as.f64);
  }
  free(data);
  return found;
}

/* The sign of a NaN is not promised, so nothing may depend on it. */
static bool looks_at_sign_of_nan(generator *g, const step *s) {
  if (strcmp(s->op, "signbit") != 0 && strcmp(s->op, "copysign") != 0) return false;
  for (int i = 0; i < s->n; i++) {
    if (s->operands[i].use == USE_SCALAR) {
      if (s->operands[i].scalar.kind == SM_KIND_FLOAT && isnan(s->operands[i].scalar.as.f64)) return true;
    } else if (has_nan(g->tokens[s->operands[i].name])) {
      return true;
    }
  }
  return false;
}

static bool is_bearable(generator *g, const step *s, const smelt_tensor *result, bool wrong) {
  if (smelt_check(result, NULL) != SMELT_OK) return wrong;
  return !looks_at_sign_of_nan(g, s);
}

static bool moves(sm_opcode code) { return sm_op_row_of(code)->class != SM_CLASS_ELEMENTWISE; }

/* In a program that moves and reduces elements every second operation does. */
static sm_opcode draw_opcode(generator *g) {
  bool wanted = g->p->moves && draw_once_in(&g->state, 2);
  for (;;) {
    sm_opcode code = (sm_opcode)draw_below(&g->state, SM_OP_COUNT);
    if (moves(code) == wanted) return code;
  }
}

static void draw_call(generator *g, step *s, bool wrong) {
  sm_opcode code = draw_opcode(g);
  const smelt_op_info *op = smelt_op_at((size_t)code);
  *s = (step){.kind = STEP_CALL, .op = op->name};
  if (strchr(op->attrs, 't')) s->dtype = program_dtype(g);
  if (strchr(op->attrs, 's')) draw_shape(g, s);
  if (strchr(op->attrs, 's') && wrong && s->rank && draw_once_in(&g->state, 4)) s->dims[0] = -1;
  draw_operands(g, s, letters_of(g, op->operands), wrong);
  if (moves(code)) draw_places(g, s, op->attrs);
}

static void add_call(generator *g) {
  bool wrong = draw_once_in(&g->state, 40);
  step s;
  smelt_tensor *result = NULL;
  for (int attempt = 0; attempt < ATTEMPTS && !result; attempt++) {
    draw_call(g, &s, wrong);
    if (is_too_large(g, &s)) continue;
    result = try_call(g, &s);
    if (is_bearable(g, &s, result, wrong)) continue;
    smelt_drop(result);
    result = NULL;
  }
  if (!result) return;
  for (int i = 0; i < s.n; i++) {
    const operand *o = &s.operands[i];
    if (o->use == USE_TAKE && g->held[o->name]) let_go(g, o->name);
  }
  *add_step(g, STEP_CALL) = s;
  hold(g, result);
}

/* --- The program -------------------------------------------------------------------------------- */

static void add_with_name(generator *g, step_kind kind) {
  int name = pick_name(g, SMELT_DTYPE_NONE);
  if (name < 0) return;
  bool takes = kind == STEP_DROP || kind == STEP_INTO_HOST;
  step *s = add_step(g, kind);
  s->n = 1;
  s->operands[0] = (operand){.use = takes ? USE_TAKE : USE_KEEP, .name = name};
  if (takes) let_go(g, name);
}

static void add_eval(generator *g) {
  step *s = add_step(g, STEP_EVAL);
  for (int wanted = 1 + draw_below(&g->state, MAX_OPERANDS); s->n < wanted; s->n++) {
    int name = pick_name(g, SMELT_DTYPE_NONE);
    if (name < 0) return;
    s->operands[s->n] = (operand){.use = USE_KEEP, .name = name};
  }
}

static void add_something(generator *g) {
  switch (draw_below(&g->state, 40)) {
    case 0:
      add_with_name(g, STEP_READ);
      break;
    case 1:
      add_eval(g);
      break;
    case 2:
      add_with_name(g, STEP_DROP);
      break;
    case 3:
      draw_once_in(&g->state, 3) ? (void)add_step(g, STEP_SYNC) : add_with_name(g, STEP_INTO_HOST);
      break;
    case 4:
      add_step(g, STEP_SEED)->seed = draw(&g->state) % 1000;
      break;
    case 5:
      add_input(g);
      break;
    default:
      add_call(g);
      break;
  }
}

/* Reads what is left in any order, but not all of it. */
static void add_end(generator *g) {
  for (int held = g->p->n; held > 0 && g->p->n < MAX_STEPS; held--) {
    static const step_kind kinds[] = {STEP_READ, STEP_READ, STEP_INTO_HOST, STEP_DROP};
    step_kind kind = kinds[draw_below(&g->state, 4)];
    add_with_name(g, kind);
  }
}

static void set_up(generator *g) {
  static const smelt_dtype floats[] = {SMELT_F32, SMELT_F32, SMELT_F64, SMELT_F64, SMELT_F16, SMELT_BF16};
  uint64_t *state = &g->state;
  g->n_dtypes = 1 + draw_below(state, DTYPES);
  for (int i = 0; i < g->n_dtypes; i++) g->dtypes[i] = any_dtype(state);
  if (draw_once_in(state, 2)) g->dtypes[0] = floats[draw_below(state, 6)];
  g->n_families = draw_once_in(state, 2) ? 1 : 1 + draw_below(state, FAMILIES);
  for (int i = 0; i < g->n_families; i++) g->families[i] = draw_family(state);
  g->keep_percent = (int[]){10, 50, 50, 90}[draw_below(state, 4)];
  g->p->max_ops = 1 + draw_below(state, 7);
  g->p->max_segment = 1 + draw_below(state, 9);
  g->p->moves = draw_once_in(state, 3);
}

/* Few programs are longer than a segment may be. */
static int draw_length(uint64_t *state) {
  if (draw_once_in(state, 60)) return 500 + draw_below(state, 200);
  return draw_once_in(state, 6) ? 40 + draw_below(state, 80) : 4 + draw_below(state, 30);
}

static void write_steps(generator *g) {
  set_up(g);
  for (int inputs = 1 + draw_below(&g->state, 4); inputs > 0; inputs--) add_input(g);
  int length = g->p->n + draw_length(&g->state);
  for (int tries = 0; g->p->n < length && tries < 2 * length; tries++) add_something(g);
  add_end(g);
}

void generate(program *p, uint64_t seed) {
  static const way guide = {.name = "guide", .device = "ref"};
  *p = (program){.seed = seed};
  generator *g = calloc(1, sizeof *g);
  g->p = p;
  g->state = seed;
  g->guide = open_way(p, &guide);
  write_steps(g);
  for (int i = 0; i < p->n; i++) {
    if (g->held[i]) smelt_drop(g->tokens[i]);
  }
  (void)smelt_context_destroy(g->guide, NULL);
  free(g);
}
