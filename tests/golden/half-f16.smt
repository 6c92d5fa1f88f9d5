smt 1
# NumPy's values: in strict mode each operation computes in f32 and rounds.
option mode strict
a = input f16[8] {1.5, -2.25, 0.1, 65504, 6e-8, -0.0, inf, nan}
b = input f16[8] {0.3, 3, 10, 2, 0.5, 7, 0.0, 1}
sum = add(&a, &b)
expect sum f16[8] {1.8, 0.75, 10.1, 65504, 0.5, 7, inf, nan}
product = multiply(&a, &b)
expect product f16[8] {0.4502, -6.75, 1, inf, 0.0, -0.0, nan, nan}
quotient = divide(&a, &b)
expect quotient f16[8] {5, -0.75, 0.009995, 32750, 1e-7, -0.0, inf, nan}
most = maximum(&a, &b)
expect most f16[8] {1.5, 3, 10, 65504, 0.5, 7, inf, nan}
less = less(&a, &b)
expect less bool[8] {false, true, true, false, true, true, false, false}
minus = negative(&a)
expect minus f16[8] {-1.5, 2.25, -0.1, -65504, -6e-8, 0.0, -inf, nan}
e = exp(&a)
expect e f16[8] {4.48, 0.1054, 1.105, inf, 1, 1, inf, nan}
# Two operations, two roundings, one kernel.
inner = multiply(&a, &b)
fused = add(inner, &a)
expect fused f16[8] {1.95, -9, 1.1, inf, 6e-8, -0.0, nan, nan}
# Conversions. From f64 there is one rounding.
d = input f64[7] {65519, 65520, 1.00048828125, 1.0004882812500002, 1e-8, 2.9802322387695312e-8, 3e-8}
h = astype(d, dtype=f16)
expect h f16[7] {65504, inf, 1, 1.001, 0.0, 0.0, 6e-8}
w = astype(h, dtype=f64)
expect w f64[7] {65504, inf, 1, 1.0009765625, 0.0, 0.0, 5.9604644775390625e-8}
i = astype(&a, dtype=i8)
expect i i8[8] {1, -2, 0, 127, 0, 0, 127, 0}
t = astype(&a, dtype=bool)
expect t bool[8] {true, true, true, true, true, false, true, true}
n = input i32[4] {2049, 2051, -70000, 65519}
ni = astype(n, dtype=f16)
expect ni f16[4] {2048, 2052, -inf, 65504}
# Promotion and weak scalars.
f32 = input f32[8] {1, 1, 1, 1, 1, 1, 1, 1}
p = add(&a, f32)
expect p f32[8] {2.5, -1.25, 1.0999756, 65505, 1, 1, inf, nan}
bf = input bf16[8] {1, 1, 1, 1, 1, 1, 1, 1}
q = multiply(&a, bf)
expect q f32[8] {1.5, -2.25, 0.099975586, 65504, 5.9604645e-8, -0.0, inf, nan}
s = multiply(a, 0.1)
expect s f16[8] {0.1499, -0.225, 0.009995, 6548, 0.0, -0.0, inf, nan}
drop b
# Sources.
zeros = zeros(dtype=f16, shape=[2])
expect zeros f16[2] {0.0, 0.0}
ones = ones(dtype=f16, shape=[2])
expect ones f16[2] {1, 1}
third = full(0.3333, dtype=f16, shape=[1])
expect third f16[1] {0.3333}
steps = arange(0, 1, 0.3, dtype=f16)
expect steps f16[4] {0.0, 0.3, 0.6, 0.9004}
