/* SPDX-License-Identifier: Apache-2.0
 *
 * Data in and out of tensors: copies and borrowed memory, every check of dtype
 * and size, single elements, text; empty tensors and all ranks. */
#define _XOPEN_SOURCE 700
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api_fixture.h"

static const char *const devices[] = {NULL, "ref"};
enum { N_DEVICES = 2 };

/* --- In -------------------------------------------------------------------------------- */

TEST(copies_are_copies) {
  smelt_context *ctx = open_context();
  int32_t in[] = {1, -2, 3}, out[3] = {0};
  smelt_tensor *t = smelt_from_host(ctx, SMELT_I32, DIMS(3), in);
  in[0] = 99;
  smelt_error err;
  CHECK_OK(smelt_read(t, SMELT_I32, out, sizeof out, &err), err);
  CHECK_I64(out[0], 1);
  CHECK_I64(out[2], 3);
  CHECK_I64(counters_of(ctx).live_bytes, 12);
  smelt_drop(t);
  CHECK_I64(counters_of(ctx).live_bytes, 0);
  close_context(ctx);
}

TEST(every_dtype_comes_back) {
  smelt_context *ctx = open_context();
  unsigned char in[64], out[64];
  for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i * 37 + 1);
  for (int d = 2; d < 16; d++) {
    smelt_dtype dtype = (smelt_dtype)d;
    if (!smelt_dtype_size(dtype)) continue;
    int64_t n = 64 / (int64_t)smelt_dtype_size(dtype);
    smelt_tensor *t = smelt_from_host(ctx, dtype, 1, &n, in);
    CHECK_I64(smelt_dtype_of(t), dtype);
    CHECK_STATUS(smelt_into_host(t, dtype, out, sizeof out, NULL), SMELT_OK);
    CHECK(memcmp(in, out, sizeof in) == 0);
  }
  close_context(ctx);
}

TEST(bools_become_zero_and_one) {
  smelt_context *ctx = open_context();
  static unsigned char in[10000], out[10000];
  for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i % 7 * 40);
  smelt_tensor *t = smelt_from_host(ctx, SMELT_BOOL, DIMS(10000), in);
  CHECK_STATUS(smelt_into_host(t, SMELT_BOOL, out, sizeof out, NULL), SMELT_OK);
  for (size_t i = 0; i < sizeof in; i++) CHECK_I64(out[i], in[i] != 0);
  close_context(ctx);
}

/* Elements in the middle of a packed record. */
TEST(copies_need_no_alignment) {
  smelt_context *ctx = open_context();
  char packed[1 + 2 * sizeof(double)];
  double in[] = {1.5, -2.5}, out[2];
  memcpy(packed + 1, in, sizeof in);
  smelt_tensor *t = smelt_from_host(ctx, SMELT_F64, DIMS(2), packed + 1);
  CHECK_STATUS(smelt_into_host(t, SMELT_F64, out, sizeof out, NULL), SMELT_OK);
  CHECK_F64(out[1], -2.5);
  close_context(ctx);
}

TEST(sources_that_are_wrong) {
  smelt_context *ctx = open_context();
  float f[4] = {0};
  check_poison(smelt_from_host(NULL, SMELT_F32, 0, NULL, f), SMELT_ERR_ARGUMENT, "the context is NULL");
  check_poison(smelt_from_host(ctx, SMELT_F32, DIMS(2), NULL), SMELT_ERR_ARGUMENT, "data is NULL");
  check_poison(smelt_from_host(ctx, SMELT_F32, 2, NULL, f), SMELT_ERR_ARGUMENT, "dims is NULL");
  check_poison(smelt_from_host(ctx, SMELT_F32, 17, (int64_t[17]){1}, f), SMELT_ERR_SHAPE, "rank 17");
  check_poison(smelt_from_host(ctx, SMELT_F32, -1, NULL, f), SMELT_ERR_SHAPE, "rank -1");
  check_poison(smelt_from_host(ctx, SMELT_F32, DIMS(-4), f), SMELT_ERR_SHAPE, "extent -4 of axis 0");
  check_poison(smelt_from_host(ctx, SMELT_F32, DIMS(INT64_MAX), f), SMELT_ERR_SHAPE, "too large");
  check_poison(smelt_from_host(ctx, SMELT_DTYPE_NONE, 0, NULL, f), SMELT_ERR_DTYPE, "0 is not a dtype");
  check_poison(smelt_from_host(ctx, (smelt_dtype)14, 0, NULL, f), SMELT_ERR_DTYPE, "14 is not a dtype");
  close_context(ctx);
}

