/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that a program registers: expressions and kernels, on every device that
 * runs them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "api_fixture.h"
#include "custom_fixture.h"

static const char *const devices[] = {"cpu", "ref"};
enum { N_DEVICES = sizeof devices / sizeof devices[0] };

/* --- Registering ---------------------------------------------------------------------- */

static smelt_op_desc expression(const char *name, size_t n, const char *text) {
  smelt_op_desc desc = SMELT_OP_DESC_INIT;
  desc.name = name;
  desc.n_operands = n;
  desc.expression = text;
  return desc;
}

static smelt_op_desc kernel(const char *name, size_t n, smelt_array_fn *shape, smelt_array_fn *fn,
                            void *user) {
  smelt_op_desc desc = SMELT_OP_DESC_INIT;
  desc.name = name;
  desc.n_operands = n;
  desc.shape = shape;
  desc.kernel = fn;
  desc.user = user;
  return desc;
}

static void add(smelt_context *ctx, smelt_op_desc desc) {
  smelt_error err = {0};
  CHECK_OK(smelt_op_register(ctx, &desc, &err), err);
}

static void refuse(smelt_context *ctx, smelt_op_desc desc, smelt_status status, const char *text) {
  smelt_error err = {0};
  CHECK_STATUS(smelt_op_register(ctx, &desc, &err), status);
  CHECK_STR(err.text, text);
  CHECK_STATUS(smelt_op_register(ctx, &desc, NULL), status);
}

static smelt_tensor *call1(const char *name, smelt_tensor *x) { return smelt_call(NULL, name, &x, 1, NULL); }

static smelt_tensor *call2(const char *name, smelt_tensor *x, smelt_tensor *y) {
  return smelt_call(NULL, name, (smelt_tensor *[]){x, y}, 2, NULL);
}

TEST(wrong_descriptions) {
  smelt_context *ctx = open_context();
  static const char too_long[] = "a23456789_123456789_123456789_123";
#define REFUSE(desc, text) refuse(ctx, desc, SMELT_ERR_ARGUMENT, "smelt_op_register: " text)
  CHECK_STATUS(smelt_op_register(NULL, &(smelt_op_desc){0}, NULL), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_op_register(ctx, NULL, NULL), SMELT_ERR_ARGUMENT);
  smelt_op_desc old = expression("swish", 1, "x");
  old.size = 8;
  REFUSE(old, "smelt_op_desc.size is 8, not 56");
  REFUSE(expression(NULL, 1, "x"), "\"(null)\" is no name of an operation");
  REFUSE(expression("", 1, "x"), "\"\" is no name of an operation");
  REFUSE(expression("2x", 1, "x"), "\"2x\" is no name of an operation");
  REFUSE(expression("my swish", 1, "x"), "\"my swish\" is no name of an operation");
  REFUSE(expression(too_long, 1, "x"), "\"a23456789_123456789_123456789_123\" is no name of an operation");
  REFUSE(expression("exp", 1, "x"), "there is an operation exp already");
  REFUSE(expression("swish", 0, "1"), "swish: 0 operands are not between 1 and 3");
  REFUSE(expression("swish", 4, "x"), "swish: 4 operands are not between 1 and 3");
  REFUSE(expression("swish", 1, "mul(x, y)"), "swish: expression \"mul(x, y)\": unknown name");
  REFUSE(expression("swish", 1, "swish(x)"), "swish: expression \"swish(x)\": no such kop of that arity");
  REFUSE(expression("swish", 1, "mul(x, x"), "swish: expression \"mul(x, x\": missing )");
  REFUSE(expression("swish", 1, ""), "swish: expression \"\": expected a name or a number");
  REFUSE(kernel("f", 1, NULL, like_first, NULL), "f needs either an expression or shape and kernel");
  REFUSE(kernel("f", 1, like_first, NULL, NULL), "f needs either an expression or shape and kernel");
  REFUSE(kernel("f", 9, like_first, like_first, NULL), "f: 9 operands are not between 0 and 8");
  smelt_op_desc both = kernel("f", 1, like_first, like_first, NULL);
  both.expression = "x";
  REFUSE(both, "f needs either an expression or shape and kernel");
#undef REFUSE
  close_context(ctx);
}

