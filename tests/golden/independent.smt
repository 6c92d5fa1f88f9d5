smt 1
# Five expressions that have nothing in common, computed by one sync.
a = input f32[4] {1, 2, 3, 4}
b = input f32[4] {5, 6, 7, 8}
v = multiply(&a, 2.0)
v1 = add(v, 1.0)
w = add(&a, &b)
w1 = square(w)
x = negative(&b)
x1 = abs(x)
y = subtract(&a, &b)
y1 = sign(y)
z = maximum(a, 2.5)
z1 = minimum(z, b)
sync
expect launches 1
expect blocks 1
expect v1 {3, 5, 7, 9}
expect w1 {36, 64, 100, 144}
expect x1 {5, 6, 7, 8}
expect y1 {-1, -1, -1, -1}
expect z1 {2.5, 2.5, 3, 4}
expect launches 0
