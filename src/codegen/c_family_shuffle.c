/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of neighbouring threads: a function a dtype, `shuffle_f32(v7, 4)`, with the dialect's own
 * word for it in its body. */
#include <inttypes.h>

#include "codegen/c_family_printer.h"

void sm_c_shuffle(sm_c_printer *p, const sm_kir_ins *ins) {
  if (!p->dialect->shuffle) p->missing = "values of other threads";
  p->shuffles[ins->type.dtype] = true;
  sm_text_addf(p->text, "shuffle_%s(", smelt_dtype_name(ins->type.dtype));
  sm_c_value(p, ins->args[0]);
  sm_text_addf(p->text, ", %" PRId32 ")", ins->imm.index);
}

static void add_function(sm_c_printer *p, smelt_dtype dtype) {
  bool is_long = smelt_dtype_size(dtype) == sizeof(int64_t) && p->dialect->shuffle_long;
  const char *parameters = dtype == SMELT_BOOL ? "u8 a, u32 digit) { return " : "T a, u32 digit) { return ";
  sm_c_scope scope = {dtype, NULL};
  sm_text_add(p->text, p->dialect->function);
  sm_c_template(p, "T ", scope);
  sm_text_addf(p->text, "shuffle_%s(", smelt_dtype_name(dtype));
  sm_c_template(p, parameters, scope);
  sm_c_template(p, is_long ? p->dialect->shuffle_long : p->dialect->shuffle, scope);
  sm_text_add(p->text, "; }\n");
}

void sm_c_shuffle_functions(sm_c_printer *p) {
  for (int dtype = 0; dtype < SM_DTYPE_LIMIT && p->dialect->shuffle; dtype++) {
    if (p->shuffles[dtype]) add_function(p, (smelt_dtype)dtype);
  }
}
