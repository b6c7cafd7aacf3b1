"""How do filters relate?

`normal` turns a filter into a union of boxes, `relate` compares such unions (covers, overlaps,
subsumed), `union` does so for growing sets of filters. `distribution` measures filters,
`value_counts` counts how many events fulfil predicates, `event_sample` tells which of a few match,
and `selectivity` estimates filters.
`merge`, `prune` and `replace` make fewer or simpler filters that cover the given ones, and `widen`
one that is wide enough for several values of its parameters.
"""
