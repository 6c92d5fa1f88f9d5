/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays as text: every expected text here was printed by NumPy 2.4. */
#define _XOPEN_SOURCE 700
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/array_text.h"
#include "harness.h"

static void check_prints(smelt_dtype dtype, int rank, const int64_t *dims, const void *data,
                         const char *expected) {
  sm_shape shape;
  smelt_error err;
  sm_text text;
  CHECK_OK(sm_shape_make(&shape, dtype, rank, dims, &err), err);
  sm_text_init(&text, &sm_malloc_allocator);
  sm_array_print(&text, dtype, &shape, data);
  CHECK(!text.failed);
  CHECK_STR(text.data, expected);
  sm_text_free(&text);
}

/* A shape: rank and extents. */
#define NONE 0, NULL
#define DIMS(...) \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }
#define VALUES(...) \
  { __VA_ARGS__ }
/* PRINTS(dtype, element type, NONE or DIMS(…), VALUES(…), expected text) */
#define PRINTS(id, ctype, shape, values, expected) check_prints(SMELT_##id, shape, (ctype[])values, expected)

TEST(lone_values) {
  PRINTS(F32, float, NONE, VALUES(0.1f), "0.1");
  PRINTS(F32, float, NONE, VALUES(1.e-05f), "1e-05");
  PRINTS(F32, float, NONE, VALUES(3.0f), "3.0");
  PRINTS(F32, float, NONE, VALUES(-0.0f), "-0.0");
  PRINTS(F32, float, NONE, VALUES(999999.0f), "999999.0");
  PRINTS(F32, float, NONE, VALUES(1.e+06f), "1e+06");
  PRINTS(F32, float, NONE, VALUES(1e-04f), "1e-04");
  PRINTS(F32, float, NONE, VALUES(123.456f), "123.456");
  PRINTS(F32, float, NONE, VALUES(1.0737418e+09f), "1.0737418e+09");
  PRINTS(F32, float, NONE, VALUES(NAN), "nan");
  PRINTS(F32, float, NONE, VALUES(-INFINITY), "-inf");
  PRINTS(F32, float, NONE, VALUES(1.e-45f), "1e-45");
  PRINTS(F32, float, NONE, VALUES(3.4028235e+38f), "3.4028235e+38");
  PRINTS(F64, double, NONE, VALUES(0.1), "0.1");
  PRINTS(F64, double, NONE, VALUES(1e-05), "1e-05");
  PRINTS(F64, double, NONE, VALUES(3.0), "3.0");
  PRINTS(F64, double, NONE, VALUES(0.0), "0.0");
  PRINTS(F64, double, NONE, VALUES(1000000000000000.0), "1000000000000000.0");
  PRINTS(F64, double, NONE, VALUES(1e+16), "1e+16");
  PRINTS(F64, double, NONE, VALUES(0.0001), "0.0001");
  PRINTS(F64, double, NONE, VALUES(0.3333333333333333), "0.3333333333333333");
  PRINTS(F64, double, NONE, VALUES(1e+22), "1e+22");
  PRINTS(F64, double, NONE, VALUES(5e-324), "5e-324");
  PRINTS(F64, double, NONE, VALUES(1.7976931348623157e+308), "1.7976931348623157e+308");
  PRINTS(BOOL, bool, NONE, VALUES(true), "True");
  PRINTS(BOOL, bool, NONE, VALUES(false), "False");
  PRINTS(I8, int8_t, NONE, VALUES(-5), "-5");
  PRINTS(U64, uint64_t, NONE, VALUES(18446744073709551615u), "18446744073709551615");
  PRINTS(I64, int64_t, NONE, VALUES(INT64_MIN), "-9223372036854775808");
}

TEST(bools) {
  PRINTS(BOOL, bool, DIMS(3), VALUES(true, false, true), "[ True False  True]");
  PRINTS(BOOL, bool, DIMS(2), VALUES(true, true), "[ True  True]");
  PRINTS(BOOL, bool, DIMS(2, 2), VALUES(true, false, false, true),
         "[[ True False]\n"
         " [False  True]]");
}

