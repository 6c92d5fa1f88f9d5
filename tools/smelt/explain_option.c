/* SPDX-License-Identifier: Apache-2.0 */
#include "explain_option.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli.h"

bool explain_take(const char *command, const char *value, explain_option *out) {
  out->wanted = true;
  out->form = value ? SMELT_EXPLANATION_JSON : SMELT_EXPLANATION_TEXT;
  return !value || !strcmp(value, "json") ||
         cli_fail(command, SMELT_ERR_ARGUMENT, "--explain=%s: there is only --explain=json", value) == CLI_OK;
}

smelt_status explain_begin(explain_option option, smelt_context *ctx, smelt_error *err) {
  return option.wanted ? smelt_explain_begin(ctx, err) : SMELT_OK;
}

static smelt_status print(const smelt_explanation *e, smelt_explanation_form form, FILE *to,
                          smelt_error *err) {
  size_t needed;
  SM_TRY(smelt_explanation_format(e, form, NULL, 0, &needed, err));
  char *text = sm_alloc(&sm_malloc_allocator, needed + 1);
  if (!text) return sm_error_memory(err, "an explanation");
  smelt_status status = smelt_explanation_format(e, form, text, needed + 1, NULL, err);
  if (status == SMELT_OK && fputs(text, to) < 0)
    status = sm_error_set(err, SMELT_ERR_IO, "the explanation could not be written");
  sm_free(&sm_malloc_allocator, text, needed + 1);
  return status;
}

smelt_status explain_print(explain_option option, smelt_context *ctx, FILE *to, smelt_error *err) {
  smelt_explanation *e;
  if (!option.wanted) return SMELT_OK;
  SM_TRY(smelt_explain_end(ctx, &e, err));
  smelt_status status = print(e, option.form, to, err);
  smelt_explanation_free(e);
  return status;
}
