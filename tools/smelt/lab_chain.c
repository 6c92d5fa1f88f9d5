/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt lab chain N: how many operations go into one kernel. */
#include <inttypes.h>

#include "base/error.h"
#include "lab.h"

smelt_status lab_chain(lab *l) {
  uint64_t n = l->options.n;
  SM_TRY(lab_open(l, !l->options.no_fusion, "block,launch", LAB_SHORTEN));
  lab_mark("let y = chain(x, %" PRIu64 ")", n);
  smelt_tensor *y = lab_chain_steps(lab_input(l, l->ctx, 0), n);
  lab_mark("y.read()");
  SM_TRY(lab_read(l, y));
  lab_mark("%" PRIu64 " operation(s), launches: %" PRIu64, lab_counters(l).operations,
           lab_counters(l).launches);
  SM_TRY(lab_print_values(l));
  SM_TRY(lab_compare(l, "y", lab_chain_steps(lab_input(l, l->ref, 0), n)));
  lab_report(l);
  return lab_close(l);
}
