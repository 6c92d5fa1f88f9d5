smt 1
a = input f32[] {2}
b = input f32[] fill 3
c = multiply(&a, b)
expect c f32[] {6}
d = add(c, 1)
expect d f32[] {7}
v = input f32[2] {1, 2}
e = add(v, d)
expect e f32[2] {8, 9}
f = full(true, dtype=bool, shape=[])
expect f bool[] {true}
# Scalars alone stay weak and take the dtype of what they meet.
s = add(1, 2)
t = multiply(a, s)
expect t f32[] {6}
w = multiply(2.0, 0.25)
expect w f64[] {0.5}
i = negative(3)
expect i i64[] {-3}