/* More than any machine has, within the limit of a shape: a live result of
 * that size ends its segment at once. */
TEST(memory_that_is_not_there) {
  smelt_context *ctx = open_context();
  int64_t huge = (int64_t)1 << 55;
  check_poison(smelt_zeros(ctx, SMELT_U8, 1, &huge), SMELT_ERR_MEMORY, "36028797018963968 bytes");
  CHECK_I64(counters_of(ctx).segments, 1);
  CHECK_F64(value_of(smelt_add(number(ctx, 1), 1)), 2);
  close_context(ctx);
}

/* --- Borrowed memory --------------------------------------------------------------------------- */

static void count_free(void *user) { ++*(int *)user; }

static smelt_tensor *wrapped(smelt_context *ctx, const float *data, int64_t n, int *freed) {
  return smelt_wrap(ctx, SMELT_F32, 1, &n, data, count_free, freed);
}

TEST(wrapped_memory_is_given_back_once) {
  static const float data[4] = {1, 2, 3, 4};
  int freed = 0;
  smelt_context *ctx = open_context();
  smelt_tensor *t = wrapped(ctx, data, 4, &freed);
  uint64_t copied = counters_of(ctx).live_bytes; /* by devices with memory of their own */
  CHECK(copied == 0 || copied == sizeof data);
  smelt_tensor *r = smelt_ref(t);
  smelt_drop(t);
  CHECK_I64(freed, 0);
  smelt_drop(r);
  CHECK_I64(freed, 1);
  /* Taken by an operation: needed until that has run. */
  t = smelt_mul(wrapped(ctx, data, 4, &freed), 2);
  CHECK_I64(freed, 1);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){t}, 1, NULL), SMELT_OK);
  CHECK_I64(freed, 2);
  smelt_drop(t);
  /* Taken by an operation that never runs. */
  smelt_drop(smelt_mul(wrapped(ctx, data, 4, &freed), 2));
  CHECK_STATUS(smelt_sync(ctx, NULL), SMELT_OK);
  CHECK_I64(freed, 3);
  float out[4];
  CHECK_STATUS(smelt_into_host(wrapped(ctx, data, 4, &freed), SMELT_F32, out, sizeof out, NULL), SMELT_OK);
  CHECK_F64(out[3], 4);
  CHECK_I64(freed, 4);
  close_context(ctx);
  CHECK_I64(freed, 4);
}

TEST(wrapped_memory_is_given_back_when_things_fail) {
  static const float data[8] = {0};
  int freed = 0;
  int64_t n = 4, negative = -1;
  smelt_context *ctx = open_context();
  check_poison(wrapped(NULL, data, n, &freed), SMELT_ERR_ARGUMENT, "the context is NULL");
  check_poison(wrapped(ctx, data, negative, &freed), SMELT_ERR_SHAPE, "negative");
  check_poison(wrapped(ctx, NULL, n, &freed), SMELT_ERR_ARGUMENT, "data is NULL");
  const char *odd = (const char *)data + 1;
  check_poison(smelt_wrap(ctx, SMELT_F32, 1, &n, odd, count_free, &freed), SMELT_ERR_ARGUMENT,
               "data is not aligned for f32");
  check_poison(smelt_wrap(ctx, (smelt_dtype)99, 1, &n, data, count_free, &freed), SMELT_ERR_DTYPE, "99");
  CHECK_I64(freed, 5);
  check_poison(smelt_add(wrapped(ctx, data, 3, &freed), wrapped(ctx, data, 4, &freed)), SMELT_ERR_SHAPE,
               "broadcast");
  CHECK_I64(freed, 7);
  check_poison(smelt_add(wrapped(ctx, data, 3, &freed), (smelt_tensor *)NULL), SMELT_ERR_STALE, "NULL");
  CHECK_I64(freed, 8);
  smelt_tensor *empty = wrapped(ctx, NULL, 0, &freed);
  CHECK_STATUS(smelt_check(empty, NULL), SMELT_OK);
  smelt_drop(empty);
  CHECK_I64(freed, 9);
  CHECK(wrapped(ctx, data, 4, &freed) != NULL);
  CHECK_STATUS(smelt_context_destroy(ctx, NULL), SMELT_ERR_LEAK);
  CHECK_I64(freed, 10);
}

