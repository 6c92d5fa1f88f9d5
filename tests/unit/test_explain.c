/* SPDX-License-Identifier: Apache-2.0
 *
 * Explanations: which operation is in which kernel, why not in another, and what that
 * moved; the same from a plan that was kept, from other threads and on `ref`. */
#define _DEFAULT_SOURCE
#include <stdlib.h>

#include "api_fixture.h"
#include "base/json.h"
#include "json_text.h"
#include "peer.h"

static void begin(smelt_context *ctx) {
  smelt_error err = {0};
  CHECK_OK(smelt_explain_begin(ctx, &err), err);
}

static smelt_explanation *end(smelt_context *ctx) {
  smelt_error err = {0};
  smelt_explanation *e;
  CHECK_OK(smelt_sync(ctx, &err), err);
  CHECK_OK(smelt_explain_end(ctx, &e, &err), err);
  return e;
}

static smelt_explained_operation operation(const smelt_explanation *e, size_t i) {
  smelt_explained_operation out = {.size = sizeof out};
  CHECK_STATUS(smelt_explanation_operation(e, i, &out), SMELT_OK);
  return out;
}

static smelt_explained_edge edge(const smelt_explanation *e, size_t i) {
  smelt_explained_edge out = {.size = sizeof out};
  CHECK_STATUS(smelt_explanation_edge(e, i, &out), SMELT_OK);
  return out;
}

static smelt_explained_kernel kernel(const smelt_explanation *e, size_t i) {
  smelt_explained_kernel out = {.size = sizeof out};
  CHECK_STATUS(smelt_explanation_kernel(e, i, &out), SMELT_OK);
  return out;
}

/* f32[1000], all ones and there. */
static smelt_tensor *thousand(smelt_context *ctx) {
  static float data[1000];
  for (int i = 0; i < 1000; i++) data[i] = 1;
  return smelt_from_host(ctx, SMELT_F32, DIMS(1000), data);
}

static smelt_tensor *column(smelt_context *ctx) {
  return smelt_from_host(ctx, SMELT_F32, DIMS(5, 1), (float[]){1, 2, 3, 4, 5});
}

static char *format(const smelt_explanation *e, smelt_explanation_form form) {
  size_t needed;
  CHECK_STATUS(smelt_explanation_format(e, form, NULL, 0, &needed, NULL), SMELT_OK);
  char *text = malloc(needed + 1);
  CHECK(text != NULL);
  CHECK_STATUS(smelt_explanation_format(e, form, text, needed + 1, NULL, NULL), SMELT_OK);
  CHECK_I64(strlen(text), needed);
  return text;
}

/* --- What is in an explanation --------------------------------------------------------- */

TEST(one_kernel) {
  smelt_context *ctx = open_context();
  begin(ctx);
  smelt_tensor *y = smelt_exp(smelt_mul(thousand(ctx), thousand(ctx)));
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){y}, 1, NULL), SMELT_OK);
  smelt_explanation *e = end(ctx);
  CHECK_I64(smelt_explanation_operations(e), 2);
  CHECK_I64(smelt_explanation_kernels(e), 1);
  CHECK_I64(smelt_explanation_edges(e), 0);
  CHECK_STR(operation(e, 0).name, "NumericFloat(F32, Mul)");
  CHECK_STR(operation(e, 1).name, "Float(F32, Exp)");
  CHECK_I64(operation(e, 1).kernel, 0);
  CHECK_I64(operation(e, 1).dims[0], 1000);
  smelt_explained_kernel k = kernel(e, 0);
  CHECK_STR(k.fuser, "ElementWise");
  CHECK_CONTAINS(k.name, "elemwise_fuse_");
  CHECK_I64(k.operations, 2);
  CHECK_I64(k.launches, 1);
  CHECK_I64(k.bytes_read, 8000);
  CHECK_I64(k.bytes_written, 4000);
  CHECK_I64(k.in_place, 1);
  CHECK_STR(k.estimate, "model");
  CHECK(k.predicted_ns > 0 && k.measured_ns > 0);
  smelt_explanation_free(e);
  smelt_drop(y);
  close_context(ctx);
}