TEST(a_name_is_for_one_operation_of_one_context) {
  smelt_context *ctx = open_context(), *other = open_context();
  add(ctx, expression("twice", 1, "add(x, x)"));
  add(other, expression("twice", 1, "mul(x, 2)"));
  refuse(ctx, expression("twice", 1, "mul(x, 2)"), SMELT_ERR_ARGUMENT,
         "smelt_op_register: there is an operation twice already");
  CHECK_F64(value_of(call1("twice", number(ctx, 3))), 6);
  CHECK_F64(value_of(call1("twice", number(other, 4))), 8);
  add(ctx, expression("thrice", 1, "mul(x, 3)"));
  CHECK_F64(value_of(call1("thrice", number(ctx, 3))), 9);
  check_poison(call1("thrice", number(other, 4)), SMELT_ERR_ARGUMENT, "no operation is called \"thrice\"");
  check_poison(call2("twice", number(ctx, 1), number(ctx, 2)), SMELT_ERR_ARGUMENT,
               "twice takes 1 operand, not 2");
  check_poison(call1("twice", smelt_scalar_f64(3)), SMELT_ERR_ARGUMENT, "no operation is called");
  CHECK(smelt_op_find("twice") == NULL);
  close_context(other);
  close_context(ctx);
}

TEST(devices_without_host_kernels) {
  smelt_context *ctx = open_device("null:metal");
  refuse(ctx, kernel("f", 1, like_first, like_first, NULL), SMELT_ERR_UNSUPPORTED,
         "smelt_op_register: f: device null runs no kernels of programs");
  add(ctx, expression("twice", 1, "add(x, x)"));
  smelt_tensor *y = call1("twice", number(ctx, 3));
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){y}, 1, NULL), SMELT_OK);
  smelt_drop(y);
  close_context(ctx);
}

/* --- Expressions --------------------------------------------------------------------------- */

static const float four[4] = {-2, -0.5F, 0.25F, 3};

TEST(expressions_are_like_other_operations) {
  for (int d = 0; d < N_DEVICES; d++) {
    smelt_context *ctx = open_device(devices[d]);
    add(ctx, expression("swish", 2, "mul(x, sigmoid(mul(x, y)))"));
    smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, DIMS(4), four);
    smelt_tensor *column = smelt_from_host(ctx, SMELT_F32, DIMS(2, 1), (float[]){1, 2});
    check_same_values(call2("swish", smelt_ref(x), smelt_ref(column)),
                      smelt_mul(smelt_ref(x), smelt_sigmoid(smelt_mul(smelt_ref(x), smelt_ref(column)))));
    check_same_values(call2("swish", smelt_ref(x), smelt_scalar_f64(1.5)),
                      smelt_mul(smelt_ref(x), smelt_sigmoid(smelt_mul(smelt_ref(x), 1.5))));
    check_poison(call2("swish", smelt_ref(x), smelt_zeros(ctx, SMELT_F32, DIMS(3))), SMELT_ERR_SHAPE,
                 "swish(f32[4], f32[3]): the shapes do not broadcast");
    check_poison(call2("swish", smelt_astype(smelt_ref(x), SMELT_I8), smelt_scalar_i64(1)), SMELT_ERR_DTYPE,
                 "swish(i8[4], scalar): wants floats; convert with astype");
    smelt_tensor *wide = call2("swish", x, smelt_astype(column, SMELT_F64));
    CHECK_I64(smelt_dtype_of(wide), SMELT_F64);
    smelt_drop(wide);
    close_context(ctx);
  }
}

