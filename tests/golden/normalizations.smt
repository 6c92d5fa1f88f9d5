smt 1
# composites, with values known elsewhere
x = input f32[3,4] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
t = permute_dims(x)
a = softmax(t, axis=1)
expect a f32[4,3] {3.2932044e-4, 1.7980287e-2, 0.98169035, 3.2932044e-4, 1.7980287e-2, 0.98169035, 3.2932044e-4, 1.7980287e-2, 0.98169035, 3.2932044e-4, 1.7980287e-2, 0.98169035} ulp 4
large = input f64[2] {1000, 1000}
b = logsumexp(&large)
expect b f64[] {1000.6931471805599} ulp 1
c = log_softmax(large, axis=0)
expect c f64[2] {-0.6931471805599453, -0.6931471805599453} ulp 1
r = input f32[4] {1, 2, 3, 4}
d = logsumexp(&r, axis=-1, keepdims=true)
expect d f32[1] {4.440189699} ulp 1
e = layer_norm(&r)
expect e f32[4] {-1.341635420, -0.447211807, 0.447211807, 1.341635420} ulp 4
f = rms_norm(&r, eps=1e-6)
expect f f32[4] {0.365148347, 0.730296695, 1.095445042, 1.460593389} ulp 4
g = var(&r, correction=1)
expect g f32[] {1.6666667} ulp 1
h = std(&r)
expect h f32[] {1.118034} ulp 1
i = vector_norm(&r)
expect i f32[] {5.477226} ulp 1
j = vector_norm(&r, ord=inf)
expect j f32[] {4.0}
k = vector_norm(&r, ord=0, axis=0)
expect k f32[] {4.0}
l = vector_norm(r, ord=3)
expect l f32[] {4.641589} ulp 4
# rows of infinities
m = input f32[3] {-inf, -inf, -inf}
n = softmax(&m, axis=0)
expect n f32[3] {nan, nan, nan}
o = logsumexp(m)
expect o f32[] {-inf}
p = input f32[2] {inf, 0}
q = logsumexp(p)
expect q f32[] {inf}
# half types go by way of f32
s = input f16[4] {300, 300, 300, 301}
u = var(&s)
expect u f16[] {0.1875}
v = vector_norm(s)
expect v f16[] {600.5}
# an epsilon of zero
w = input f32[1,4] fill 0.01
y = rms_norm(&w, axis=1, eps=0)
expect y f32[1,4] {1.0, 1.0, 1.0, 1.0} ulp 1
z = rms_norm(w, axis=[1], eps=1e-4)
expect z f32[1,4] {0.70710677, 0.70710677, 0.70710677, 0.70710677} ulp 1
# groups of channels, with what lies behind them
ga = input f32[1,4,2] {1, 3, 3, 1, 10, 30, 30, 10}
gb = group_norm(ga, groups=2, eps=0)
expect gb f32[1,4,2] {-1.0, 1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0} ulp 1
# of unit length, unless there is hardly any
na = input f32[3,2] {3, 4, 0, 0, 0, 1e-6}
nb = normalize(na, axis=1, eps=1e-3)
expect nb f32[3,2] {0.6, 0.8, 0.0, 0.0, 0.0, 0.001} ulp 1
# labels name a place as take does; a row's largest element may be far away
ca = input f32[3,3] {0, 0, 0, 1000, 0, -1000, 1, 2, 3}
cb = input i32[3] {1, 2, -1}
cc = cross_entropy(ca, cb, axis=1)
expect cc f32[3] {1.0986123, 2000.0, 0.40760596} ulp 4
# of nothing: means are NaN, and what they are taken from stays empty
none = input f32[0,3] {}
mean_0 = mean(&none, axis=[0], keepdims=true)
apart = subtract(none, mean_0)
mean_1 = mean(&apart, axis=[0], keepdims=true)
expect apart f32[0,3] {}
expect mean_1 f32[1,3] {nan, nan, nan}
