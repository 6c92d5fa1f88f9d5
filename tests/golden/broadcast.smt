smt 1
row = input f32[3] {10, 20, 30}
column = input f32[2,1] {1, 2}
matrix = input f32[2,3] {1, 2, 3, 4, 5, 6}
one = input f32[] {100}
table = add(&column, &row)
expect table f32[2,3] {11, 21, 31, 12, 22, 32}
shifted = subtract(&row, &matrix)
expect shifted f32[2,3] {9, 18, 27, 6, 15, 24}
scaled = multiply(&matrix, &column)
expect scaled f32[2,3] {1, 2, 3, 8, 10, 12}
raised = add(&one, &column)
expect raised f32[2,1] {101, 102}
# Alignment is on the right: [2,1,3] with [2,1] is [2,2,3].
cube = input f32[2,1,3] iota
wide = add(cube, &column)
expect wide f32[2,2,3] {1, 2, 3, 2, 3, 4, 4, 5, 6, 5, 6, 7}
# All of it in one kernel, the small values computed where they are used.
r2 = square(row)
c2 = negative(column)
s = add(r2, c2)
all = multiply(s, matrix)
expect all f32[2,3] {99, 798, 2697, 392, 1990, 5388}