static void add_row_and_column(smelt_context *ctx) {
  smelt_tensor *row = smelt_from_host(ctx, SMELT_F32, DIMS(1, 2), (float[]){0, 1});
  smelt_tensor *y = smelt_add(smelt_exp(row), column(ctx));
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){y}, 1, NULL), SMELT_OK);
  smelt_drop(y);
}

static void check_apart(const smelt_explanation *e, const char *reason) {
  CHECK_I64(smelt_explanation_edges(e), 1);
  smelt_explained_edge found = edge(e, 0);
  CHECK_I64(found.producer, 0);
  CHECK_I64(found.consumer, 1);
  CHECK_STR(found.reason, reason);
  CHECK_I64(operation(e, 0).kernel, 0);
  CHECK_I64(operation(e, 1).kernel, 1);
}

TEST(apart_for_a_reason) {
  smelt_context *ctx = open_context();
  begin(ctx);
  add_row_and_column(ctx);
  smelt_explanation *e = end(ctx);
  check_apart(e, "shape");
  CHECK_STR(edge(e, 0).meaning, "the results have different shapes");
  smelt_explanation_free(e);
  close_context(ctx);
}

TEST(apart_without_fusion) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.fusion = SMELT_OFF;
  smelt_context *ctx = open_context_with(&desc);
  begin(ctx);
  add_row_and_column(ctx);
  smelt_explanation *e = end(ctx);
  check_apart(e, "fusion-off");
  smelt_explanation_free(e);
  close_context(ctx);
}

TEST(kept_plans_keep_their_reasons) {
  smelt_context *ctx = open_context();
  add_row_and_column(ctx);
  begin(ctx);
  add_row_and_column(ctx);
  smelt_explanation *e = end(ctx);
  CHECK_I64(counters_of(ctx).plan_hits, 1);
  check_apart(e, "shape");
  smelt_explanation_free(e);
  close_context(ctx);
}

static smelt_tensor *combine(char how, smelt_tensor *x, smelt_tensor *y) {
  if (how == '<') return smelt_minimum(x, y);
  return how == '+' ? smelt_add(x, y) : smelt_sub(x, y);
}

TEST(limits_are_told) {
  smelt_context *ctx = open_device("null:metal");
  begin(ctx);
  smelt_tensor *sum = thousand(ctx);
  /* What repeats would be cut: no part of this order stands twice in a row. */
  for (const char *order = "+-<+<-+-<-+<+-<+<-+<+-<-+-<"; *order; order++)
    sum = combine(*order, sum, thousand(ctx));
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){sum}, 1, NULL), SMELT_OK);
  smelt_explanation *e = end(ctx);
  CHECK_I64(smelt_explanation_kernels(e), 2);
  CHECK_STR(edge(e, 0).reason, "bindings");
  CHECK(edge(e, 0).bindings > 28);
  CHECK_I64(edge(e, 0).limit, 28);
  smelt_explanation_free(e);
  smelt_drop(sum);
  close_context(ctx);
}

TEST(what_nobody_wants) {
  smelt_context *ctx = open_context();
  begin(ctx);
  smelt_tensor *x = thousand(ctx);
  smelt_drop(smelt_exp(smelt_ref(x)));
  smelt_tensor *y = smelt_mul(x, 2);
  smelt_explanation *e = end(ctx);
  CHECK_I64(operation(e, 0).kernel, -1);
  CHECK_I64(operation(e, 1).kernel, 0);
  smelt_explanation_free(e);
  smelt_drop(y);
  close_context(ctx);
}

TEST(a_view_is_no_launch) {
  smelt_context *ctx = open_context();
  begin(ctx);
  smelt_tensor *y = smelt_reshape(thousand(ctx), DIMS(10, 100));
  smelt_explanation *e = end(ctx);
  CHECK_STR(kernel(e, 0).fuser, "View");
  CHECK_STR(kernel(e, 0).name, "");
  CHECK_I64(kernel(e, 0).launches, 0);
  smelt_explanation_free(e);
  smelt_drop(y);
  close_context(ctx);
}

