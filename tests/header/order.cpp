// SPDX-License-Identifier: Apache-2.0
//
// The C++ twin of tests/unit/test_argument_order.c: the promises of macros.h
// hold in C++17 too. Needs no harness; run-order-test.sh builds and runs it.
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "smelt/smelt.h"

namespace {

int passed, failed;

void check(bool ok, const char *what, int line) {
  if (ok) {
    passed++;
    return;
  }
  failed++;
  std::printf("order.cpp:%d: %s\n", line, what);
}
#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

smelt_context *ctx;

smelt_tensor *number(double value) { return smelt_from_host(ctx, SMELT_F64, 0, nullptr, &value); }
smelt_tensor *truth(bool value) { return smelt_from_host(ctx, SMELT_BOOL, 0, nullptr, &value); }

// The value of a tensor, as its last use; NaN if it is poisoned.
double value_of(smelt_tensor *t) {
  double value = 0;
  if (smelt_item_f64(t, &value, nullptr) != SMELT_OK) value = std::nan("");
  smelt_drop(t);
  return value;
}

bool truth_of(smelt_tensor *t) {
  bool value = false;
  CHECK(smelt_item_bool(t, &value, nullptr) == SMELT_OK);
  smelt_drop(t);
  return value;
}

bool poisoned(smelt_tensor *t) {
  bool is = smelt_check(t, nullptr) != SMELT_OK;
  smelt_drop(t);
  return is;
}

// Which operands were evaluated, as digits in order.
int trail;

smelt_tensor *step(int digit, smelt_tensor *t) {
  trail = 10 * trail + digit;
  return t;
}

int count(int digit) {
  trail = 10 * trail + digit;
  return digit;
}

bool took(int expected) {
  bool is = trail == expected;
  trail = 0;
  return is;
}

void nested_uses_of_one_tensor() {
  smelt_tensor *a = number(1);
  CHECK(value_of(smelt_add(smelt_exp(smelt_ref(a)), smelt_log(a))) == std::exp(1.0));
  smelt_tensor *x = number(0);
  CHECK(value_of(smelt_subtract(smelt_ref(x), smelt_exp(x))) == -1);
  smelt_tensor *b = number(3);
  CHECK(value_of(smelt_clip(smelt_square(smelt_ref(b)), smelt_negative(smelt_ref(b)), b)) == 3);
}

void operands_once_in_order() {
  CHECK(value_of(smelt_subtract(step(1, number(7)), step(2, number(4)))) == 3 && took(12));
  CHECK(value_of(smelt_subtract(count(1), step(2, number(4)))) == -3 && took(12));
  CHECK(value_of(smelt_mul(smelt_add(step(1, number(2)), count(2)),
                           smelt_sub(step(3, number(5)), count(4)))) == 4 &&
        took(1234));
  CHECK(value_of(smelt_where(step(1, truth(false)), step(2, number(20)), step(3, number(30)))) == 30 &&
        took(123));
  CHECK(value_of(smelt_clip(step(1, number(9)), count(2), count(3))) == 3 && took(123));
}

void attributes_after_operands() {
  const int64_t dims[] = {2, 3};
  smelt_tensor *d = smelt_full(ctx, 0.5, SMELT_F32, 2, dims);
  CHECK(smelt_rank(d) == 2 && smelt_count(d) == 6);
  smelt_drop(d);
  CHECK(value_of(smelt_full(ctx, 7, SMELT_F64, 0, NULL)) == 7);
  d = smelt_arange(ctx, count(1), count(8), count(3), SMELT_I64);
  CHECK(smelt_count(d) == 3 && took(183));
  smelt_drop(d);
  smelt_tensor *list = smelt_arange(ctx, 0, 5, 1, SMELT_F64);
  d = smelt_take(step(1, smelt_ref(list)), step(2, smelt_astype(list, SMELT_I32)), count(3) - 3);
  CHECK(smelt_count(d) == 5 && took(123));
  smelt_drop(d);
}

template <class Scalar>
void scalar(Scalar three) {
  CHECK(value_of(smelt_sub(number(10), three)) == 7);
  CHECK(value_of(smelt_sub(three, number(10))) == -7);
}

void scalars_of_every_type() {
  enum colour { RED = 3 };
  scalar<char>(3);
  scalar<signed char>(3);
  scalar<unsigned char>(3);
  scalar<short>(3);
  scalar<unsigned short>(3);
  scalar<int>(3);
  scalar<unsigned>(3);
  scalar<long>(3);
  scalar<unsigned long>(3);
  scalar<long long>(3);
  scalar<unsigned long long>(3);
  scalar<std::size_t>(3);
  scalar<float>(3);
  scalar<double>(3);
  scalar<long double>(3);
  scalar<const volatile double>(3);
  scalar<colour>(RED);
  CHECK(!truth_of(smelt_logical_xor(truth(true), true)));
  CHECK(truth_of(smelt_logical_xor(true, truth(false))));
  CHECK(truth_of(smelt_equal(smelt_full(ctx, UINT64_MAX, SMELT_U64, 0, nullptr), UINT64_MAX)));
  CHECK(truth_of(smelt_equal(smelt_full(ctx, INT64_MIN, SMELT_I64, 0, nullptr), INT64_MIN)));
}

void twelve_levels() {
  // clang-format off
  CHECK(value_of(smelt_add(smelt_add(smelt_add(smelt_add(smelt_add(smelt_add(smelt_add(smelt_add(smelt_add(
            smelt_add(smelt_add(smelt_add(number(0), 1), 2), 3), 4), 5), 6), 7), 8), 9), 10), 11), 12)) == 78);
  CHECK(value_of(smelt_sub(1, smelt_sub(2, smelt_sub(3, smelt_sub(4, smelt_sub(5, smelt_sub(6, smelt_sub(7,
            smelt_sub(8, smelt_sub(9, smelt_sub(10, smelt_sub(11, smelt_sub(12, number(0)))))))))))))) == -6);
  // clang-format on
}

void pointers() {
  smelt_tensor *none = nullptr;
  CHECK(poisoned(smelt_add(number(1), nullptr)));
  CHECK(poisoned(smelt_add(none, number(1))));
  void *any = number(2);
  CHECK(value_of(smelt_mul(any, 4)) == 8);
}

void functions_stay_functions() {
  smelt_tensor *(*combine)(smelt_tensor *, smelt_tensor *) = smelt_maximum;
  CHECK(value_of(combine(number(1), number(2))) == 2);
  CHECK(value_of((smelt_subtract)(number(1), smelt_scalar_i64(5))) == -4);
  CHECK(value_of(::smelt_subtract(number(1), 5)) == -4);
}

}  // namespace

int main() {
  ctx = smelt_context_create(nullptr, nullptr);
  CHECK(ctx != nullptr);
  nested_uses_of_one_tensor();
  operands_once_in_order();
  attributes_after_operands();
  scalars_of_every_type();
  twelve_levels();
  pointers();
  functions_stay_functions();
  CHECK(smelt_context_destroy(ctx, nullptr) == SMELT_OK);
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
