/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/row_places.h"

/* Whether a step's value is the same in a whole row, if it is known of earlier ones. */
static bool is_uniform(const sm_step *step, const sm_block_plan *plan, const bool *uniform) {
  switch (step->kind) {
    case SM_STEP_SCALAR:
    case SM_STEP_LITERAL:
    case SM_STEP_EXTENT:
      return true;
    case SM_STEP_READ:
      return sm_block_plan_strides(plan, step->index)[plan->rank - 1] == 0;
    case SM_STEP_COMPUTE:
      break;
    default:
      return false;
  }
  for (int k = 0; k < 3; k++) {
    if (step->args[k] != SM_NO_LOCAL && !uniform[step->args[k]]) return false;
  }
  return true;
}

static void find_fixed(const sm_block *block, const sm_block_plan *plan, bool *uniform, bool *fixed) {
  for (size_t i = 0; i < block->steps.len; i++) {
    const sm_step *step = &block->steps.items[i];
    uniform[i] = is_uniform(step, plan, uniform);
    fixed[i] = step->kind == SM_STEP_GATHER && uniform[step->args[0]];
  }
}

/* From the end: a step is needed where one that uses it is. */
static void find_needs(const sm_block *block, sm_row_places *p) {
  for (int32_t i = (int32_t)block->steps.len - 1; i >= 0; i--) {
    const sm_step *step = &block->steps.items[i];
    if (!sm_step_computes(step)) p->in_body[i] = true;
    for (int k = 0; k < 3; k++) {
      int32_t arg = step->args[k], needed = sm_row_places_body_arg(p, block, i, k);
      if (needed != SM_NO_LOCAL) p->in_body[needed] = true;
      if (arg != SM_NO_LOCAL && (p->fixed[i] || p->in_row[i])) p->in_row[arg] = true;
    }
  }
}

bool sm_row_places_find(const sm_block *block, const sm_block_plan *plan, sm_arena *arena,
                        sm_row_places *out) {
  size_t n = block->steps.len;
  bool *uniform = sm_arena_zalloc(arena, n, sizeof *uniform);
  out->fixed = sm_arena_zalloc(arena, n, sizeof *out->fixed);
  out->in_row = sm_arena_zalloc(arena, n, sizeof *out->in_row);
  out->in_body = sm_arena_zalloc(arena, n, sizeof *out->in_body);
  if (!uniform || !out->fixed || !out->in_row || !out->in_body) return false;
  find_fixed(block, plan, uniform, out->fixed);
  find_needs(block, out);
  return true;
}
