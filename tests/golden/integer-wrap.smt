smt 1
# Integers wrap, on every width.
a = input i32[3] {2147483647, -2147483648, 5}
b = input i32[3] {1, -1, 7}
s = add(&a, &b)
expect s i32[3] {-2147483648, 2147483647, 12}
d = subtract(&a, &b)
expect d {2147483646, -2147483647, -2}
p = multiply(&a, &a)
expect p {1, 0, 25}
n = negative(&a)
expect n {-2147483647, -2147483648, -5}
m = abs(a)
expect m {2147483647, -2147483648, 5}
q = square(b)
expect q {1, 1, 49}
i8 = input i8[3] {127, -128, 100}
i8s = add(&i8, i8)
expect i8s i8[3] {-2, 0, -56}
u8 = input u8[3] {255, 0, 200}
u8s = add(&u8, 1)
expect u8s u8[3] {0, 1, 201}
u8n = negative(&u8)
expect u8n {1, 0, 56}
u8d = subtract(u8, 1)
expect u8d {254, 255, 199}
i64 = input i64[2] {9223372036854775807, -9223372036854775808}
i64s = add(&i64, 1)
expect i64s i64[2] {-9223372036854775808, -9223372036854775807}
i64m = abs(i64)
expect i64m {9223372036854775807, -9223372036854775808}
u64 = input u64[2] {18446744073709551615, 1}
u64p = multiply(u64, 3)
expect u64p u64[2] {18446744073709551613, 3}
sgn = input i16[3] {-7, 0, 9}
sgn1 = sign(sgn)
expect sgn1 i16[3] {-1, 0, 1}
