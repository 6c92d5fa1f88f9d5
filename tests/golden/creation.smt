smt 1
z = zeros(dtype=f32, shape=[2,2])
expect z f32[2,2] fill 0.0
zb = zeros(dtype=bool, shape=[3])
expect zb bool[3] fill false
o = ones(dtype=i64, shape=[])
expect o i64[] {1}
f = full(-7, dtype=i16, shape=[2])
expect f i16[2] {-7, -7}
n = full(nan, dtype=f64, shape=[2])
expect n f64[2] fill nan
r = arange(2, 11, 3, dtype=i32)
expect r i32[3] {2, 5, 8}
down = arange(5, 0, -2, dtype=i64)
expect down i64[3] {5, 3, 1}
bytes = arange(253, 256, 1, dtype=u8)
expect bytes u8[3] {253, 254, 255}
h = arange(0.0, 1.0, 0.25, dtype=f32)
expect h f32[4] {0, 0.25, 0.5, 0.75}
# A source costs nothing to read: one kernel, nothing but the result in memory.
i = arange(0, 4, 1, dtype=f32)
two = ones(dtype=f32, shape=[4])
s = add(i, two)
expect s f32[4] {1, 2, 3, 4}
expect line "[launch] * read=0 written=16"
# What cannot be.
e1 = full(300, dtype=u8, shape=[1])
expect e1 poisoned ERR_ARGUMENT "300"
e2 = full(0.5, dtype=i32, shape=[1])
expect e2 poisoned ERR_DTYPE "float"
e3 = zeros(dtype=f32, shape=[2,-1])
expect e3 poisoned ERR_SHAPE "negative"
e4 = zeros(dtype=f64, shape=[4611686018427387904,4])
expect e4 poisoned ERR_SHAPE "too large"
e5 = arange(0, 1, 0, dtype=i32)
expect e5 poisoned ERR_ARGUMENT "zero"
e6 = arange(0, inf, 1, dtype=f32)
expect e6 poisoned ERR_ARGUMENT "not finite"
e9 = arange(0, 257, 1, dtype=u8)
expect e9 poisoned ERR_ARGUMENT "last element"
e7 = rand(dtype=i32, shape=[1])
expect e7 poisoned ERR_DTYPE
e8 = zeros(dtype=f32)
expect e8 poisoned ERR_SHAPE
