smt 1
# The result is given up before anything asks for it: nothing runs.
t1 = input f32[2,2] {1, 2, 3, 4}
t2 = input f32[2,2] {2, 3, 4, 5}
t3 = input f32[2,2] {3, 4, 5, 6}
t4 = multiply(&t1, &t2)
t5 = add(t4, &t3)
t6 = exp(t5)
drop t6
expect line "[registered] Drop in=[t6:ReadWrite] out=[]"
sync
expect launches 0
expect blocks 0
expect t1 {1, 2, 3, 4}
expect launches 0
