/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs from seeds. A guide tries the calls, so that all operations of the table
 * take part by themselves. */
#include <stdlib.h>
#include <string.h>

#include "diff_guide.h"
#include "ir/op.h"

/* --- The generator ------------------------------------------------------------------------- */

enum { FAMILIES = 3, DTYPES = 4, RECENT = 6, ATTEMPTS = 40 };

typedef struct family {
  int rank;
  int64_t dims[MAX_RANK];
} family;

/* How a program is written: a few dtypes and a few families of shapes that
 * broadcast among themselves, so that operands often go together. */
typedef struct generator {
  guide guide;
  uint64_t state;
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

/* Where elements are moved and reduced most extents are larger than 1. */
static family draw_family(uint64_t *state, bool moves) {
  static const int64_t small[] = {0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 15, 16, 17, 33};
  family f = {.rank = moves ? 1 + draw_below(state, 3) : draw_below(state, 4)};
  if (draw_once_in(state, 4)) f.rank = draw_below(state, MAX_RANK + 1);
  int64_t count = 1;
  for (int axis = f.rank - 1; axis >= 0; axis--) {
    int64_t dim = small[draw_below(state, sizeof small / sizeof small[0])];
    if (dim < 2 && moves && !draw_once_in(state, 4)) dim += 2;
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

static void add_random_input(generator *g) {
  step s = {.kind = STEP_INPUT, .dtype = program_dtype(g), .seed = draw(&g->state)};
  s.fill = g->guide.p->moves && !draw_once_in(&g->state, 4) ? FILL_TAME : FILL_WILD;
  draw_shape(g, &s);
  add_input(&g->guide, &s);
}

/* --- Operands --------------------------------------------------------------------------------- */

static bool is_name(const generator *g, int i, smelt_dtype wanted) {
  if (!g->guide.held[i]) return false;
  return wanted == SMELT_DTYPE_NONE || smelt_dtype_of(g->guide.tokens[i]) == wanted;
}

/* A name that is held, of dtype `wanted` if there is one; recent ones are
 * preferred. -1 if nothing is held. */
static int pick_name(generator *g, smelt_dtype wanted) {
  int names[MAX_STEPS], n = 0;
  for (int i = 0; i < g->guide.p->n; i++) {
    if (is_name(g, i, wanted)) names[n++] = i;
  }
  if (n == 0) return wanted == SMELT_DTYPE_NONE ? -1 : pick_name(g, SMELT_DTYPE_NONE);
  if (n > RECENT && !draw_once_in(&g->state, 3)) return names[n - 1 - draw_below(&g->state, RECENT)];
  return names[draw_below(&g->state, n)];
}

/* A name that was defined and is gone, or -1. */
static int pick_stale(generator *g) {
  for (int tries = 0; tries < 20 && g->guide.p->n; tries++) {
    int i = draw_below(&g->state, g->guide.p->n);
    if (g->guide.tokens[i] && !g->guide.held[i]) return i;
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
    if (o->use != USE_SCALAR && *letter != 'B' && *letter != 'I')
      meets = smelt_dtype_of(g->guide.tokens[o->name]);
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
  int rank = smelt_dims(g->guide.tokens[s->operands[0].name], shape.dims);
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
  if (strpbrk(attrs, "cneg")) s->number = draw_below(&g->state, 4);
}

/* --- Calls -------------------------------------------------------------------------------------- */

static bool moves(sm_opcode code) { return sm_op_row_of(code)->class != SM_CLASS_ELEMENTWISE; }

/* In a program that moves and reduces elements every second operation does. */
static sm_opcode draw_opcode(generator *g) {
  bool wanted = g->guide.p->moves && draw_once_in(&g->state, 2);
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

static void add_random_call(generator *g) {
  bool wrong = draw_once_in(&g->state, 40);
  step s;
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    draw_call(g, &s, wrong);
    bool second = strchr(smelt_op_find(s.op)->attrs, 'i') && !draw_once_in(&g->state, 4);
    if (add_call(&g->guide, &s, second, wrong)) return;
  }
}

/* --- The program -------------------------------------------------------------------------------- */

static void use_some_name(generator *g, step_kind kind) {
  int name = pick_name(g, SMELT_DTYPE_NONE);
  if (name >= 0) add_use(&g->guide, kind, name);
}

static void add_eval(generator *g) {
  step *s = add_step(&g->guide, STEP_EVAL);
  for (int wanted = 1 + draw_below(&g->state, MAX_OPERANDS); s->n < wanted; s->n++) {
    int name = pick_name(g, SMELT_DTYPE_NONE);
    if (name < 0) return;
    s->operands[s->n] = (operand){.use = USE_KEEP, .name = name};
  }
}

/* Rows are reduced and normalized where elements are moved. */
static void add_rows(generator *g) {
  int name = g->guide.p->moves ? pick_name(g, g->dtypes[0]) : -1;
  if (name >= 0) add_row_pattern(&g->guide, &g->state, name, g->keep_percent);
}

static void add_something(generator *g) {
  switch (draw_below(&g->state, 40)) {
    case 0:
      use_some_name(g, STEP_READ);
      break;
    case 1:
      add_eval(g);
      break;
    case 2:
      use_some_name(g, STEP_DROP);
      break;
    case 3:
      draw_once_in(&g->state, 3) ? (void)add_step(&g->guide, STEP_SYNC) : use_some_name(g, STEP_INTO_HOST);
      break;
    case 4:
      add_step(&g->guide, STEP_SEED)->seed = draw(&g->state) % 1000;
      break;
    case 5:
      add_random_input(g);
      break;
    case 6:
    case 7:
    case 8:
      add_rows(g);
      break;
    default:
      add_random_call(g);
      break;
  }
}

/* Reads what is left in any order, but not all of it. */
static void add_end(generator *g) {
  for (int held = g->guide.p->n; held > 0 && g->guide.p->n < MAX_STEPS; held--) {
    static const step_kind kinds[] = {STEP_READ, STEP_READ, STEP_INTO_HOST, STEP_DROP};
    step_kind kind = kinds[draw_below(&g->state, 4)];
    use_some_name(g, kind);
  }
}

static void set_up(generator *g) {
  static const smelt_dtype floats[] = {SMELT_F32, SMELT_F32, SMELT_F64, SMELT_F64, SMELT_F16, SMELT_BF16};
  uint64_t *state = &g->state;
  program *p = g->guide.p;
  p->max_ops = 1 + draw_below(state, 7);
  p->max_segment = 1 + draw_below(state, 9);
  p->moves = draw_once_in(state, 2);
  g->n_dtypes = 1 + draw_below(state, DTYPES);
  for (int i = 0; i < g->n_dtypes; i++) g->dtypes[i] = any_dtype(state);
  if (p->moves || draw_once_in(state, 2)) g->dtypes[0] = floats[draw_below(state, 6)];
  g->n_families = draw_once_in(state, 2) ? 1 : 1 + draw_below(state, FAMILIES);
  for (int i = 0; i < g->n_families; i++) g->families[i] = draw_family(state, p->moves);
  g->keep_percent = (int[]){10, 50, 50, 90}[draw_below(state, 4)];
}

/* Few programs are longer than a segment may be. */
static int draw_length(uint64_t *state) {
  if (draw_once_in(state, 60)) return 500 + draw_below(state, 200);
  return draw_once_in(state, 6) ? 40 + draw_below(state, 80) : 4 + draw_below(state, 30);
}

static void write_steps(generator *g) {
  const program *p = g->guide.p;
  add_step(&g->guide, STEP_SEED)->seed = p->seed;
  for (int inputs = 1 + draw_below(&g->state, 4); inputs > 0; inputs--) add_random_input(g);
  int length = p->n + draw_length(&g->state);
  for (int tries = 0; p->n < length && tries < 2 * length; tries++) add_something(g);
  add_end(g);
}

/* The same steps once more, while there is room for them. */
static void write_repeats(generator *g) {
  int n = g->guide.p->n;
  for (int repeats = draw_below(&g->state, 4); repeats > 0 && g->guide.p->n + n <= MAX_STEPS; repeats--) {
    add_repeat(&g->guide, &g->state, n);
  }
}

void generate(program *p, uint64_t seed) {
  generator *g = calloc(1, sizeof *g);
  *p = (program){.seed = seed};
  g->state = seed;
  open_guide(&g->guide, p);
  set_up(g);
  write_steps(g);
  write_repeats(g);
  close_guide(&g->guide);
  free(g);
}
