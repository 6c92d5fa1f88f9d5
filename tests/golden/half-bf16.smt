smt 1
option mode strict
a = input bf16[7] {1.5, -2.25, 0.1, 3.39e38, 1e-40, -0.0, nan}
b = input bf16[7] {0.3, 3, 10, 2, 0.5, 7, 1}
sum = add(&a, &b)
expect sum bf16[7] {1.8, 0.75, 10.1, 3.39e38, 0.5, 7, nan}
product = multiply(&a, &b)
expect product bf16[7] {0.451, -6.75, 1, inf, 0.0, -0.0, nan}
inner = multiply(&a, &b)
fused = add(inner, &a)
expect fused bf16[7] {1.95, -9, 1.1, inf, 9e-41, -0.0, nan}
whole = floor(&a)
expect whole bf16[7] {1, -3, 0.0, 3.39e38, 0.0, -0.0, nan}
smaller = less(&a, &b)
chosen = where(smaller, &a, b)
expect chosen bf16[7] {0.3, -2.25, 0.1, 2, 1e-40, -0.0, 1}
d = input f64[4] {1.00390625, 1.0039062500000002, 1e39, 1.01171875}
h = astype(d, dtype=bf16)
expect h bf16[4] {1, 1.0078125, inf, 1.015625}
w = astype(a, dtype=f32)
expect w f32[7] {1.5, -2.25, 0.100097656, 3.3895314e38, 9.1835e-41, -0.0, nan}
n = input i32[3] {257, 259, -2147483648}
ni = astype(n, dtype=bf16)
expect ni bf16[3] {256, 260, -2147483648}
# Random numbers stay below 1.
seed 1
r = rand(dtype=bf16, shape=[4000])
below = less(r, 1)
above = logical_not(below)
wrong = astype(above, dtype=i32)
expect wrong i32[4000] fill 0