/* What an expression accepts and answers follows from what it is made of. */
TEST(dtypes_of_expressions) {
  smelt_context *ctx = open_context();
  add(ctx, expression("relu", 1, "select(lt(0, x), x, 0)"));
  add(ctx, expression("is_between", 3, "and(le(y, x), le(x, z))"));
  add(ctx, expression("halve", 1, "mul(x, 0.5)"));
  add(ctx, expression("add_300", 1, "add(x, 300)"));
  smelt_tensor *i = smelt_from_host(ctx, SMELT_I8, DIMS(2), (int8_t[]){-3, 4});
  smelt_tensor *between =
      smelt_call(NULL, "is_between",
                 (smelt_tensor *[]){smelt_ref(i), smelt_scalar_i64(0), smelt_scalar_i64(9)}, 3, NULL);
  CHECK_I64(smelt_dtype_of(between), SMELT_BOOL);
  CHECK_F64(value_of(smelt_sum(smelt_astype(between, SMELT_I32), NULL, 0, false, SMELT_DTYPE_NONE)), 1);
  CHECK_F64(value_of(smelt_sum(call1("relu", smelt_ref(i)), NULL, 0, false, SMELT_DTYPE_NONE)), 4);
  check_poison(call1("halve", smelt_ref(i)), SMELT_ERR_DTYPE, "wants floats");
  check_poison(call1("add_300", smelt_ref(i)), SMELT_ERR_DTYPE, "wants floats"); /* i8 has no 300 */
  check_poison(call1("relu", smelt_astype(i, SMELT_BOOL)), SMELT_ERR_DTYPE, "wants numbers, not bool");
  CHECK_F64(value_of(call1("add_300", number(ctx, 0.5F))), 300.5);
  close_context(ctx);
}

/* Numbers can be read as bools; that makes no test of them. */
TEST(expressions_of_literals_are_numbers) {
  for (int d = 0; d < N_DEVICES; d++) {
    smelt_context *ctx = open_device(devices[d]);
    add(ctx, expression("side", 1, "select(lt(x, 0), -1, 1)"));
    add(ctx, expression("tenth", 1, "select(lt(x, 0), 0.1, 1)"));
    smelt_tensor *side = call1("side", number(ctx, -2));
    CHECK_I64(smelt_dtype_of(side), SMELT_F32);
    CHECK_F64(value_of(side), -1);
    CHECK_F64(value_of(call1("tenth", number(ctx, -2))), 0.1F);
    close_context(ctx);
  }
}

/* A conversion gives a half at once only where there is such a one. */
TEST(bits_are_those_of_the_f32_before_a_half) {
  for (int d = 0; d < N_DEVICES; d++) {
    smelt_context *ctx = open_device(devices[d]);
    add(ctx, expression("bits", 1, "bitcast(x)"));
    CHECK_F64(value_of(smelt_astype(call1("bits", smelt_astype(number(ctx, 1.5F), SMELT_F16)), SMELT_F32)),
              1.5);
    close_context(ctx);
  }
}

TEST(expressions_fuse) {
  smelt_context *ctx = open_context();
  add(ctx, expression("square_plus", 2, "add(mul(x, x), y)"));
  add(ctx, expression("square_minus", 2, "sub(mul(x, x), y)"));
  smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, DIMS(4), four);
  for (int i = 0; i < 3; i++) {
    const char *name = i < 2 ? "square_plus" : "square_minus";
    smelt_tensor *y = smelt_abs(call2(name, smelt_exp(smelt_ref(x)), smelt_ref(x)));
    CHECK_STATUS(smelt_eval((const smelt_tensor *[]){y}, 1, NULL), SMELT_OK);
    smelt_drop(y);
    CHECK_I64(counters_of(ctx).launches, i + 1);
    CHECK_I64(counters_of(ctx).plan_hits, i > 0); /* another operation has another plan */
  }
  smelt_drop(x);
  close_context(ctx);
}

