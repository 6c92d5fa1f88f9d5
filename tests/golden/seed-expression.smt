smt 1
# exp(a*b + c), every operand given up: one block, one launch.
t1 = input f32[2,2] {1, 2, 3, 4}
t2 = input f32[2,2] {2, 3, 4, 5}
t3 = input f32[2,2] {3, 4, 5, 6}
expect line "[registered] Init in=[] out=[t1:NotInit]"
expect line "[registered] Init in=[] out=[t2:NotInit]"
expect line "[registered] Init in=[] out=[t3:NotInit]"
t4 = multiply(t1, t2)
expect line "[registered] NumericFloat(F32, Mul) in=[t1:ReadWrite, t2:ReadWrite] out=[t4:NotInit]"
t5 = add(t4, t3)
expect line "[registered] NumericFloat(F32, Add) in=[t4:ReadWrite, t3:ReadWrite] out=[t5:NotInit]"
t6 = exp(t5)
expect line "[registered] Float(F32, Exp) in=[t5:ReadWrite] out=[t6:NotInit]"
expect launches 0
expect blocks 0
marker "d.read()"
expect t6 f32[2,2] {148.41316, 22026.465, 24154952, 1.957296e+11} ulp 2
expect line "[block] 3 op(s): NumericFloat(F32, Mul), NumericFloat(F32, Add), Float(F32, Exp)"
expect line "[launch] * ElementWise elemwise_fuse_* read=48 written=16"
expect blocks 1
expect launches 1
# A second read computes nothing.
expect t6 {148.41316, 22026.465, 24154952, 1.957296e+11} ulp 2
expect launches 0