TEST(integers) {
  PRINTS(I32, int32_t, DIMS(3), VALUES(1, -20, 300), "[  1 -20 300]");
  PRINTS(U8, uint8_t, DIMS(3, 1), VALUES(0, 7, 255),
         "[[  0]\n"
         " [  7]\n"
         " [255]]");
  PRINTS(I64, int64_t, DIMS(2), VALUES(INT64_MIN, 0), "[-9223372036854775808                    0]");
  PRINTS(U64, uint64_t, DIMS(2), VALUES(18446744073709551615u, 1),
         "[18446744073709551615                    1]");
  PRINTS(I16, int16_t, DIMS(1), VALUES(5), "[5]");
  PRINTS(I8, int8_t, DIMS(2, 2, 2), VALUES(-4, -3, -2, -1, 0, 1, 2, 3),
         "[[[-4 -3]\n"
         "  [-2 -1]]\n"
         "\n"
         " [[ 0  1]\n"
         "  [ 2  3]]]");
}

TEST(fixed) {
  PRINTS(F32, float, DIMS(3), VALUES(1.0f, 2.0f, 3.0f), "[1. 2. 3.]");
  PRINTS(F32, float, DIMS(3), VALUES(0.1f, 0.25f, -3.0f), "[ 0.1   0.25 -3.  ]");
  PRINTS(F64, double, DIMS(3), VALUES(0.1, 0.3333333333333333, 0.6666666666666666),
         "[0.1        0.33333333 0.66666667]");
  PRINTS(F32, float, DIMS(2), VALUES(0.33333334f, 0.6666667f), "[0.33333334 0.6666667 ]");
  PRINTS(F64, double, DIMS(3), VALUES(1.5, -0.0, 0.0), "[ 1.5 -0.   0. ]");
  PRINTS(F64, double, DIMS(2), VALUES(99999999.0, 123456.0), "[99999999.   123456.]");
  PRINTS(F32, float, DIMS(2), VALUES(999999.0f, 1000.0f), "[999999.   1000.]");
  PRINTS(F64, double, DIMS(2), VALUES(9.999999999, 1.0), "[10.  1.]");
  PRINTS(F64, double, DIMS(2), VALUES(0.0001, 0.00012345678901), "[0.0001     0.00012346]");
  PRINTS(F32, float, DIMS(2), VALUES(1e-04f, 0.01f), "[0.0001 0.01  ]");
  PRINTS(F64, double, DIMS(2), VALUES(0.1, 100.0), "[  0.1 100. ]");
  PRINTS(F64, double, DIMS(2), VALUES(0.0, 0.0), "[0. 0.]");
}

TEST(scientific) {
  PRINTS(F64, double, DIMS(2), VALUES(100000000.0, 1.0), "[1.e+08 1.e+00]");
  PRINTS(F32, float, DIMS(2), VALUES(1.e+06f, 1.0f), "[1.e+06 1.e+00]");
  PRINTS(F64, double, DIMS(2), VALUES(9e-05, 0.01), "[9.e-05 1.e-02]");
  PRINTS(F32, float, DIMS(2), VALUES(1.e-05f, 1.0f), "[1.e-05 1.e+00]");
  PRINTS(F64, double, DIMS(2), VALUES(1.0, 1000.5), "[1.0000e+00 1.0005e+03]");
  PRINTS(F64, double, DIMS(3), VALUES(1e+100, -1.5e-05, 0.0), "[ 1.0e+100 -1.5e-005  0.0e+000]");
  PRINTS(F64, double, DIMS(2), VALUES(3333333333.333333, 2.0), "[3.33333333e+09 2.00000000e+00]");
  PRINTS(F64, double, DIMS(2), VALUES(5e-324, 1.7976931348623157e+308), "[4.94065646e-324 1.79769313e+308]");
  PRINTS(F32, float, DIMS(2), VALUES(0.33896548f, 1.e-05f), "[3.3896548e-01 9.9999997e-06]");
  PRINTS(F32, float, DIMS(2), VALUES(1.e-45f, 1.2345679e+08f), "[1.4012985e-45 1.2345679e+08]");
  PRINTS(F32, float, DIMS(2), VALUES(1.6777216e+07f, 0.0f), "[1.6777216e+07 0.0000000e+00]");
}

