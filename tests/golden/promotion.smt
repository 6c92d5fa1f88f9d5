smt 1
# The Array API's table; the conversions are operations and fuse.
i8 = input i8[2] {1, -2}
i32 = input i32[2] {100, 200}
u8 = input u8[2] {250, 7}
f32 = input f32[2] {0.5, 1.5}
f64 = input f64[2] {0.25, 0.75}
a = add(&i8, i32)
expect a i32[2] {101, 198}
expect line "[block] 2 op(s): BaseInt(I8, Cast), NumericInt(I32, Add)"
b = add(&i8, &u8)
expect b i16[2] {251, 5}
c = multiply(&f32, &f64)
expect c f64[2] {0.125, 1.125}
d = less(&f32, f64)
expect d bool[2] {false, false}
# Scalars take the tensor's dtype.
e = add(&u8, 5)
expect e u8[2] {255, 12}
f = multiply(&f32, 2)
expect f f32[2] {1, 3}
# What does not mix.
g = add(&i8, &f32)
expect g poisoned ERR_DTYPE "i8[2], f32[2]"
h = add(&i8, 0.5)
expect h poisoned ERR_DTYPE
i = add(&u8, -1)
expect i poisoned ERR_ARGUMENT "-1"
j = add(&f32, true)
expect j poisoned ERR_DTYPE
u64 = input u64[1] {1}
k = add(u64, i8)
expect k poisoned ERR_DTYPE
l = exp(u8)
expect l poisoned ERR_DTYPE "exp"
drop f32
