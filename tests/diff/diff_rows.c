/* SPDX-License-Identifier: Apache-2.0
 *
 * What people write of single steps: reductions of rows, and rows with a reduction
 * of themselves. */
#include <string.h>

#include "diff_guide.h"
#include "ir/op.h"

enum { ROW_STEPS = 7 };

/* Operand 0 is the pattern's, k is the result of its k-th step; -1 is none. */
typedef struct row_step {
  const char *op;
  int operands[2];
} row_step;

static const row_step patterns[][ROW_STEPS] = {
    {{"max", {0, -1}}, {"subtract", {0, 1}}, {"exp", {2, -1}}, {"sum", {3, -1}}, {"divide", {3, 4}}},
    {{"max", {0, -1}},
     {"subtract", {0, 1}},
     {"exp", {2, -1}},
     {"sum", {3, -1}},
     {"log", {4, -1}},
     {"subtract", {2, 5}}},
    {{"mean", {0, -1}},
     {"subtract", {0, 1}},
     {"square", {2, -1}},
     {"mean", {3, -1}},
     {"rsqrt", {4, -1}},
     {"multiply", {2, 5}}},
    {{"square", {0, -1}}, {"mean", {1, -1}}, {"sqrt", {2, -1}}, {"divide", {0, 3}}},
    {{"min", {0, -1}}, {"max", {0, -1}}, {"subtract", {0, 1}}, {"subtract", {2, 1}}, {"divide", {3, 4}}},
    {{"exp", {0, -1}},
     {"sum", {1, -1}},
     {"argmax", {1, -1}},
     {"max", {1, -1}},
     {"multiply", {2, 4}},
     {"any", {0, -1}}},
    {{"sum", {0, -1}}, {"prod", {0, -1}}, {"add", {1, 2}}, {"argmin", {0, -1}}, {"add", {0, 3}}},
};
enum { N_PATTERNS = sizeof patterns / sizeof patterns[0] };

static bool is_used_after(const row_step *pattern, int at, int k) {
  for (int i = at + 1; i < ROW_STEPS && pattern[i].op; i++) {
    if (pattern[i].operands[0] == k || pattern[i].operands[1] == k) return true;
  }
  return false;
}

/* The last axis more often than others, sometimes two. */
static void draw_row_axes(step *s, uint64_t *state, int rank) {
  s->names_axes = true;
  s->n_axes = rank > 1 && draw_once_in(state, 4) ? 2 : 1;
  s->axes[0] = draw_once_in(state, 2) ? -1 : draw_below(state, rank);
  s->axes[1] = (s->axes[0] + rank + 1) % rank;
  s->keepdims = true;
}

static void set_operands(step *s, uint64_t *state, const row_step *pattern, int at, const int *names,
                         int keep_percent) {
  const row_step *r = &pattern[at];
  for (s->n = 0; s->n < 2 && r->operands[s->n] >= 0; s->n++) {
    int k = r->operands[s->n];
    bool keep = k == 0 || is_used_after(pattern, at, k) || draw_below(state, 100) < keep_percent;
    s->operands[s->n] = (operand){.use = keep ? USE_KEEP : USE_TAKE, .name = names[k]};
  }
}

void add_row_pattern(guide *g, uint64_t *state, int x, int keep_percent) {
  const row_step *pattern = patterns[draw_below(state, N_PATTERNS)];
  step reduced = {.kind = STEP_CALL};
  int rank = smelt_rank(g->tokens[x]), names[ROW_STEPS + 1] = {x};
  if (!is_float(smelt_dtype_of(g->tokens[x])) || rank < 1) return;
  draw_row_axes(&reduced, state, rank);
  for (int i = 0; i < ROW_STEPS && pattern[i].op; i++) {
    bool reduces = sm_op_row_of(sm_op_find(pattern[i].op))->class == SM_CLASS_REDUCE;
    step s = reduces ? reduced : (step){.kind = STEP_CALL};
    s.op = pattern[i].op;
    set_operands(&s, state, pattern, i, names, keep_percent);
    names[i + 1] = g->p->n;
    if (g->p->n == MAX_STEPS || !add_call(g, &s, false, false)) return;
  }
}
