smt 1
# Anything compared with NaN is false, except "not equal".
a = input f32[6] {1, 2, nan, nan, inf, -0}
b = input f32[6] {2, 2, 1, nan, inf, 0.0}
eq = equal(&a, &b)
expect eq bool[6] {false, true, false, false, true, true}
ne = not_equal(&a, &b)
expect ne {true, false, true, true, false, false}
lt = less(&a, &b)
expect lt {true, false, false, false, false, false}
le = less_equal(&a, &b)
expect le {true, true, false, false, true, true}
gt = greater(&a, &b)
expect gt {false, false, false, false, false, false}
ge = greater_equal(&a, b)
expect ge {false, true, false, false, true, true}
above = greater(&a, 1.5)
expect above {false, true, false, false, true, false}
below = less(1.5, a)
expect below {false, true, false, false, true, false}
u = input u64[2] {18446744073709551615, 0}
big = greater(u, 1)
expect big {true, false}
p = input bool[2] {true, false}
same = equal(&p, false)
expect same {false, true}
no = less(p, true)
expect no poisoned ERR_DTYPE "less"
x = input f64[6] {1, inf, -inf, nan, -0, -2.5}
nan_ = isnan(&x)
expect nan_ bool[6] {false, false, false, true, false, false}
inf_ = isinf(&x)
expect inf_ {false, true, true, false, false, false}
fin = isfinite(&x)
expect fin {true, false, false, false, true, true}
y = input f32[5] {1, -1, -0, 0.0, -inf}
neg = signbit(y)
expect neg {false, true, true, false, true}
drop x