TEST(wrapped_memory_may_need_no_free_function) {
  static const int8_t data[] = {1, 2};
  smelt_context *ctx = open_context();
  smelt_drop(smelt_wrap(ctx, SMELT_I8, DIMS(2), data, NULL, NULL));
  check_poison(smelt_wrap(ctx, SMELT_I8, DIMS(-2), data, NULL, NULL), SMELT_ERR_SHAPE, "negative");
  close_context(ctx);
}

/* Borrowed memory is never written, also where it is the last use of an input. */
TEST(wrapped_memory_is_not_written) {
  static const float data[4] = {1, 2, 3, 4};
  for (int d = 0; d < N_DEVICES; d++) {
    smelt_context *ctx = open_device(devices[d]);
    smelt_tensor *t = smelt_wrap(ctx, SMELT_F32, DIMS(4), data, NULL, NULL);
    t = smelt_exp(smelt_negative(t));
    float out[4];
    CHECK_STATUS(smelt_into_host(t, SMELT_F32, out, sizeof out, NULL), SMELT_OK);
    CHECK_F64(data[0] + data[3], 5);
    close_context(ctx);
  }
}

/* --- Out -------------------------------------------------------------------------------------- */

TEST(dtype_and_size_have_to_match) {
  smelt_context *ctx = open_context();
  float in[] = {1, 2}, out[3] = {7, 7, 7};
  smelt_error err;
  smelt_tensor *t = smelt_exp(smelt_from_host(ctx, SMELT_F32, DIMS(2), in));
  CHECK_STATUS(smelt_read(t, SMELT_I32, out, 8, &err), SMELT_ERR_DTYPE);
  CHECK_STR(err.text, "smelt_read: the tensor is f32, not i32");
  CHECK_STATUS(smelt_read(t, SMELT_F32, out, 7, &err), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_read(t, SMELT_F32, out, 12, &err), SMELT_ERR_ARGUMENT);
  CHECK_STR(err.text, "smelt_read: the tensor has 8 bytes, the buffer 12");
  CHECK_STATUS(smelt_read(t, SMELT_F32, NULL, 8, &err), SMELT_ERR_ARGUMENT);
  CHECK_F64(out[0], 7);
  CHECK_I64(counters_of(ctx).launches, 0); /* a wrong call computes nothing */
  CHECK_STATUS(smelt_into_host(smelt_ref(t), SMELT_F64, out, 8, &err), SMELT_ERR_DTYPE);
  CHECK_STR(err.text, "smelt_into_host: the tensor is f32, not f64");
  CHECK_OK(smelt_into_host(t, SMELT_F32, out, 8, &err), err);
  CHECK_F64(out[2], 7);
  close_context(ctx);
}

TEST(reads_of_weak_scalars) {
  double d = 0;
  int64_t i = 0;
  uint64_t u = 0;
  smelt_tensor *s = smelt_scalar_f64(2.5);
  CHECK_STATUS(smelt_read(s, SMELT_F64, &d, sizeof d, NULL), SMELT_OK);
  CHECK_F64(d, 2.5);
  CHECK_STATUS(smelt_read(s, SMELT_F32, &d, 4, NULL), SMELT_ERR_DTYPE);
  smelt_drop(s);
  CHECK_STATUS(smelt_into_host(smelt_scalar_i64(-3), SMELT_I64, &i, sizeof i, NULL), SMELT_OK);
  CHECK_I64(i, -3);
  CHECK_STATUS(smelt_into_host(smelt_scalar_u64(UINT64_MAX), SMELT_U64, &u, sizeof u, NULL), SMELT_OK);
  CHECK(u == UINT64_MAX);
}

static smelt_tensor *one(smelt_context *ctx, smelt_dtype dtype, const void *data) {
  return smelt_from_host(ctx, dtype, DIMS(1, 1), data);
}

