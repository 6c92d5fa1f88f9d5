smt 1
# A count that is negative or at least the width shifts everything out.
a = input i32[7] {1, 1, 1, 1, -1, -8, 3}
n = input i32[7] {0, 31, 32, -1, 33, 1, 2}
l = bitwise_left_shift(&a, &n)
expect l i32[7] {1, -2147483648, 0, 0, 0, -16, 12}
r = bitwise_right_shift(a, n)
expect r {1, 0, 0, 0, -1, -4, 0}
neg = input i32[3] {-8, -1, 8}
far = bitwise_right_shift(&neg, 99)
expect far {-1, -1, 0}
back = bitwise_right_shift(neg, -5)
expect back {-1, -1, 0}
u = input u8[4] {255, 255, 255, 1}
c = input u8[4] {1, 7, 8, 255}
ul = bitwise_left_shift(&u, &c)
expect ul u8[4] {254, 128, 0, 0}
ur = bitwise_right_shift(u, c)
expect ur {127, 1, 0, 0}
w = input i64[2] {-9223372036854775808, 1}
ws = bitwise_right_shift(&w, 63)
expect ws {-1, 0}
wl = bitwise_left_shift(w, 63)
expect wl {0, -9223372036854775808}
