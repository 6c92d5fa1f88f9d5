smt 1
a = input u8[4] {12, 255, 0, 170}
b = input u8[4] {10, 15, 255, 85}
and = bitwise_and(&a, &b)
expect and u8[4] {8, 15, 0, 0}
or = bitwise_or(&a, &b)
expect or {14, 255, 255, 255}
xor = bitwise_xor(&a, b)
expect xor {6, 240, 255, 255}
not = bitwise_invert(&a)
expect not {243, 0, 255, 85}
mask = bitwise_and(a, 15)
expect mask {12, 15, 0, 10}
i = input i32[2] {-1, 6}
inv = bitwise_invert(&i)
expect inv {0, -7}
low = bitwise_and(i, -2)
expect low {-2, 6}
p = input bool[4] {true, true, false, false}
q = input bool[4] {true, false, true, false}
land = logical_and(&p, &q)
expect land bool[4] {true, false, false, false}
lor = logical_or(&p, &q)
expect lor {true, true, true, false}
lxor = logical_xor(&p, &q)
expect lxor {false, true, true, false}
lnot = logical_not(&p)
expect lnot {false, false, true, true}
bnot = bitwise_invert(&p)
expect bnot {false, false, true, true}
yes = logical_or(p, true)
expect yes fill true
f = input f32[1] {1}
bad = bitwise_and(f, 1)
expect bad poisoned ERR_DTYPE "bitwise_and"
n = input i32[1] {1}
worse = logical_not(n)
expect worse poisoned ERR_DTYPE "logical_not"
