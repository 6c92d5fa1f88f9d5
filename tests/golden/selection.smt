smt 1
# indices: negative ones count from the end, what is beyond the axis is cut to it
x = input f32[3,2] {0, 1, 2, 3, 4, 5}
i = input i8[4] {2, -1, 100, -100}
a = take(&x, &i, axis=0)
expect a f32[4,2] {4, 5, 4, 5, 4, 5, 0, 1}
s = input u64[] {1}
b = take(&x, s, axis=-1)
expect b f32[3] {1, 3, 5}
j = input i32[2,2] {0, 1, 1, 0}
c = take(&x, &j, axis=0)
expect c f32[2,2,2] {0, 1, 2, 3, 2, 3, 0, 1}
d = take_along_axis(&x, j, axis=0)
expect d f32[2,2] {0, 3, 2, 1}
k = input i32[2,2] {0, 2, -1, 1}
e = take_along_axis(&x, k, axis=0)
expect e f32[2,2] {0, 5, 4, 3}
one = input i64[1,3] {1, 0, 1}
g = take_along_axis(&x, one, axis=1)
expect g f32[3,3] {1, 0, 1, 3, 2, 3, 5, 4, 5}
none = input i64[0] {}
h = take(&x, none, axis=1)
expect h f32[3,0] {}
bad = take(h, i, axis=1)
expect bad poisoned ERR_SHAPE "axis 1 is empty"
float = input f32[1] {1}
worse = take(x, float, axis=0)
expect worse poisoned ERR_DTYPE "the indices have to be integers"
