smt 1
m = input bool[2,1] {true, false}
a = input f32[3] {1, nan, 3}
b = input f32[2,3] {10, 20, 30, 40, 50, 60}
w = where(&m, &a, &b)
expect w f32[2,3] {1, nan, 3, 40, 50, 60}
# An unchosen NaN or infinity leaves no trace.
n = where(&m, 0.0, nan)
expect n f64[2,1] {0.0, nan}
f = where(&m, &b, -inf)
expect f f32[2,3] {10, 20, 30, -inf, -inf, -inf}
i = input i32[2,1] {7, 8}
wi = where(&m, i, 0)
expect wi i32[2,1] {7, 0}
p = input bool[1] {true}
wp = where(m, p, false)
expect wp bool[2,1] {true, false}
c = greater(a, 2.0)
x = where(c, b, 0.0)
expect x f32[2,3] {0, 0, 30, 0, 0, 60}
k = input i32[1] {1}
l = input f32[1] {1}
bad = where(k, l, 0.0)
expect bad poisoned ERR_DTYPE "the condition has to be bool"