TEST(one_by_one_on_ref) {
  smelt_context *ctx = open_device("ref");
  begin(ctx);
  add_row_and_column(ctx);
  smelt_explanation *e = end(ctx);
  CHECK_STR(smelt_explanation_device(e), "ref");
  CHECK_I64(smelt_explanation_kernels(e), 2);
  CHECK_I64(smelt_explanation_edges(e), 0);
  CHECK_I64(operation(e, 1).kernel, 1);
  CHECK_STR(kernel(e, 1).name, "add");
  CHECK_STR(kernel(e, 1).estimate, "none");
  CHECK_I64(kernel(e, 1).bytes_read, 28);
  smelt_explanation_free(e);
  close_context(ctx);
}

TEST(interpreters_say_why) {
  CHECK(setenv("SMELT_CPU", "baseline", 1) == 0);
  smelt_context *ctx = open_context();
  begin(ctx);
  add_row_and_column(ctx);
  smelt_explanation *e = end(ctx);
  CHECK(kernel(e, 0).interpreted);
  CHECK_CONTAINS(smelt_explanation_device(e), "fusion<cpu<interpreter>> on baseline, ");
  CHECK_CONTAINS(smelt_explanation_device(e),
                 "interpreter: no code is generated for this processor's vectors");
  smelt_explanation_free(e);
  close_context(ctx);
}

/* --- Several segments and threads -------------------------------------------------------------- */

static void make_and_drop(smelt_context *ctx) {
  smelt_tensor *y = smelt_add(thousand(ctx), 1);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){y}, 1, NULL), SMELT_OK);
  smelt_drop(y);
}

TEST(the_last_segments) {
  smelt_context *ctx = open_context();
  begin(ctx);
  for (int i = 0; i < 3; i++) make_and_drop(ctx);
  for (int i = 0; i < 255; i++) add_row_and_column(ctx);
  smelt_explanation *e = end(ctx);
  CHECK_I64(smelt_explanation_operations(e), 1 + 2 * 255);
  CHECK_STR(operation(e, 0).name, "NumericFloat(F32, AddScalar)");
  CHECK_I64(operation(e, 2).segment, 1);
  CHECK_I64(operation(e, 2).kernel, 2);
  CHECK_I64(edge(e, 254).consumer, 510);
  CHECK_I64(kernel(e, 510).segment, 255);
  smelt_explanation_free(e);
  close_context(ctx);
}

static void peer_step_of(void *user) { make_and_drop(user); }

TEST(other_threads) {
  smelt_context *ctx = open_context();
  peer other;
  peer_open(&other);
  begin(ctx);
  peer_do(&other, peer_step_of, ctx);
  add_row_and_column(ctx);
  smelt_explanation *e = end(ctx);
  CHECK_I64(smelt_explanation_operations(e), 3);
  peer_close(&other);
  smelt_explanation_free(e);
  close_context(ctx);
}

TEST(only_what_was_asked_for) {
  smelt_context *ctx = open_context();
  make_and_drop(ctx);
  begin(ctx);
  make_and_drop(ctx);
  begin(ctx); /* forgets */
  smelt_explanation *e = end(ctx);
  CHECK_I64(smelt_explanation_operations(e), 0);
  smelt_explanation_free(e);
  make_and_drop(ctx);
  begin(ctx);
  make_and_drop(ctx);
  close_context(ctx); /* with what nobody fetched */
}

TEST(it_outlives_the_context) {
  smelt_context *ctx = open_context();
  begin(ctx);
  add_row_and_column(ctx);
  smelt_explanation *e = end(ctx);
  close_context(ctx);
  check_apart(e, "shape");
  smelt_explanation_free(e);
}

/* --- As text ----------------------------------------------------------------------------------- */

TEST(json) {
  smelt_context *ctx = open_context();
  begin(ctx);
  make_and_drop(ctx);
  add_row_and_column(ctx);
  smelt_explanation *e = end(ctx);
  char *text = format(e, SMELT_EXPLANATION_JSON);
  CHECK(json_is_valid(text));
  CHECK_I64(count_of(text, "\"tensor\": "), 3);
  CHECK_I64(count_of(text, "\"measured_ns\": "), 3);
  CHECK_CONTAINS(text, "\"edges\": [{\"producer\": 1, \"consumer\": 2, \"reason\": \"shape\"");
  free(text);
  smelt_explanation_free(e);
  close_context(ctx);
}