TEST(items) {
  smelt_context *ctx = open_context();
  double f;
  int64_t i;
  bool b;
  smelt_error err;
  smelt_tensor *t = one(ctx, SMELT_U64, &(uint64_t){UINT64_MAX});
  CHECK_OK(smelt_item_f64(t, &f, &err), err);
  CHECK_F64(f, 0x1p64);
  CHECK_STATUS(smelt_item_i64(t, &i, &err), SMELT_ERR_DTYPE);
  CHECK_OK(smelt_item_bool(t, &b, &err), err);
  CHECK(b);
  smelt_drop(t);
  t = one(ctx, SMELT_U64, &(uint64_t){INT64_MAX});
  CHECK_OK(smelt_item_i64(t, &i, &err), err);
  CHECK_I64(i, INT64_MAX);
  smelt_drop(t);
  t = one(ctx, SMELT_I8, &(int8_t){-128});
  CHECK_OK(smelt_item_i64(t, &i, &err), err);
  CHECK_I64(i, -128);
  smelt_drop(t);
  t = one(ctx, SMELT_F32, &(float){NAN});
  CHECK_STATUS(smelt_item_i64(t, &i, &err), SMELT_ERR_DTYPE);
  CHECK_OK(smelt_item_bool(t, &b, &err), err);
  CHECK(b);
  smelt_drop(t);
  t = one(ctx, SMELT_BOOL, &(bool){true});
  CHECK_STATUS(smelt_item_f64(t, &f, &err), SMELT_ERR_DTYPE);
  CHECK_STATUS(smelt_item_i64(t, &i, &err), SMELT_ERR_DTYPE);
  CHECK_OK(smelt_item_bool(t, &b, &err), err);
  smelt_drop(t);
  close_context(ctx);
}

TEST(items_of_more_or_less_than_one) {
  smelt_context *ctx = open_context();
  double f = 7;
  smelt_error err;
  smelt_tensor *two = smelt_zeros(ctx, SMELT_F32, DIMS(2)), *none = smelt_zeros(ctx, SMELT_F32, DIMS(0));
  CHECK_STATUS(smelt_item_f64(two, &f, &err), SMELT_ERR_SHAPE);
  CHECK_STR(err.text, "smelt_item_f64: f32[2] does not have one element");
  CHECK_STATUS(smelt_item_f64(none, &f, &err), SMELT_ERR_SHAPE);
  CHECK_F64(f, 7);
  smelt_drop(two);
  smelt_drop(none);
  close_context(ctx);
}

TEST(eval_of_many) {
  smelt_context *ctx = open_context();
  smelt_error err = {0};
  smelt_tensor *a = smelt_add(number(ctx, 1), 1), *b = smelt_exp(smelt_ref(a));
  smelt_tensor *first = smelt_exp(NULL), *second = smelt_log(NULL), *s = smelt_scalar_f64(1);
  const smelt_tensor *list[] = {a, s, first, b, second};
  CHECK_STATUS(smelt_eval(list, 2, &err), SMELT_OK);
  CHECK_I64(counters_of(ctx).segments, 1);
  CHECK_STATUS(smelt_eval(list, 5, &err), SMELT_ERR_STALE);
  CHECK_STR(err.text, "smelt_exp: NULL is not a tensor");
  CHECK_I64(counters_of(ctx).segments, 1);
  for (int i = 0; i < 5; i++) smelt_drop((smelt_tensor *)(uintptr_t)list[i]);
  close_context(ctx);
}

/* --- Shapes ------------------------------------------------------------------------------------ */

static void check_shape(smelt_tensor *t, int rank, const int64_t *dims) {
  int64_t actual[SMELT_MAX_RANK];
  CHECK_I64(smelt_rank(t), rank);
  CHECK_I64(smelt_dims(t, actual), rank);
  for (int i = 0; i < rank; i++) CHECK_I64(actual[i], dims[i]);
}

TEST(empty_tensors) {
  for (int d = 0; d < N_DEVICES; d++) {
    smelt_context *ctx = open_device(devices[d]);
    smelt_tensor *t = smelt_from_host(ctx, SMELT_F32, DIMS(2, 0, 3), NULL);
    t = smelt_exp(smelt_add(t, smelt_ones(ctx, SMELT_F32, DIMS(3))));
    check_shape(t, DIMS(2, 0, 3));
    CHECK_I64(smelt_count(t), 0);
    char text[64];
    CHECK_STATUS(smelt_read(t, SMELT_F32, NULL, 0, NULL), SMELT_OK);
    CHECK_STATUS(smelt_read(t, SMELT_F32, text, 4, NULL), SMELT_ERR_ARGUMENT);
    CHECK_STATUS(smelt_format(t, text, sizeof text, NULL, NULL), SMELT_OK);
    CHECK_CONTAINS(text, "[]");
    CHECK_STATUS(smelt_into_host(t, SMELT_F32, NULL, 0, NULL), SMELT_OK);
    CHECK_I64(counters_of(ctx).bytes_written, d == 1 ? 12 : 0); /* the ones */
    close_context(ctx);
  }
}

