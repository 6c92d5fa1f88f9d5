smt 1
# The sign of the dividend, as C's fmod.
a = input f32[10] {5.5, -5.5, 5.5, -5.5, inf, 3, 3, -3, -0, nan}
b = input f32[10] {2, 2, -2, -2, 2, 0, inf, -inf, 2, 2}
m = fmod(a, b)
expect m {1.5, -1.5, 1.5, -1.5, nan, nan, 3, -3, -0, nan}
c = input f64[3] {1e300, 0.3, 6}
d = fmod(c, 3.0)
expect d f64[3] {0.0, 0.3, 0.0}
