smt 1
# ranges as in Python
x = input i64[10] iota
a = slice(&x, ranges=[2:8:2])
expect a i64[3] {2, 4, 6}
b = slice(&x, ranges=[8:2:-2])
expect b i64[3] {8, 6, 4}
c = slice(&x, ranges=[-3:])
expect c i64[3] {7, 8, 9}
d = slice(&x, ranges=[::-1])
expect d i64[10] {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}
e = slice(&x, ranges=[-100:100:4])
expect e i64[3] {0, 4, 8}
f = slice(&x, ranges=[100:-100:-4])
expect f i64[3] {9, 5, 1}
g = slice(&x, ranges=[5:5])
expect g i64[0] {}
h = slice(&x, ranges=[2:8:-1])
expect h i64[0] {}
i = slice(&x, ranges=[9::9223372036854775807])
expect i i64[1] {9}
j = slice(x, ranges=[:-9223372036854775808])
expect j i64[0] {}
m = input u8[3,4] iota
k = slice(&m, ranges=[::2, ::-1])
expect k u8[2,4] {3, 2, 1, 0, 11, 10, 9, 8}
l = slice(&m, ranges=[::-1, ::2])
expect l u8[3,2] {8, 10, 4, 6, 0, 2}
w = slice(&m, ranges=[1:])
expect w u8[2,4] {4, 5, 6, 7, 8, 9, 10, 11}
bad = slice(m, ranges=[:, ::0])
expect bad poisoned ERR_ARGUMENT "slice(u8[3,4]): the step of axis 1 is zero"