TEST(specials) {
  PRINTS(F32, float, DIMS(3), VALUES(NAN, 1.0f, INFINITY), "[nan  1. inf]");
  PRINTS(F64, double, DIMS(2), VALUES(-INFINITY, NAN), "[-inf  nan]");
  PRINTS(F32, float, DIMS(2), VALUES(NAN, NAN), "[nan nan]");
  PRINTS(F64, double, DIMS(2), VALUES(INFINITY, 1.5), "[inf 1.5]");
  PRINTS(F64, double, DIMS(3), VALUES(NAN, 10000000000.0, -1.0), "[    nan  1.e+10 -1.e+00]");
  PRINTS(F32, float, DIMS(2), VALUES(-INFINITY, 100.25f), "[  -inf 100.25]");
  PRINTS(F32, float, DIMS(1), VALUES(INFINITY), "[inf]");
}

TEST(nesting) {
  PRINTS(I32, int32_t, DIMS(2, 2, 2), VALUES(0, 1, 2, 3, 4, 5, 6, 7),
         "[[[0 1]\n"
         "  [2 3]]\n"
         "\n"
         " [[4 5]\n"
         "  [6 7]]]");
  PRINTS(F32, float, DIMS(2, 2), VALUES(1.0f, 2.5f, 3.0f, 4.0f),
         "[[1.  2.5]\n"
         " [3.  4. ]]");
  PRINTS(I8, int8_t, DIMS(2, 1, 2, 2), VALUES(0, 1, 2, 3, 4, 5, 6, 7),
         "[[[[0 1]\n"
         "   [2 3]]]\n"
         "\n"
         "\n"
         " [[[4 5]\n"
         "   [6 7]]]]");
  PRINTS(F64, double, DIMS(1, 1, 1, 1), VALUES(7.0), "[[[[7.]]]]");
}

TEST(empty) {
  check_prints(SMELT_F32, DIMS(0), NULL, "[]");
  check_prints(SMELT_I8, DIMS(0, 3), NULL, "[]");
  check_prints(SMELT_BOOL, DIMS(3, 0, 2), NULL, "[]");
}

/* 0, 1/8, 2/8, … */
enum { EIGHTHS = 1320 };
static float eighths[EIGHTHS];
static int32_t counted[4000];

static void fill(void) {
  for (int i = 0; i < EIGHTHS; i++) eighths[i] = (float)i / 8;
  for (int i = 0; i < 4000; i++) counted[i] = i;
}

TEST(wrapping) {
  fill();
  check_prints(SMELT_I32, DIMS(30), counted,
               "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
               " 24 25 26 27 28 29]");
  check_prints(SMELT_F32, DIMS(20), eighths,
               "[0.    0.125 0.25  0.375 0.5   0.625 0.75  0.875 1.    1.125 1.25  1.375\n"
               " 1.5   1.625 1.75  1.875 2.    2.125 2.25  2.375]");
  check_prints(SMELT_F32, DIMS(2, 14), eighths,
               "[[0.    0.125 0.25  0.375 0.5   0.625 0.75  0.875 1.    1.125 1.25  1.375\n"
               "  1.5   1.625]\n"
               " [1.75  1.875 2.    2.125 2.25  2.375 2.5   2.625 2.75  2.875 3.    3.125\n"
               "  3.25  3.375]]");
  static const int64_t large[] = {1000000000000000000, 1000000000000000001, 1000000000000000002,
                                  1000000000000000003, 1000000000000000004, 1000000000000000005,
                                  1000000000000000006, 1000000000000000007};
  check_prints(SMELT_I64, DIMS(1, 2, 4), large,
               "[[[1000000000000000000 1000000000000000001 1000000000000000002\n"
               "   1000000000000000003]\n"
               "  [1000000000000000004 1000000000000000005 1000000000000000006\n"
               "   1000000000000000007]]]");
}

