smt 1
# The sign of the divisor, as Python's %; a zero result has it too.
a = input f32[6] {-3, -2, -1, 1, 2, 3}
b = input f32[6] {2, 3, 1, 2, 1, 3}
r = remainder(a, b)
expect r {1, 1, 0.0, 1, 0.0, 0.0}
c = input f32[5] {1, 2, 3, 4, 5}
s = remainder(c, -1.5)
expect s {-0.5, -1, -0, -0.5, -1}
d = input f32[4] {-7, -3, 2, 6}
t = remainder(d, -2.5)
expect t {-2, -0.5, -0.5, -1.5}
e = input f32[4] {-1, 1, -1.5, 1.5}
u = remainder(&e, 10.0)
expect u {9, 1, 8.5, 1.5}
v = remainder(e, -10.0)
expect v {-1, -9, -1.5, -8.5}
# Infinite divisors, dividends, zero, NaN.
x = input f64[9] {5, -5, 5, -5, inf, -inf, 3, nan, 0}
y = input f64[9] {inf, inf, -inf, -inf, 2, 2, 0, 1, inf}
w = remainder(x, y)
expect w f64[9] {5, inf, -inf, -5, nan, nan, nan, nan, 0.0}
# floor_divide keeps what divide gives, rounded down.
q = input f32[6] {inf, 7, -7, 1, 0, -1}
z = input f32[6] {2, 2, 2, 0, 0, inf}
f = floor_divide(&q, &z)
expect f {inf, 3, -4, inf, nan, -0}
g = trunc_divide(q, z)
expect g {inf, 3, -3, inf, nan, -0}
