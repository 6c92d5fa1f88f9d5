smt 1
# views: the same elements at other places
x = input i32[2,3] iota
r1 = reshape(&x, shape=[3,2])
expect r1 i32[3,2] {0, 1, 2, 3, 4, 5}
r2 = reshape(&x, shape=[-1])
expect r2 i32[6] iota
p = permute_dims(&x, axes=[1,0])
expect p i32[3,2] {0, 3, 1, 4, 2, 5}
w = swapaxes(p, axes=[-1,0])
expect w i32[2,3] iota
f1 = flip(&x)
expect f1 i32[2,3] {5, 4, 3, 2, 1, 0}
f2 = flip(&x, axes=[-1])
expect f2 i32[2,3] {2, 1, 0, 5, 4, 3}
e = expand_dims(&x, axis=1)
expect e i32[2,1,3] iota
q = squeeze(e)
expect q i32[2,3] iota
b = broadcast_to(q, shape=[2,2,3])
expect b i32[2,2,3] {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}
# a reshape of broadcast elements counts each of them
b2 = reshape(b, shape=[4,-1])
expect b2 i32[4,3] {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}
# views of views, and computing with them
s = slice(x, ranges=[::-1, ::2])
y = add(s, 10)
expect y i32[2,2] {13, 15, 10, 12}
z = input f32[] {2.5}
z1 = reshape(&z, shape=[1,1])
expect z1 f32[1,1] {2.5}
z2 = permute_dims(z)
expect z2 f32[] {2.5}
n = input f64[0,3] {}
n1 = reshape(&n, shape=[3,-1])
expect n1 f64[3,0] {}
n2 = flip(n)
expect n2 f64[0,3] {}
h = input bool[3] {true, false, false}
h1 = flip(h)
expect h1 bool[3] {false, false, true}
bad = reshape(b2, shape=[5,-1])
expect bad poisoned ERR_SHAPE "reshape(i32[4,3]): no extent in place of -1 gives 12 elements"
