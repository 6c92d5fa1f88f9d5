smt 1
a = input i8[2,1] {1, 2}
b = input u8[2,2] {3, 4, 5, 6}
# dtypes are promoted
c = concat(&a, b, &a, axis=1)
expect c i16[2,4] {1, 3, 4, 1, 2, 5, 6, 2}
e = input i8[0,1] {}
d = concat(&e, &a, &e, axis=-2)
expect d i8[2,1] {1, 2}
f = concat(e, axis=0)
expect f i8[0,1] {}
# lists of any length
g = concat(&a, &a, &a, &a, &a, &a, &a, &a, &a, &a, d, axis=0)
expect g i8[22,1] {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}
h = input i8[3] {1, 2, 3}
bad = concat(a, h, axis=0)
expect bad poisoned ERR_SHAPE "concat(i8[2,1], i8[3]): the shapes differ in more than axis 0"
worse = concat(axis=0)
expect worse poisoned ERR_ARGUMENT "concat: there is no tensor"
