/* SPDX-License-Identifier: Apache-2.0
 *
 * Indices: x[…] is a slice; an axis with a number in place of a range is left out
 * of the result. */
#include "expr_machine.h"

typedef struct index_state {
  int rank;
  int64_t dims[SMELT_MAX_RANK]; /* of what is indexed */
  smelt_range ranges[SMELT_MAX_RANK];
  int n_ranges;
  int axes[SMELT_MAX_RANK]; /* those with a number */
  size_t n_axes;
} index_state;

static int32_t next_of(const expr_machine *m, int32_t node) { return expr_node_of(m, node)->next; }

static bool read_integer(expr_machine *m, int32_t node, int64_t *out) {
  sm_scalar s;
  if (expr_node_of(m, node)->kind != EXPR_LIST && !expr_need(m, node)) return false;
  if (expr_node_of(m, node)->kind == EXPR_LIST || !m->values[node].constant)
    return expr_fail(m, node, SMELT_ERR_ARGUMENT,
                     "an index is a number or a range: use take(x, indices, axis)");
  if (!expr_number(m, node, &s)) return false;
  if (s.kind != SM_KIND_SINT) return expr_fail(m, node, SMELT_ERR_ARGUMENT, "an index has to be an integer");
  *out = s.as.i64;
  return true;
}

/* The smallest integer would be SMELT_ABSENT; the next one means the same on every axis. */
static bool read_part(expr_machine *m, int32_t node, int64_t *out) {
  if (!read_integer(m, node, out)) return false;
  if (*out == SMELT_ABSENT) *out = -INT64_MAX;
  return true;
}

static bool read_range(expr_machine *m, int32_t node, smelt_range *out) {
  const expr_node *n = expr_node_of(m, node);
  int64_t *parts[] = {&out->start, &out->stop, &out->step};
  int32_t arg = n->args;
  *out = (smelt_range){SMELT_ABSENT, SMELT_ABSENT, SMELT_ABSENT};
  for (int i = 0; i < 3; i++) {
    if (!(n->parts >> i & 1)) continue;
    if (!read_part(m, arg, parts[i])) return false;
    arg = next_of(m, arg);
  }
  return out->step != 0 || expr_fail(m, node, SMELT_ERR_ARGUMENT, "the step of a range is not zero");
}

static bool read_number(expr_machine *m, int32_t node, index_state *x) {
  int axis = x->n_ranges;
  int64_t place = 0, extent = x->dims[axis];
  if (!read_integer(m, node, &place)) return false;
  if (place < -extent || place >= extent)
    return expr_fail(m, node, SMELT_ERR_ARGUMENT, "there is no index %lld on axis %d, which has extent %lld",
                     (long long)place, axis, (long long)extent);
  if (place < 0) place += extent;
  x->ranges[x->n_ranges++] = (smelt_range){place, place + 1, 1};
  x->axes[x->n_axes++] = axis;
  return true;
}

/* Whole axes up to where the indices after `ellipsis` belong. */
static void skip_axes(const expr_machine *m, int32_t ellipsis, index_state *x) {
  int after = 0;
  for (int32_t i = next_of(m, ellipsis); i != EXPR_NONE; i = next_of(m, i)) after++;
  while (x->n_ranges + after < x->rank)
    x->ranges[x->n_ranges++] = (smelt_range){SMELT_ABSENT, SMELT_ABSENT, SMELT_ABSENT};
}

static bool read_indices(expr_machine *m, int32_t first, index_state *x) {
  bool skipped = false;
  for (int32_t i = first; i != EXPR_NONE; i = next_of(m, i)) {
    expr_kind kind = expr_node_of(m, i)->kind;
    if (kind == EXPR_ELLIPSIS && skipped)
      return expr_fail(m, i, SMELT_ERR_ARGUMENT, "'...' stands for axes once only");
    skipped = skipped || kind == EXPR_ELLIPSIS;
    if (kind == EXPR_ELLIPSIS) {
      skip_axes(m, i, x);
      continue;
    }
    if (x->n_ranges == x->rank)
      return expr_fail(m, i, SMELT_ERR_ARGUMENT, "more indices than axes, of which there are %d", x->rank);
    bool ok = kind == EXPR_RANGE ? read_range(m, i, &x->ranges[x->n_ranges++]) : read_number(m, i, x);
    if (!ok) return false;
  }
  return true;
}

bool expr_index(expr_machine *m, int32_t node) {
  int32_t value = expr_node_of(m, node)->args;
  index_state x = {.n_ranges = 0};
  if (!expr_need(m, value)) return false;
  x.rank = smelt_dims(m->values[value].tensor, x.dims);
  if (!read_indices(m, next_of(m, value), &x)) return false;
  smelt_attrs ranges = {.size = sizeof ranges, .ranges = x.ranges, .n_ranges = (size_t)x.n_ranges};
  smelt_attrs axes = {.size = sizeof axes, .axes = x.axes, .n_axes = x.n_axes};
  return expr_record(m, node, "slice", &value, 1, &ranges) &&
         (x.n_axes == 0 || expr_record(m, node, "squeeze", &node, 1, &axes));
}

bool expr_attribute(expr_machine *m, int32_t node) {
  int32_t value = expr_node_of(m, node)->args;
  smelt_attrs reversed = {.size = sizeof reversed};
  return expr_need(m, value) && expr_record(m, node, "permute_dims", &value, 1, &reversed);
}
