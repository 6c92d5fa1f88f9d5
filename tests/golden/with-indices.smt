smt 1
# two results of one pass: the first of the best wins, and the first NaN is the best
x = input f32[3,3] {3, 3, -2, -2, nan, 7, -0.0, 0.0, nan}
v, i = max_with_indices(&x, axis=1)
expect v f32[3] {3.0, nan, nan}
expect i i64[3] {0, 1, 2}
w, j = min_with_indices(&x, axis=0, keepdims=true)
expect w f32[1,3] {-2.0, nan, nan}
expect j i64[1,3] {1, 1, 2}
# over all axes; what is computed around both is in the same pass
y = input i8[2,3] {-128, 127, 5, 127, -128, 6}
z = negative(&y)
u, k = max_with_indices(z)
twice = multiply(u, 2)
expect twice i8[] {-10}
expect k i64[] {2}
expect blocks 3
# the first result alone
only = min_with_indices(y, axis=[0, 1])
expect only i8[] {-128}
# of a wrong call both are poisoned
bad, worse = max_with_indices(x, axis=7)
expect bad poisoned ERR_ARGUMENT "max_with_indices(f32[3,3]): axis 7"
expect worse poisoned ERR_ARGUMENT "max_with_indices(f32[3,3]): axis 7"
h = input bf16[4] {1, 2, 2, -1}
a, b = max_with_indices(h)
expect a bf16[] {2.0}
expect b i64[] {1}
