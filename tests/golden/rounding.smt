smt 1
x = input f32[10] {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.2, -inf, nan, 8388609}
r = round(&x)
expect r {-2, -2, -0, 0.0, 2, 2, 0.0, -inf, nan, 8388609}
f = floor(&x)
expect f {-3, -2, -1, 0.0, 1, 2, 0.0, -inf, nan, 8388609}
c = ceil(&x)
expect c {-2, -1, -0, 1, 2, 3, 1, -inf, nan, 8388609}
t = trunc(x)
expect t {-2, -1, -0, 0.0, 1, 2, 0.0, -inf, nan, 8388609}
# sign: both zeros give +0, NaN stays.
z = input f32[6] {-3, -0, 0.0, 4, nan, -inf}
s = sign(&z)
expect s {-1, 0.0, 0.0, 1, nan, -1}
n = negative(&z)
expect n {3, 0.0, -0, -4, nan, inf}
a = abs(&z)
expect a {3, 0.0, 0.0, 4, nan, inf}
p = positive(&z)
expect p {-3, -0, 0.0, 4, nan, -inf}
k = input f32[6] {1, -1, -0, 0.0, -2, 2}
cs = copysign(&z, k)
expect cs {3, -0, -0, 4, nan, inf}
rc = reciprocal(z)
expect rc {-0.33333334, -inf, inf, 0.25, nan, -0}
big = input f64[2] {4503599627370497.5, -4503599627370496.5}
br = round(big)
expect br {4503599627370498.0, -4503599627370496.0}