/* In strict mode a half is rounded after every operation; an expression is one. */
TEST(expressions_are_rounded_once) {
  for (int d = 0; d < N_DEVICES; d++) {
    smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
    desc.device = devices[d];
    desc.mode = SMELT_MODE_STRICT;
    smelt_context *ctx = open_context_with(&desc);
    add(ctx, expression("there_and_back", 2, "sub(add(x, y), x)"));
    smelt_tensor *large = smelt_astype(number(ctx, 2048), SMELT_F16);
    smelt_tensor *one = smelt_astype(number(ctx, 1), SMELT_F16);
    CHECK_F64(value_of(smelt_sub(smelt_add(smelt_ref(large), smelt_ref(one)), smelt_ref(large))), 0);
    CHECK_F64(value_of(call2("there_and_back", large, one)), 1);
    close_context(ctx);
  }
}

/* --- Kernels --------------------------------------------------------------------------------- */

/* x[0] as it lies, with the sum of all first elements of the others added. */
typedef struct watch {
  int calls, shapes;
  smelt_status shape_fails, kernel_fails;
  const char *why;
} watch;

static smelt_status watched_shape(void *user, const smelt_array *x, size_t n, smelt_array *result,
                                  smelt_error *err) {
  watch *w = user;
  w->shapes++;
  for (size_t i = 0; i < n; i++) CHECK(x[i].data == NULL);
  if (w->why) (void)snprintf(err->text, sizeof err->text, "%s", w->why);
  *result = x[0];
  return w->shape_fails;
}

static smelt_status add_one(void *user, const smelt_array *x, size_t n, smelt_array *result,
                            smelt_error *err) {
  watch *w = user;
  w->calls++;
  CHECK_I64(n, 1);
  CHECK_I64(result->rank, x->rank);
  int64_t count = 1;
  for (int axis = 0; axis < x->rank; axis++) count *= x->dims[axis];
  const float *from = x->data;
  float *to = result->data;
  for (int64_t i = 0; i < count; i++) to[i] = from[i] + 1;
  if (w->why) (void)snprintf(err->text, sizeof err->text, "%s", w->why);
  return w->kernel_fails;
}

TEST(kernels_run_when_a_value_is_needed) {
  for (int d = 0; d < N_DEVICES; d++) {
    smelt_context *ctx = open_device(devices[d]);
    watch w = {0};
    add(ctx, kernel("add_one", 1, watched_shape, add_one, &w));
    smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, DIMS(2, 2), four);
    smelt_tensor *y = smelt_mul(call1("add_one", smelt_exp(smelt_ref(x))), 2.0);
    CHECK_I64(smelt_rank(y), 2);
    smelt_drop(call1("add_one", smelt_ref(x))); /* nobody wants it */
    CHECK_I64(w.shapes, 2);
    CHECK_I64(w.calls, 0);
    check_same_values(y, smelt_mul(smelt_add(smelt_exp(x), 1.0), 2.0));
    CHECK_I64(w.calls, 1);
    close_context(ctx);
  }
}

/* Elements come in the order of the tensor, whatever the memory's. */
TEST(operands_that_are_views) {
  for (int d = 0; d < N_DEVICES; d++) {
    smelt_context *ctx = open_device(devices[d]);
    watch w = {0};
    add(ctx, kernel("add_one", 1, watched_shape, add_one, &w));
    smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, DIMS(2, 2), four);
    smelt_tensor *column = smelt_slice(smelt_ref(x), (smelt_range[]){{0, 2, 1}, {1, 2, 1}}, 2);
    check_same_values(call1("add_one", smelt_permute_dims(smelt_ref(x), (int[]){1, 0}, 2)),
                      smelt_add(smelt_permute_dims(smelt_ref(x), (int[]){1, 0}, 2), 1.0));
    check_same_values(call1("add_one", smelt_broadcast_to(smelt_ref(column), DIMS(2, 3))),
                      smelt_add(smelt_broadcast_to(smelt_ref(column), DIMS(2, 3)), 1.0));
    check_same_values(call1("add_one", smelt_ref(column)), smelt_add(smelt_ref(column), 1.0));
    smelt_drop(column);
    check_same_values(x, smelt_from_host(ctx, SMELT_F32, DIMS(2, 2), four)); /* nothing was written over it */
    close_context(ctx);
  }
}