TEST(a_launch_of_nothing_is_none) {
  smelt_context *ctx = open_context();
  smelt_tensor *t = smelt_exp(smelt_zeros(ctx, SMELT_F32, DIMS(0)));
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){t}, 1, NULL), SMELT_OK);
  CHECK_I64(counters_of(ctx).launches, 0);
  smelt_drop(t);
  close_context(ctx);
}

/* Ranks 0 to 16, every other axis broadcast. */
TEST(all_ranks) {
  for (int d = 0; d < N_DEVICES; d++) {
    smelt_context *ctx = open_device(devices[d]);
    for (int rank = 0; rank <= SMELT_MAX_RANK; rank++) {
      int64_t full[SMELT_MAX_RANK], part[SMELT_MAX_RANK];
      float out[256], ones[256];
      for (int i = 0; i < 256; i++) ones[i] = 1;
      for (int i = 0; i < rank; i++) {
        full[i] = i < 8 ? 2 : 1;
        part[i] = i % 2 ? 1 : full[i];
      }
      smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, rank, full, ones);
      x = smelt_add(smelt_mul(x, 2), smelt_from_host(ctx, SMELT_F32, rank, part, ones));
      check_shape(x, rank, full);
      size_t bytes = (size_t)smelt_count(x) * 4;
      CHECK_STATUS(smelt_into_host(x, SMELT_F32, out, bytes, NULL), SMELT_OK);
      for (size_t i = 0; i < bytes / 4; i++) CHECK_F64(out[i], 3);
    }
    close_context(ctx);
  }
}

/* --- Text ---------------------------------------------------------------------------------------- */

TEST(format_cuts_at_the_size) {
  smelt_context *ctx = open_context();
  float in[] = {1, 2.5};
  size_t needed = 0;
  smelt_tensor *t = smelt_from_host(ctx, SMELT_F32, DIMS(2), in);
  for (size_t size = 0; size < 16; size++) {
    char text[17];
    memset(text, 'x', sizeof text);
    CHECK_STATUS(smelt_format(t, size ? text : NULL, size, &needed, NULL), SMELT_OK);
    CHECK_I64(needed, 9);
    if (size) CHECK(strncmp(text, "[1.  2.5]", size - 1) == 0 && strlen(text) == (size < 10 ? size - 1 : 9));
    CHECK(text[size] == 'x');
  }
  smelt_drop(t);
  t = smelt_scalar_f64(0.1);
  char text[8];
  CHECK_STATUS(smelt_format(t, text, sizeof text, NULL, NULL), SMELT_OK);
  CHECK_STR(text, "0.1");
  smelt_drop(t);
  close_context(ctx);
}

/* A locale with a comma for the point: an installed one, or one made here. */
static bool enter_german(void) {
  if (setlocale(LC_ALL, "de_DE.UTF-8")) return true;
  char folder[] = "/tmp/smelt-locale-XXXXXX", command[200];
  if (!mkdtemp(folder)) return false;
  (void)snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/log 2>&1", folder,
                 folder);
  bool made = system(command) == 0 && setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_ALL, "de_DE.UTF-8");
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_I64(system(command), 0);
  return made;
}

static void add_line(void *user, const char *line) {
  char *all = user;
  if (strlen(all) + strlen(line) + 2 < 4096) strcat(strcat(all, line), "\n");
}

TEST(results_need_a_place) {
  smelt_context *ctx = open_context();
  smelt_tensor *t = number(ctx, 3);
  smelt_error err;
  CHECK_STATUS(smelt_item_f64(t, NULL, &err), SMELT_ERR_ARGUMENT);
  CHECK_STR(err.text, "smelt_item_f64: out is NULL");
  CHECK_STATUS(smelt_item_i64(t, NULL, NULL), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_item_bool(t, NULL, NULL), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_format(t, NULL, 1, NULL, NULL), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_eval(NULL, 1, NULL), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_eval(NULL, 0, NULL), SMELT_OK);
  smelt_tensor *two = smelt_ones(ctx, SMELT_F32, DIMS(2, 3));
  CHECK_I64(smelt_dims(two, NULL), 2);
  smelt_drop(two);
  smelt_drop(t);
  close_context(ctx);
}

