smt 1
# A wrong call poisons its result; what depends on it passes the first cause on,
# and the rest goes on.
a = input f32[2,3] iota
b = input f32[2] {1, 2}
bad = add(a, &b)
expect bad poisoned ERR_SHAPE "add(f32[2,3], f32[2])"
worse = multiply(bad, 10.0)
expect worse poisoned ERR_SHAPE "add(f32[2,3], f32[2])"
worst = add(worse, &b)
expect worst poisoned ERR_SHAPE "add("
good = multiply(b, 10.0)
expect good {10, 20}
few = add(good)
expect few poisoned ERR_ARGUMENT "2"
x = input f32[1] {1}
many = exp(x, 1.0, 2.0)
expect many poisoned ERR_ARGUMENT
none = exp()
expect none poisoned ERR_ARGUMENT
y = input f32[1] {1}
late = full(y, dtype=f32, shape=[1])
expect late poisoned ERR_ARGUMENT "scalar"
