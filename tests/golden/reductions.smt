smt 1
# axes, kept or not
x = input f32[2,3] iota
a = sum(&x)
expect a f32[] {15.0}
b = sum(&x, axis=-1, keepdims=true)
expect b f32[2,1] {3.0, 12.0}
c = sum(&x, axis=[1, 0], dtype=f64)
expect c f64[] {15.0}
d = mean(&x, axis=0)
expect d f32[3] {1.5, 2.5, 3.5}
e = prod(&x, axis=1, keepdims=false)
expect e f32[2] {0.0, 60.0}
f = sum(&x, axis=[])
expect f f32[2,3] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}
# nothing to reduce
none = input f32[3,0] {}
g = sum(&none, axis=1)
expect g f32[3] {0.0, 0.0, 0.0}
h = prod(&none)
expect h f32[] {1.0}
i = mean(&none)
expect i f32[] {nan}
j = sum(&none, axis=0)
expect j f32[0] {}
k = max(&none, axis=0)
expect k f32[0] {}
l = argmax(&none, axis=1)
expect l poisoned ERR_SHAPE "argmax(f32[3,0]): axis 1 is empty, so that there is no element"
m = var(&none)
expect m f32[] {nan}
n = any(&none)
expect n bool[] {false}
o = all(none)
expect o bool[] {true}
# ties, NaN, neutral elements as values
t = input f32[2,3] {3, 3, -2, 1, nan, nan}
ta = argmax(&t, axis=1)
expect ta i64[2] {0, 1}
tb = argmin(&t, axis=1)
expect tb i64[2] {2, 1}
tc = argmax(&t)
expect tc i64[] {4}
td = max(&t, axis=1)
expect td f32[2] {3.0, nan}
te = any(&t, axis=0)
expect te bool[3] {true, true, true}
tf = count_nonzero(t)
expect tf i64[] {6}
u = input u32[3] {0, 0, 0}
ua = argmax(u)
expect ua i64[] {0}
v = input f64[2] {-inf, -inf}
va = argmax(&v)
expect va i64[] {0}
vb = max(v)
expect vb f64[] {-inf}
w = input f16[3] {-3, -1, -2}
wa = argmax(w)
expect wa i64[] {1}
z = input f32[2] {-0.0, -0.0}
za = sum(z)
expect za f32[] {-0.0}
# bool and narrow integers become wide
p = input bool[3] {false, true, true}
pa = sum(&p)
expect pa i64[] {2}
pb = argmax(&p)
expect pb i64[] {1}
pc = argmin(p)
expect pc i64[] {0}
q = input u8[1000] fill 255
qa = sum(&q)
expect qa u64[] {255000}
qb = sum(&q, dtype=u8)
expect qb u8[] {24}
qc = any(q)
expect qc bool[] {true}
# half types are accumulated in f32
r = input f16[20000] fill 1
ra = sum(&r)
expect ra f16[] {20000.0}
rb = mean(r)
expect rb f16[] {1.0}
s = input bf16[70000] fill 1
sa = sum(&s)
expect sa bf16[] {70144.0}
sb = mean(s)
expect sb bf16[] {1.0}
# a permuted tensor is reduced in its own order
y = permute_dims(&x)
ya = sum(&y, axis=1)
expect ya f32[3] {3.0, 5.0, 7.0}
yb = argmax(y)
expect yb i64[] {5}
wrong = sum(x, axis=[0, -2])
expect wrong poisoned ERR_ARGUMENT "sum(f32[2,3]): axis 0 is given twice"
