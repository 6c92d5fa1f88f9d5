smt 1
# Without fusion every operation is a kernel that carries its name.
option fusion off
x = input f32[4] {1, 2, 3, 4}
x1 = multiply(x, 2.0)
x2 = add(x1, 1.0)
x3 = multiply(x2, 0.5)
x4 = add(x3, -1.0)
x5 = negative(x4)
x6 = abs(x5)
x7 = square(x6)
x8 = sqrt(x7)
expect x8 {0.5, 1.5, 2.5, 3.5}
expect launches 8
expect line "[launch] * mul_scalar_*"
expect line "[launch] * add_scalar_*"
expect line "[launch] * mul_scalar_*"
expect line "[launch] * add_scalar_*"
expect line "[launch] * neg_*"
expect line "[launch] * abs_*"
expect line "[launch] * square_*"
expect line "[launch] * sqrt_*"
