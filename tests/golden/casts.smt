smt 1
# Floats to integers truncate and saturate, NaN gives 0.
x = input f32[9] {1.9, -1.9, 300, -300, 1e20, -1e20, inf, -inf, nan}
i8 = astype(&x, dtype=i8)
expect i8 i8[9] {1, -1, 127, -128, 127, -128, 127, -128, 0}
u8 = astype(&x, dtype=u8)
expect u8 u8[9] {1, 0, 255, 0, 255, 0, 255, 0, 0}
i32 = astype(&x, dtype=i32)
expect i32 i32[9] {1, -1, 300, -300, 2147483647, -2147483648, 2147483647, -2147483648, 0}
i64 = astype(&x, dtype=i64)
expect i64 i64[9] {1, -1, 300, -300, 9223372036854775807, -9223372036854775808, 9223372036854775807, -9223372036854775808, 0}
u64 = astype(&x, dtype=u64)
expect u64 u64[9] {1, 0, 300, 0, 18446744073709551615, 0, 18446744073709551615, 0, 0}
b = astype(x, dtype=bool)
expect b fill true
zero = input f32[3] {0, -0, 1e-45}
bz = astype(zero, dtype=bool)
expect bz {false, false, true}
# Integers wrap; the way back from bool is 0 and 1.
n = input i32[5] {300, -1, 128, 256, -2147483648}
n8 = astype(&n, dtype=i8)
expect n8 {44, -1, -128, 0, 0}
nu = astype(&n, dtype=u8)
expect nu {44, 255, 128, 0, 0}
nl = astype(&n, dtype=u64)
expect nl {300, 18446744073709551615, 128, 256, 18446744071562067968}
nb = astype(n, dtype=bool)
expect nb fill true
nf = astype(nb, dtype=f32)
expect nf f32[5] fill 1
# One rounding, to nearest even.
w = input i64[3] {16777217, 9007199254740993, -1}
wf = astype(&w, dtype=f32)
expect wf {16777216, 9007199254740992, -1}
wd = astype(w, dtype=f64)
expect wd {16777217, 9007199254740992, -1}
d = input f64[5] {0.1, 1e39, -1e39, 1e-60, nan}
df = astype(d, dtype=f32)
expect df {0.1, inf, -inf, 0.0, nan}
u = input u64[2] {18446744073709551615, 9223372036854775808}
uf = astype(&u, dtype=f64)
expect uf {18446744073709551616.0, 9223372036854775808.0}
ui = astype(u, dtype=i64)
expect ui {-1, -9223372036854775808}
# The same dtype is allowed.
s = input i16[2] {1, 2}
s1 = astype(s, dtype=i16)
expect s1 i16[2] {1, 2}
