smt 1
# The same with every operand kept: ReadOnly, and the inputs stay as they are.
t1 = input f32[2,2] {1, 2, 3, 4}
t2 = input f32[2,2] {2, 3, 4, 5}
t3 = input f32[2,2] {3, 4, 5, 6}
t4 = multiply(&t1, &t2)
expect line "[registered] NumericFloat(F32, Mul) in=[t1:ReadOnly, t2:ReadOnly] out=[t4:NotInit]"
t5 = add(t4, &t3)
expect line "[registered] NumericFloat(F32, Add) in=[t4:ReadWrite, t3:ReadOnly] out=[t5:NotInit]"
t6 = exp(t5)
expect t6 {148.41316, 22026.465, 24154952, 1.957296e+11} ulp 2
expect launches 1
expect t1 {1, 2, 3, 4}
expect t2 {2, 3, 4, 5}
expect t3 {3, 4, 5, 6}
expect launches 0
