smt 1
# NaN propagates from either side.
a = input f32[6] {1, nan, 3, nan, -inf, inf}
b = input f32[6] {2, 1, nan, nan, 0, 0}
hi = maximum(&a, &b)
expect hi {2, nan, nan, nan, 0, inf}
lo = minimum(&a, &b)
expect lo {1, nan, nan, nan, -inf, 0}
# clip: the lower bound first, then the upper one, so lo > hi gives hi.
x = input f32[6] {-5, 0.5, 5, nan, inf, -inf}
c = clip(&x, -1.0, 1.0)
expect c {-1, 0.5, 1, nan, 1, -1}
crossed = clip(&x, 2.0, 1.0)
expect crossed {1, 1, 1, nan, 1, 1}
open = clip(&x, nan, 1.0)
expect open fill nan
shut = clip(x, -1.0, nan)
expect shut fill nan
bounds = clip(a, b, 10.0)
expect bounds {2, nan, nan, nan, 0, 10}
i = input i32[4] {-9, 0, 5, 99}
ic = clip(&i, -1, 7)
expect ic i32[4] {-1, 0, 5, 7}
im = maximum(i, 3)
expect im {3, 3, 5, 99}
u = input u64[2] {18446744073709551615, 1}
um = minimum(u, 2)
expect um {2, 1}