TEST(text) {
  smelt_context *ctx = open_context();
  begin(ctx);
  add_row_and_column(ctx);
  smelt_explanation *e = end(ctx);
  char *text = format(e, SMELT_EXPLANATION_TEXT), cut[8];
  CHECK_CONTAINS(text, "segment 0: 2 operations, 2 kernels\n");
  CHECK_CONTAINS(text, ": 1 launch, 8 bytes read, 8 written");
  CHECK_CONTAINS(text, " = Float(F32, Exp)\n");
  CHECK_CONTAINS(text, "      apart from t2: shape (the results have different shapes)\n");
  CHECK_STATUS(smelt_explanation_format(e, SMELT_EXPLANATION_TEXT, cut, sizeof cut, NULL, NULL), SMELT_OK);
  CHECK_STR(cut, "device ");
  free(text);
  smelt_explanation_free(e);
  close_context(ctx);
}

/* The reader of these tests and the writer do not believe each other blindly. */
TEST(the_reader_of_json) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_json_open(&text, NULL, '{');
  sm_json_string(&text, "a\"\\\n", "\x01");
  sm_json_open(&text, "l", '[');
  sm_json_number(&text, NULL, -0.5);
  sm_json_integer(&text, NULL, -7);
  sm_json_close(&text, ']');
  sm_json_bool(&text, "b", false);
  sm_json_close(&text, '}');
  CHECK_STR(text.data, "{\"a\\\"\\\\\\u000a\": \"\\u0001\", \"l\": [-0.500, -7], \"b\": false}");
  CHECK(json_is_valid(text.data));
  sm_text_free(&text);
  static const char *const wrong[] = {"",   "{",    "[1,]", "{\"a\" 1}", "[1 2]", "\"\n\"",
                                      "01", "[1]]", "nul",  "-",         "1."};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) CHECK(!json_is_valid(wrong[i]));
}

/* --- Mistakes ------------------------------------------------------------------------------------- */

TEST(mistakes) {
  smelt_context *ctx = open_context();
  smelt_explanation *e = (smelt_explanation *)ctx;
  smelt_error err = {0};
  CHECK_STATUS(smelt_explain_begin(NULL, &err), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_explain_end(ctx, &e, &err), SMELT_ERR_ARGUMENT);
  CHECK_STR(err.text, "smelt_explain_end without smelt_explain_begin");
  CHECK(e == NULL);
  begin(ctx);
  CHECK_STATUS(smelt_explain_end(ctx, NULL, &err), SMELT_ERR_ARGUMENT);
  make_and_drop(ctx);
  e = end(ctx);
  smelt_explained_kernel k = {.size = sizeof k};
  CHECK_STATUS(smelt_explanation_kernel(e, 1, &k), SMELT_ERR_ARGUMENT);
  k.size = 8;
  CHECK_STATUS(smelt_explanation_kernel(e, 0, &k), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_explanation_format(e, (smelt_explanation_form)2, NULL, 0, NULL, &err),
               SMELT_ERR_ARGUMENT);
  CHECK_I64(smelt_explanation_kernels(NULL), 0);
  CHECK_STR(smelt_explanation_device(NULL), "");
  smelt_explanation_free(e);
  smelt_explanation_free(NULL);
  close_context(ctx);
}

TEST_MAIN(CASE(one_kernel), CASE(apart_for_a_reason), CASE(apart_without_fusion),
          CASE(kept_plans_keep_their_reasons), CASE(limits_are_told), CASE(what_nobody_wants),
          CASE(a_view_is_no_launch), CASE(one_by_one_on_ref), CASE(interpreters_say_why),
          CASE(the_last_segments), CASE(other_threads), CASE(only_what_was_asked_for),
          CASE(it_outlives_the_context), CASE(json), CASE(text), CASE(the_reader_of_json), CASE(mistakes))