TEST(summaries) {
  fill();
  check_prints(SMELT_I32, DIMS(1001), counted, "[   0    1    2 ...  998  999 1000]");
  check_prints(SMELT_I32, DIMS(40, 100), counted,
               "[[   0    1    2 ...   97   98   99]\n"
               " [ 100  101  102 ...  197  198  199]\n"
               " [ 200  201  202 ...  297  298  299]\n"
               " ...\n"
               " [3700 3701 3702 ... 3797 3798 3799]\n"
               " [3800 3801 3802 ... 3897 3898 3899]\n"
               " [3900 3901 3902 ... 3997 3998 3999]]");
  check_prints(SMELT_F32, DIMS(4, 55, 6), eighths,
               "[[[0.00000e+00 1.25000e-01 2.50000e-01 3.75000e-01 5.00000e-01\n"
               "   6.25000e-01]\n"
               "  [7.50000e-01 8.75000e-01 1.00000e+00 1.12500e+00 1.25000e+00\n"
               "   1.37500e+00]\n"
               "  [1.50000e+00 1.62500e+00 1.75000e+00 1.87500e+00 2.00000e+00\n"
               "   2.12500e+00]\n"
               "  ...\n"
               "  [3.90000e+01 3.91250e+01 3.92500e+01 3.93750e+01 3.95000e+01\n"
               "   3.96250e+01]\n"
               "  [3.97500e+01 3.98750e+01 4.00000e+01 4.01250e+01 4.02500e+01\n"
               "   4.03750e+01]\n"
               "  [4.05000e+01 4.06250e+01 4.07500e+01 4.08750e+01 4.10000e+01\n"
               "   4.11250e+01]]\n"
               "\n"
               " [[4.12500e+01 4.13750e+01 4.15000e+01 4.16250e+01 4.17500e+01\n"
               "   4.18750e+01]\n"
               "  [4.20000e+01 4.21250e+01 4.22500e+01 4.23750e+01 4.25000e+01\n"
               "   4.26250e+01]\n"
               "  [4.27500e+01 4.28750e+01 4.30000e+01 4.31250e+01 4.32500e+01\n"
               "   4.33750e+01]\n"
               "  ...\n"
               "  [8.02500e+01 8.03750e+01 8.05000e+01 8.06250e+01 8.07500e+01\n"
               "   8.08750e+01]\n"
               "  [8.10000e+01 8.11250e+01 8.12500e+01 8.13750e+01 8.15000e+01\n"
               "   8.16250e+01]\n"
               "  [8.17500e+01 8.18750e+01 8.20000e+01 8.21250e+01 8.22500e+01\n"
               "   8.23750e+01]]\n"
               "\n"
               " [[8.25000e+01 8.26250e+01 8.27500e+01 8.28750e+01 8.30000e+01\n"
               "   8.31250e+01]\n"
               "  [8.32500e+01 8.33750e+01 8.35000e+01 8.36250e+01 8.37500e+01\n"
               "   8.38750e+01]\n"
               "  [8.40000e+01 8.41250e+01 8.42500e+01 8.43750e+01 8.45000e+01\n"
               "   8.46250e+01]\n"
               "  ...\n"
               "  [1.21500e+02 1.21625e+02 1.21750e+02 1.21875e+02 1.22000e+02\n"
               "   1.22125e+02]\n"
               "  [1.22250e+02 1.22375e+02 1.22500e+02 1.22625e+02 1.22750e+02\n"
               "   1.22875e+02]\n"
               "  [1.23000e+02 1.23125e+02 1.23250e+02 1.23375e+02 1.23500e+02\n"
               "   1.23625e+02]]\n"
               "\n"
               " [[1.23750e+02 1.23875e+02 1.24000e+02 1.24125e+02 1.24250e+02\n"
               "   1.24375e+02]\n"
               "  [1.24500e+02 1.24625e+02 1.24750e+02 1.24875e+02 1.25000e+02\n"
               "   1.25125e+02]\n"
               "  [1.25250e+02 1.25375e+02 1.25500e+02 1.25625e+02 1.25750e+02\n"
               "   1.25875e+02]\n"
               "  ...\n"
               "  [1.62750e+02 1.62875e+02 1.63000e+02 1.63125e+02 1.63250e+02\n"
               "   1.63375e+02]\n"
               "  [1.63500e+02 1.63625e+02 1.63750e+02 1.63875e+02 1.64000e+02\n"
               "   1.64125e+02]\n"
               "  [1.64250e+02 1.64375e+02 1.64500e+02 1.64625e+02 1.64750e+02\n"
               "   1.64875e+02]]]");
  check_prints(SMELT_F32, DIMS(1320), eighths,
               "[0.00000e+00 1.25000e-01 2.50000e-01 ... 1.64625e+02 1.64750e+02\n"
               " 1.64875e+02]");
  check_prints(SMELT_I32, DIMS(7, 1, 200), counted,
               "[[[   0    1    2 ...  197  198  199]]\n"
               "\n"
               " [[ 200  201  202 ...  397  398  399]]\n"
               "\n"
               " [[ 400  401  402 ...  597  598  599]]\n"
               "\n"
               " ...\n"
               "\n"
               " [[ 800  801  802 ...  997  998  999]]\n"
               "\n"
               " [[1000 1001 1002 ... 1197 1198 1199]]\n"
               "\n"
               " [[1200 1201 1202 ... 1397 1398 1399]]]");
  static bool flags[1001];
  check_prints(SMELT_BOOL, DIMS(1001), flags, "[False False False ... False False False]");
}

