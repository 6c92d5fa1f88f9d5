/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparing what programs observe. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "diff_program.h"
#include "same_values.h"

/* --- Two ways ---------------------------------------------------------------------------- */

/* The first element that differs, -1 if none does. */
static int64_t differing_element(const observation *a, const observation *b) {
  return first_difference(a->dtype, a->data, b->data, (int64_t)(a->bytes / smelt_dtype_size(a->dtype)));
}

static bool same_type(const observation *a, const observation *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         (a->rank <= 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0);
}

static void print_element(FILE *out, const observation *o, int64_t i) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_scalar_print(&text, sm_scalar_of(o->dtype, o->data + (size_t)i * smelt_dtype_size(o->dtype)));
  (void)fprintf(out, "%s", text.data);
  sm_text_free(&text);
}

static bool same_step(const way *w, int at_step, const observation *judge, const observation *other,
                      FILE *out) {
  if (judge->status != other->status) {
    if (out)
      (void)fprintf(out, "# %s: step %d is %s, expected %s\n", w->name, at_step,
                    smelt_status_name(other->status), smelt_status_name(judge->status));
    return false;
  }
  if (!same_type(judge, other)) {
    if (out) (void)fprintf(out, "# %s: step %d has another dtype or shape\n", w->name, at_step);
    return false;
  }
  int64_t at = judge->data && judge->status == SMELT_OK ? differing_element(judge, other) : -1;
  if (at < 0) return true;
  if (!out) return false;
  (void)fprintf(out, "# %s: element %" PRId64 " read by step %d is ", w->name, at, at_step);
  print_element(out, other, at);
  (void)fprintf(out, ", expected ");
  print_element(out, judge, at);
  (void)fprintf(out, "\n");
  return false;
}

static bool same_end(const way *w, const observations *judge, const observations *other, FILE *out) {
  if (!other->clean) {
    if (out) (void)fprintf(out, "# %s: %s\n", w->name, other->complaint);
    return false;
  }
  if (judge->operations == other->operations && judge->misuses == other->misuses) return true;
  if (out) {
    (void)fprintf(
        out, "# %s: %" PRIu64 " operations and %" PRIu64 " misuses, expected %" PRIu64 " and %" PRIu64 "\n",
        w->name, other->operations, other->misuses, judge->operations, judge->misuses);
  }
  return false;
}

static bool same(const program *p, const way *w, const observations *judge, const observations *other,
                 FILE *out) {
  for (int i = 0; i < p->n; i++) {
    if (!same_step(w, i, &judge->steps[i], &other->steps[i], out)) return false;
  }
  return same_end(w, judge, other, out);
}

/* --- Judges -------------------------------------------------------------------------------- */

static bool rounds_halves(smelt_dtype dtype) { return sm_dtype_is_half(dtype); }
static bool rounds_floats(smelt_dtype dtype) { return is_float(dtype); }
static bool rounds_nothing(smelt_dtype dtype) { return (void)dtype, false; }

/* Whether the mode rounds a result of that dtype elsewhere than ref does. */
static bool (*const rounds_elsewhere[])(smelt_dtype dtype) = {
    [SMELT_MODE_DEFAULT] = rounds_halves,
    [SMELT_MODE_STRICT] = rounds_nothing,
    [SMELT_MODE_FAST] = rounds_floats,
};

static int judge_of(const program *p, const way *w) {
  for (int i = 0; i < p->n; i++) {
    if (rounds_elsewhere[w->mode](p->steps[i].dtype)) return w->peer;
  }
  return 0;
}

bool agrees(const program *p, FILE *out) {
  observations *seen[N_WAYS];
  bool all = true;
  for (int w = 0; w < N_WAYS; w++) {
    seen[w] = run_program(p, &ways[w]);
    if (!same(p, &ways[w], seen[judge_of(p, &ways[w])], seen[w], out)) all = false;
  }
  for (int w = 0; w < N_WAYS; w++) free_observations(seen[w]);
  return all;
}
