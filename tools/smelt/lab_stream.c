/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt lab stream: a thread uses what another one has only recorded. */
#include <inttypes.h>
#include <pthread.h>

#include "base/error.h"
#include "lab.h"

/* What the second thread gets, and what becomes of it. */
typedef struct second {
  lab *l;
  smelt_tensor *y;
  smelt_status status;
} second;

static void *use_it(void *user) {
  second *s = user;
  lab_mark("second thread: let z = y + 1; z.read()");
  s->status = lab_read(s->l, smelt_add(s->y, 1.0));
  return NULL;
}

/* Takes `y`. The thread has ended when this returns. */
static smelt_status run_second(lab *l, smelt_tensor *y) {
  second s = {.l = l, .y = y};
  pthread_t thread;
  if (pthread_create(&thread, NULL, use_it, &s) != 0) {
    smelt_drop(y);
    return sm_error_memory(&l->error, "a thread");
  }
  (void)pthread_join(thread, NULL);
  return s.status;
}

/* `actual` and what the reference makes of two steps and perhaps one more. */
static smelt_status check(lab *l, const char *name, bool plus_one) {
  smelt_tensor *expected = lab_chain_steps(lab_input(l, l->ref, 0), 2);
  return lab_compare(l, name, plus_one ? smelt_add(expected, 1.0) : expected);
}

static smelt_status read_first(lab *l, smelt_tensor *y) {
  lab_mark("first thread: y.read()");
  SM_TRY(lab_read(l, y));
  lab_mark("launches: %" PRIu64, lab_counters(l).launches);
  return check(l, "y", false);
}

smelt_status lab_stream(lab *l) {
  SM_TRY(lab_open(l, !l->options.no_fusion, "register,block,launch", LAB_SHOW));
  lab_mark("first thread: let y = a*1.25 + 0.5");
  smelt_tensor *y = lab_chain_steps(lab_input(l, l->ctx, 0), 2);
  lab_mark("launches: %" PRIu64, lab_counters(l).launches);
  SM_TRY(run_second(l, smelt_ref(y)));
  lab_mark("launches: %" PRIu64, lab_counters(l).launches);
  SM_TRY(lab_print_values(l));
  SM_TRY(check(l, "z", true));
  SM_TRY(read_first(l, y));
  lab_report(l);
  return lab_close(l);
}