static smelt_status eight_shape(void *user, const smelt_array *x, size_t n, smelt_array *result,
                                smelt_error *err) {
  (void)user, (void)err;
  static const smelt_dtype dtypes[] = {SMELT_BOOL, SMELT_I8,  SMELT_U16, SMELT_I64,
                                       SMELT_F16,  SMELT_F64, SMELT_F32, SMELT_BF16};
  for (size_t i = 0; i < n; i++) CHECK_I64(x[i].dtype, dtypes[i]); /* none is converted */
  *result = (smelt_array){.dtype = SMELT_BOOL, .rank = 1, .dims = {8}};
  return SMELT_OK;
}

static smelt_status eight(void *user, const smelt_array *x, size_t n, smelt_array *result, smelt_error *err) {
  (void)user, (void)x, (void)err;
  unsigned char *bools = result->data;
  for (size_t i = 0; i < n; i++) bools[i] = (unsigned char)(i * 16); /* of which seven are true */
  return SMELT_OK;
}

TEST(eight_operands_of_any_dtype) {
  static const smelt_dtype dtypes[] = {SMELT_BOOL, SMELT_I8,  SMELT_U16, SMELT_I64,
                                       SMELT_F16,  SMELT_F64, SMELT_F32, SMELT_BF16};
  for (int d = 0; d < N_DEVICES; d++) {
    smelt_context *ctx = open_device(devices[d]);
    add(ctx, kernel("eight", 8, eight_shape, eight, NULL));
    smelt_tensor *x[8];
    for (int i = 0; i < 8; i++) x[i] = smelt_zeros(ctx, dtypes[i], DIMS(i));
    smelt_tensor *y = smelt_call(ctx, "eight", x, 8, NULL);
    CHECK_F64(value_of(smelt_sum(smelt_astype(y, SMELT_U8), NULL, 0, false, SMELT_DTYPE_NONE)), 7);
    close_context(ctx);
  }
}

static smelt_status counting_shape(void *user, const smelt_array *x, size_t n, smelt_array *result,
                                   smelt_error *err) {
  (void)x, (void)n, (void)err;
  *result = (smelt_array){.dtype = SMELT_I64, .rank = 1, .dims = {*(const int64_t *)user}};
  return SMELT_OK;
}

static smelt_status counting(void *user, const smelt_array *x, size_t n, smelt_array *result,
                             smelt_error *err) {
  (void)user, (void)x, (void)n, (void)err;
  CHECK(result->dims[0] > 0); /* not called if there are no elements */
  for (int64_t i = 0; i < result->dims[0]; i++) ((int64_t *)result->data)[i] = i;
  return SMELT_OK;
}

TEST(kernels_without_operands) {
  for (int d = 0; d < N_DEVICES; d++) {
    smelt_context *ctx = open_device(devices[d]);
    for (int64_t count = 0; count < 4; count += 3) {
      char name[16];
      (void)snprintf(name, sizeof name, "counting%d", (int)count);
      add(ctx, kernel(name, 0, counting_shape, counting, &count));
      smelt_tensor *y = smelt_call(ctx, name, NULL, 0, NULL);
      CHECK_F64(value_of(smelt_sum(y, NULL, 0, false, SMELT_DTYPE_NONE)), count ? 3 : 0);
    }
    check_poison(smelt_call(NULL, "counting3", NULL, 0, NULL), SMELT_ERR_ARGUMENT, "no operation is called");
    close_context(ctx);
  }
}

