smt 1
# A value that is kept in the middle of a chain is written beside the result, by
# the same kernel; a value that nobody wants is not computed.
x = input f32[4] {1, 2, 3, 4}
doubled = multiply(x, 2.0)
unwanted = log(&doubled)
sum = add(&doubled, 1.0)
result = negative(sum)
drop unwanted
expect result {-3, -5, -7, -9}
expect doubled {2, 4, 6, 8}
expect launches 1
