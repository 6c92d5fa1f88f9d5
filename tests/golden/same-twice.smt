smt 1
# One tensor as both operands: the first use keeps, the last one takes.
t1 = input f32[3] {1, 2, 3}
t2 = multiply(&t1, t1)
expect line "[registered] NumericFloat(F32, Mul) in=[t1:ReadOnly, t1:ReadWrite] out=[t2:NotInit]"
expect t2 {1, 4, 9}
# A diamond: one value with two consumers that meet again.
t3 = input f32[3] {1, 2, 3}
t4 = add(t3, 1.0)
t5 = multiply(&t4, 10.0)
t6 = subtract(t5, t4)
expect t6 {18, 27, 36}
expect launches 2