/* Only what is shown decides about the notation. */
TEST(hidden_elements_do_not_count) {
  static double data[1001];
  for (int i = 0; i < 1001; i++) data[i] = i;
  data[500] = 1e300;
  check_prints(SMELT_F64, DIMS(1001), data, "[   0.    1.    2. ...  998.  999. 1000.]");
}

/* Nothing above 1000 elements is cut if no axis is longer than 6. */
TEST(short_axes_are_shown_whole) {
  static uint8_t data[1024];
  sm_shape shape = {.rank = 10, .dims = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2}};
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_array_print(&text, SMELT_U8, &shape, data);
  CHECK(strstr(text.data, "...") == NULL);
  CHECK_I64(strspn(text.data, "["), 10);
  int zeros = 0;
  for (size_t i = 0; i < text.len; i++) zeros += text.data[i] == '0';
  CHECK_I64(zeros, 1024);
  sm_text_free(&text);
}

/* --- Memory and locale ------------------------------------------------------- */

static void *fail_after(void *left, void *ptr, size_t old, size_t size) {
  (void)old;
  if (size == 0) {
    free(ptr);
    return NULL;
  }
  return (*(int *)left)-- > 0 ? realloc(ptr, size) : NULL;
}

TEST(exhausted_memory_is_remembered) {
  static const double data[] = {1.5, 2, 1.0 / 3, NAN, 4, 5, 6, 7};
  sm_shape shape = {.rank = 2, .dims = {2, 4}};
  for (int allowed = 0; allowed <= 3; allowed++) {
    int left = allowed;
    sm_allocator allocator = {fail_after, &left};
    sm_text text;
    sm_text_init(&text, &allocator);
    sm_array_print(&text, SMELT_F64, &shape, data);
    CHECK(text.failed == (allowed < 3));
    sm_text_free(&text);
  }
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

TEST(locale_has_no_say) {
  if (!enter_german()) TEST_SKIP("no locale with a decimal comma, and localedef cannot make one");
  char buf[16];
  (void)snprintf(buf, sizeof buf, "%.1f", 1.5);
  CHECK_STR(buf, "1,5");
  PRINTS(F64, double, DIMS(3), VALUES(0.1, 1.0 / 3, 1234.5),
         "[1.00000000e-01 3.33333333e-01 1.23450000e+03]");
  PRINTS(F32, float, DIMS(2), VALUES(0.5f, 33.25f), "[ 0.5  33.25]");
  PRINTS(F32, float, NONE, VALUES(2.5f), "2.5");
  (void)setlocale(LC_ALL, "C");
}

TEST_MAIN(CASE(lone_values), CASE(bools), CASE(integers), CASE(fixed), CASE(scientific), CASE(specials),
          CASE(nesting), CASE(empty), CASE(wrapping), CASE(summaries), CASE(hidden_elements_do_not_count),
          CASE(short_axes_are_shown_whole), CASE(exhausted_memory_is_remembered), CASE(locale_has_no_say))
