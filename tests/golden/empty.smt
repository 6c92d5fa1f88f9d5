smt 1
# No elements: right shapes, nothing to launch.
e = input f32[0] {}
e1 = exp(&e)
expect e1 f32[0] {}
m = input f32[3,0,2] {}
m1 = add(m, 1.0)
expect m1 f32[3,0,2] {}
# An extent of 1 meets 0 as it meets any other.
one = input f32[1] {5}
b = multiply(e, one)
expect b f32[0] {}
column = input f32[2,1] {1, 2}
none = zeros(dtype=f32, shape=[2,0])
w = add(column, none)
expect w f32[2,0] {}
r = arange(3, 3, 1, dtype=i64)
expect r i64[0] {}
backwards = arange(0, 5, -1, dtype=i64)
expect backwards i64[0] {}
bool = astype(e1, dtype=bool)
expect bool bool[0] {}
expect launches 0
# But 2 does not meet 0.
z = zeros(dtype=f32, shape=[0])
two = ones(dtype=f32, shape=[2])
x = add(z, two)
expect x poisoned ERR_SHAPE "f32[0]"
