"""Which Boolean filters match an event, found by counting fulfilled predicates?

The counting algorithm and the subscription tree pruning of Bittner and Hinze, with the structures
of their Fig. 2.

- `tree_bytes`: how a Boolean filter is written down in a few bytes
- `tree_kernels`: whether such a tree holds, and how many fulfilled predicates that takes at least
- `counting_kernels`: who has as many as it needs
- `associations`: which subscriptions have a predicate
- `trees`: where the trees are; the subscription location table and the minimum counts
- `selectivity_table`: how many events fulfil a predicate
- `pruning_kernels`: what of a tree can be left out at the least cost
- `course_kernels`: what is left of trees that are pruned again and again
- `heap`: which slot has the smallest key; `pruning_queue`: who is pruned next, and how
- `relations`: which predicates follow from a filter, imply it, or exclude it
- `counting_table`: all of it together, which is what people use (`CountingTable`)
"""
