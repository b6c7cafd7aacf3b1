"""How do filters relate?

`normal` turns a filter into a union of boxes, `relate` compares such unions (covers, overlaps,
subsumed), `union` does so for growing sets of filters. `distribution` measures filters,
`value_counts` counts what events fulfil predicates, and `selectivity` estimates filters by that.
`merge`, `prune` and `replace` make fewer or simpler filters that cover the given ones, and `widen`
one that is wide enough for several values of its parameters.
"""
