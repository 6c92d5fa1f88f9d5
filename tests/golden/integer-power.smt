smt 1
base = input i32[8] {2, 3, -2, 0, 1, -1, 2, 0}
exponent = input i32[8] {10, 0, 3, 0, -5, -3, -1, -2}
p = pow(base, exponent)
expect p i32[8] {1024, 1, -8, 1, 1, -1, 0, 0}
wrap = input i32[3] {3, 46341, 2}
w = pow(&wrap, 2)
expect w {9, -2147479015, 4}
w2 = pow(wrap, 31)
expect w2 {1264544299, -741033651, -2147483648}
u = input u8[2] {3, 2}
v = pow(u, 6)
expect v u8[2] {217, 64}