/* What scalars, extents, items and texts are with the environment the host has just set. */
static void check_host_environment(smelt_context *ctx) {
  float f;
  double d;
  bool b;
  char text[64];
  smelt_tensor *tiny = number(ctx, 1e-40f), *range = smelt_arange(ctx, 0, 0.3, 0.1, SMELT_F32), *tenth;
  int64_t count = smelt_count(range);
  smelt_drop(range);
  CHECK_STATUS(smelt_into_host(smelt_add(number(ctx, 0), 0.7), SMELT_F32, &f, sizeof f, NULL), SMELT_OK);
  CHECK(memcmp(&f, &(float){0.7f}, sizeof f) == 0);
  CHECK_STATUS(smelt_into_host(smelt_add(number(ctx, 0), 1e-40), SMELT_F32, &f, sizeof f, NULL), SMELT_OK);
  CHECK(memcmp(&f, &(float){1e-40f}, sizeof f) == 0);
  CHECK_STATUS(smelt_item_f64(tiny, &d, NULL), SMELT_OK);
  CHECK(memcmp(&d, &(double){1e-40f}, sizeof d) == 0);
  tenth = number(ctx, 0.1f);
  CHECK_STATUS(smelt_item_bool(tiny, &b, NULL), SMELT_OK);
  CHECK(b);
  CHECK_STATUS(smelt_format(tenth, text, sizeof text, NULL, NULL), SMELT_OK);
  CHECK_STR(text, "0.1");
  CHECK_I64(count, 3);
  CHECK_STATUS(smelt_into_host((smelt_add)(smelt_scalar_f64(0.1), smelt_scalar_f64(0.2)), SMELT_F64, &d,
                               sizeof d, NULL),
               SMELT_OK);
  CHECK(memcmp(&d, &(double){0.30000000000000004}, sizeof d) == 0);
  smelt_drop(tenth);
  smelt_drop(tiny);
}

TEST(the_float_environment_of_the_host_changes_nothing) {
  static const int roundings[] = {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
  for (int d = 0; d < N_DEVICES; d++) {
    smelt_context *ctx = open_device(devices[d]);
    for (int i = 0; i < 3; i++) {
      CHECK_I64(fesetround(roundings[i]), 0);
      check_host_environment(ctx);
      CHECK_I64(fegetround(), roundings[i]);
    }
    CHECK_I64(fesetround(FE_TONEAREST), 0);
#if defined(__x86_64__)
    const unsigned host = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(host | 0x8040); /* denormal numbers are flushed, as operands and as results */
    check_host_environment(ctx);
    CHECK((__builtin_ia32_stmxcsr() & 0x8040) == 0x8040);
    __builtin_ia32_ldmxcsr(0); /* and everything traps */
    check_host_environment(ctx);
    __builtin_ia32_ldmxcsr(host);
#endif
    close_context(ctx);
  }
}

TEST(a_german_locale_changes_nothing) {
  if (!enter_german()) TEST_SKIP("no locale with a decimal comma, and localedef cannot make one");
  static char log[4096];
  char text[64];
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.log = "trace,compile";
  desc.log_fn = add_line;
  desc.log_user = log;
  smelt_context *ctx = open_context_with(&desc);
  /* 6.28... of randn is a literal of its expression. */
  smelt_tensor *r = smelt_randn(ctx, SMELT_F64, DIMS(3)), *t = smelt_mul(number(ctx, 0.5f), 2.5);
  CHECK_STATUS(smelt_format(t, text, sizeof text, NULL, NULL), SMELT_OK);
  CHECK_STR(text, "1.25");
  CHECK_STATUS(smelt_check(r, NULL), SMELT_OK);
  CHECK_CONTAINS(log, "literal 6.283185307179586");
  CHECK(strstr(log, "6,28") == NULL);
  smelt_drop(r);
  smelt_drop(t);
  close_context(ctx);
}

TEST_MAIN(CASE(copies_are_copies), CASE(every_dtype_comes_back), CASE(bools_become_zero_and_one),
          CASE(copies_need_no_alignment), CASE(sources_that_are_wrong), CASE(memory_that_is_not_there),
          CASE(wrapped_memory_is_given_back_once), CASE(wrapped_memory_is_given_back_when_things_fail),
          CASE(wrapped_memory_may_need_no_free_function), CASE(wrapped_memory_is_not_written),
          CASE(dtype_and_size_have_to_match), CASE(reads_of_weak_scalars), CASE(items),
          CASE(items_of_more_or_less_than_one), CASE(eval_of_many), CASE(empty_tensors),
          CASE(a_launch_of_nothing_is_none), CASE(all_ranks), CASE(format_cuts_at_the_size),
          CASE(results_need_a_place), CASE(the_float_environment_of_the_host_changes_nothing),
          CASE(a_german_locale_changes_nothing))
