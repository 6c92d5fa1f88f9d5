/* SPDX-License-Identifier: Apache-2.0 */
#include "diff_guide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/infer.h"

void open_guide(guide *g, program *p) {
  static const way ref = {.name = "guide", .device = "ref"};
  *g = (guide){.p = p, .ctx = open_way(p, &ref)};
}

void close_guide(guide *g) {
  for (int i = 0; i < g->p->n; i++) {
    if (g->held[i]) smelt_drop(g->tokens[i]);
  }
  (void)smelt_context_destroy(g->ctx, NULL);
}

/* --- Steps ----------------------------------------------------------------------------------- */

step *add_step(guide *g, step_kind kind) {
  step *s = &g->p->steps[g->p->n++];
  *s = (step){.kind = kind};
  return s;
}

static void hold(guide *g, smelt_tensor *token) {
  g->tokens[g->p->n - 1] = token;
  g->held[g->p->n - 1] = true;
}

static void let_go(guide *g, int name) {
  smelt_drop(g->tokens[name]);
  g->held[name] = false;
}

void add_input(guide *g, const step *input) {
  *add_step(g, STEP_INPUT) = *input;
  void *data = input_elements(input);
  hold(g, smelt_from_host(g->ctx, input->dtype, input->rank, input->dims, data));
  free(data);
}

void add_use(guide *g, step_kind kind, int name) {
  bool takes = kind == STEP_DROP || kind == STEP_INTO_HOST;
  step *s = add_step(g, kind);
  s->n = 1;
  s->operands[0] = (operand){.use = takes ? USE_TAKE : USE_KEEP, .name = name};
  if (takes) let_go(g, name);
}

/* --- Calls -------------------------------------------------------------------------------------- */

static smelt_tensor *scalar_token(sm_scalar s) {
  if (s.kind == SM_KIND_BOOL) return smelt_scalar_bool(s.as.b);
  return s.kind == SM_KIND_FLOAT ? smelt_scalar_f64(s.as.f64) : smelt_scalar_i64(s.as.i64);
}

/* The call on the guide, which keeps all names. `second` NULL: not wanted. */
static smelt_tensor *try_call(guide *g, const step *s, smelt_tensor **second) {
  smelt_tensor *tokens[MAX_OPERANDS];
  for (int i = 0; i < s->n; i++) {
    const operand *o = &s->operands[i];
    tokens[i] = o->use == USE_SCALAR ? scalar_token(o->scalar) : smelt_ref(g->tokens[o->name]);
  }
  smelt_attrs attrs = step_attrs(s);
  attrs.indices = second;
  return smelt_call(g->ctx, s->op, tokens, (size_t)s->n, &attrs);
}

static sm_call_operand describe(const guide *g, const operand *o, sm_shape *shape) {
  if (o->use == USE_SCALAR) return (sm_call_operand){.is_scalar = true, .scalar = o->scalar};
  int rank = smelt_dims(g->tokens[o->name], shape->dims);
  shape->rank = rank < 0 ? 0 : rank;
  return (sm_call_operand){.dtype = smelt_dtype_of(g->tokens[o->name]), .shape = shape};
}

/* Asked before a call is recorded, because a result that needs much memory ends
 * the segment at once. */
static bool is_too_large(const guide *g, const step *s) {
  sm_call_operand operands[MAX_OPERANDS];
  sm_shape shapes[MAX_OPERANDS] = {{.rank = 0}};
  for (int i = 0; i < s->n; i++) operands[i] = describe(g, &s->operands[i], &shapes[i]);
  smelt_attrs attrs = step_attrs(s);
  sm_inferred result;
  return sm_infer(sm_op_row_of(sm_op_find(s->op)), operands, s->n, &attrs, &result, NULL) == SMELT_OK &&
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
static bool looks_at_sign_of_nan(guide *g, const step *s) {
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

static bool is_bearable(guide *g, const step *s, const smelt_tensor *result, bool wrong) {
  if (smelt_check(result, NULL) != SMELT_OK) return wrong;
  return !looks_at_sign_of_nan(g, s);
}

bool add_call(guide *g, const step *call, bool second, bool wrong) {
  if (is_too_large(g, call)) return false;
  smelt_tensor *more = NULL, *result = try_call(g, call, second ? &more : NULL);
  if (!is_bearable(g, call, result, wrong)) {
    smelt_drop(result);
    smelt_drop(more);
    return false;
  }
  for (int i = 0; i < call->n; i++) {
    const operand *o = &call->operands[i];
    if (o->use == USE_TAKE && g->held[o->name]) let_go(g, o->name);
  }
  *add_step(g, STEP_CALL) = *call;
  hold(g, result);
  if (second) (void)add_step(g, STEP_SECOND);
  if (second) hold(g, more);
  return true;
}