/* --- Failures ------------------------------------------------------------------------------------ */

TEST(a_kernel_that_fails_poisons_its_result) {
  for (int d = 0; d < N_DEVICES; d++) {
    smelt_context *ctx = open_device(devices[d]);
    watch w = {.kernel_fails = SMELT_ERR_LIMIT, .why = "the solver does not converge"};
    add(ctx, kernel("solve", 1, watched_shape, add_one, &w));
    smelt_tensor *good = smelt_mul(number(ctx, 1), 10.0);
    smelt_tensor *bad = call1("solve", smelt_ref(good));
    smelt_tensor *worse = smelt_add(smelt_ref(bad), smelt_ref(good)), *beside = smelt_exp(smelt_ref(good));
    w.why = NULL;
    smelt_tensor *silent = call1("solve", number(ctx, 3));
    w.why = "the solver does not converge";
    check_poison(smelt_ref(bad), SMELT_OK, ""); /* not yet */
    CHECK_STATUS(smelt_eval((const smelt_tensor *[]){worse}, 1, NULL), SMELT_ERR_LIMIT);
    check_poison(bad, SMELT_ERR_LIMIT, "solve: the solver does not converge");
    check_poison(worse, SMELT_ERR_LIMIT, "solve: the solver does not converge");
    check_poison(silent, SMELT_ERR_LIMIT, "solve: the solver does not converge");
    CHECK_F64(value_of(beside) > 22026, 1);
    w = (watch){.kernel_fails = SMELT_ERR_IO};
    smelt_tensor *unsaid = call1("solve", smelt_ref(good));
    CHECK_STATUS(smelt_sync(ctx, NULL), SMELT_OK);
    check_poison(unsaid, SMELT_ERR_IO, "solve: a file could not be read or written");
    w = (watch){0};
    CHECK_F64(value_of(call1("solve", good)), 11); /* and the operation is as good as before */
    close_context(ctx);
  }
}

TEST(a_shape_rule_that_fails_poisons_at_the_call) {
  smelt_context *ctx = open_context();
  watch w = {.shape_fails = SMELT_ERR_SHAPE, .why = "has to be square"};
  add(ctx, kernel("det", 1, watched_shape, add_one, &w));
  check_poison(call1("det", number(ctx, 1)), SMELT_ERR_SHAPE, "det: has to be square");
  w = (watch){0};
  smelt_tensor *bad = smelt_exp(NULL);
  check_poison(call1("det", bad), SMELT_ERR_STALE, "smelt_exp: NULL");
  check_poison(smelt_call(ctx, "det", (smelt_tensor *[]){smelt_scalar_f64(1)}, 1, NULL), SMELT_ERR_ARGUMENT,
               "det(scalar): the operands have to be tensors");
  check_poison(smelt_call(ctx, "det", NULL, 0, NULL), SMELT_ERR_ARGUMENT, "det takes 1 operand, not 0");
  CHECK_I64(w.shapes, 0); /* nobody asks it about what is wrong anyway */
  CHECK_I64(w.calls, 0);
  close_context(ctx);
}

static smelt_status answer(void *user, const smelt_array *x, size_t n, smelt_array *result,
                           smelt_error *err) {
  (void)x, (void)n, (void)err;
  *result = *(const smelt_array *)user;
  return SMELT_OK;
}

