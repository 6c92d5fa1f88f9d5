smt 1
# Use after take is detected in every build, also where the slot of the taken
# reference would fit the result.
x = input f32[2] {0, 0}
y = exp(x)
z = negative(x)
expect z poisoned ERR_STALE "smelt_exp"
expect x poisoned ERR_STALE
expect y {1, 1}
again = add(z, &y)
expect again poisoned ERR_STALE
# Twice in one call.
v = input f32[1] {1}
w = add(v, v)
expect w poisoned ERR_STALE
# After a drop.
d = input f32[1] {1}
drop d
e = exp(d)
expect e poisoned ERR_STALE
f = exp(&d)
expect f poisoned ERR_STALE
expect y {1, 1}
