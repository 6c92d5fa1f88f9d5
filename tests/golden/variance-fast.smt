smt 1
# Where no cache holds the elements, squares of what they differ from their mean are taken in one pass.
option mode fast
x = arange(0, 1200000, 1, dtype=f64)
m = mean(&x)
v = var(x)
both = add(m, v)
expect both f64[] {120000599999.416667} ulp 4
y = arange(0, 1200000, 1, dtype=f32)
columns = reshape(y, shape=[400000,3])
k = mean(&columns, axis=0)
d = subtract(columns, k)
s = square(d)
w = mean(s, axis=0)
expect w f32[3] {119999999999.25, 119999999999.25, 119999999999.25} ulp 16
# What is small is looked at twice.
small = input f32[4] {1, 2, 3, 4}
u = std(&small, correction=1)
expect u f32[] {1.2909944} ulp 1
i = input f32[3] {1, inf, 2}
n = var(i)
expect n f32[] {nan}
# A difference from one mean times that from another is no square.
a = subtract(&small, 2.5)
b = mean(&small)
c = subtract(small, b)
p = multiply(a, c)
q = sum(p)
expect q f32[] {5}