TEST(answers_of_shape_rules_are_checked) {
  smelt_context *ctx = open_context();
  smelt_array result = {.dtype = SMELT_F32};
  add(ctx, kernel("f", 1, answer, like_first, &result));
  result.dtype = (smelt_dtype)99;
  check_poison(call1("f", number(ctx, 1)), SMELT_ERR_DTYPE, "f: 99 is not a dtype");
  result = (smelt_array){.dtype = SMELT_F32, .rank = 17};
  check_poison(call1("f", number(ctx, 1)), SMELT_ERR_SHAPE, "f(f32[]): rank 17");
  result = (smelt_array){.dtype = SMELT_F32, .rank = -1};
  check_poison(call1("f", number(ctx, 1)), SMELT_ERR_SHAPE, "f(f32[]): rank -1");
  result = (smelt_array){.dtype = SMELT_F32, .rank = 1, .dims = {-5}};
  check_poison(call1("f", number(ctx, 1)), SMELT_ERR_SHAPE, "f(f32[]): ");
  result = (smelt_array){.dtype = SMELT_F32, .rank = 2, .dims = {INT64_MAX, INT64_MAX}};
  check_poison(call1("f", number(ctx, 1)), SMELT_ERR_SHAPE, "f(f32[]): ");
  close_context(ctx);
}

/* The name goes with the context, but not what is said about references. */
TEST(references_outlive_the_name) {
  smelt_context *ctx = open_context();
  char name[] = "twice";
  smelt_error err;
  add(ctx, expression(name, 1, "add(x, x)"));
  (void)memset(name, 'z', sizeof name - 1);
  smelt_tensor *x = number(ctx, 1), *y = call1("twice", x);
  CHECK_STATUS(smelt_check(x, &err), SMELT_ERR_STALE);
  CHECK_STR(err.text,
            "smelt_check: t1 (made by from_host) was taken by smelt_call; use smelt_ref to keep it");
  CHECK_STATUS(smelt_context_destroy(ctx, &err), SMELT_ERR_LEAK);
  CHECK_STR(err.text, "1 reference leaked: t2 f32[] made by twice");
  CHECK_STATUS(smelt_check(y, &err), SMELT_ERR_STALE);
  CHECK_STR(err.text, "smelt_check: the context of t2 was destroyed");
  CHECK_STATUS(smelt_check(x, &err), SMELT_ERR_STALE);
  CHECK_STR(err.text,
            "smelt_check: t1 (made by from_host) was taken by smelt_call; use smelt_ref to keep it");
}

/* --- Threads ----------------------------------------------------------------------------------------- */

typedef struct race {
  smelt_context *ctx;
  _Atomic int added;
} race;

static void *register_all(void *user) {
  race *r = user;
  for (int i = 0; i < 50; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "op%c%c", 'a' + i / 26, 'a' + i % 26);
    smelt_op_desc desc = expression(name, 1, "add(x, 1)");
    if (smelt_op_register(r->ctx, &desc, NULL) == SMELT_OK) atomic_fetch_add(&r->added, 1);
    CHECK_F64(value_of(call1(name, number(r->ctx, 1))), 2);
  }
  return NULL;
}

TEST(of_two_threads_one_registers_a_name) {
  race r = {.ctx = open_context()};
  pthread_t thread;
  CHECK_I64(pthread_create(&thread, NULL, register_all, &r), 0);
  (void)register_all(&r);
  CHECK_I64(pthread_join(thread, NULL), 0);
  CHECK_I64(atomic_load(&r.added), 50);
  close_context(r.ctx);
}

TEST_MAIN(CASE(wrong_descriptions), CASE(a_name_is_for_one_operation_of_one_context),
          CASE(devices_without_host_kernels), CASE(expressions_are_like_other_operations),
          CASE(dtypes_of_expressions), CASE(expressions_of_literals_are_numbers),
          CASE(bits_are_those_of_the_f32_before_a_half), CASE(expressions_fuse),
          CASE(expressions_are_rounded_once), CASE(kernels_run_when_a_value_is_needed),
          CASE(operands_that_are_views), CASE(eight_operands_of_any_dtype), CASE(kernels_without_operands),
          CASE(a_kernel_that_fails_poisons_its_result), CASE(a_shape_rule_that_fails_poisons_at_the_call),
          CASE(answers_of_shape_rules_are_checked), CASE(references_outlive_the_name),
          CASE(of_two_threads_one_registers_a_name))
