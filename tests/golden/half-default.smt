smt 1
# Values that the roundings in between do not change, so that they hold on every
# device; one kernel. What the roundings change is in tests/unit/test_half.c.
option mode default
a = input f16[4] {1, 2, 3, 4}
b = input bf16[4] {0.5, 0.25, 2, 8}
twice = multiply(&a, 2)
next = add(a, 1)
less = subtract(twice, next)
y = exp(less)
thrice = multiply(b, 3)
z = astype(thrice, dtype=f16)
eval y, z
expect y f16[4] {1, 2.719, 7.39, 20.08}
expect z f16[4] {1.5, 0.75, 6, 24}
expect launches 1
