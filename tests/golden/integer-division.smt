smt 1
# By zero: quotient 0, remainder 0. The smallest integer by -1: itself, and 0.
a = input i32[8] {7, -7, 7, -7, 5, 0, -2147483648, -2147483648}
b = input i32[8] {2, 2, -2, -2, 0, 0, -1, 0}
f = floor_divide(&a, &b)
expect f i32[8] {3, -4, -4, 3, 0, 0, -2147483648, 0}
t = trunc_divide(&a, &b)
expect t {3, -3, -3, 3, 0, 0, -2147483648, 0}
r = remainder(&a, &b)
expect r {1, 1, -1, -1, 0, 0, 0, 0}
m = fmod(a, b)
expect m {1, -1, 1, -1, 0, 0, 0, 0}
# Exact where floats are not.
x = input i64[2] {9007199254740993, -9223372036854775807}
y = input i64[2] {2, 10}
xf = floor_divide(&x, &y)
expect xf {4503599627370496, -922337203685477581}
xr = remainder(x, y)
expect xr {1, 3}
u = input u8[4] {255, 7, 1, 0}
v = input u8[4] {16, 0, 255, 3}
uf = floor_divide(&u, &v)
expect uf u8[4] {15, 0, 0, 0}
ur = remainder(u, v)
expect ur {15, 0, 1, 0}
i = input i8[2] {-128, -128}
j = input i8[2] {-1, 3}
ij = trunc_divide(&i, &j)
expect ij i8[2] {-128, -42}
ir = remainder(i, j)
expect ir {0, 1}
# Quotients of integers have a name of their own.
p = input i32[1] {1}
q = divide(p, 2)
expect q poisoned ERR_DTYPE "divide"
