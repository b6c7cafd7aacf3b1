"""Which patterns of many contain a pattern, and which are contained by it?

XSearch, by Chand, Felber and Garofalakis (Chand, "Large scale diffusion of information in
Publish/Subscribe systems", 2005, chapter 5): patterns are kept in one tree that shares what they
have in common, and a question is asked of the tree as a whole, in two modes. *Contained* mode finds
the patterns that a given one covers, *contain* mode those that cover it. Answers are those of
`documents.containment.covers`, one by one.

Three things differ from the printed algorithms. Nodes of patterns here have distances instead of
nodes for `//` and chains of `*`, which makes the test nearly complete. Results are remembered for
each pair of nodes, without which the stated complexity is false (`//a//a//a//a//a` against a chain
of 31 takes 436 calls with memory and 619,102 without). And contain mode does not collect the
patterns that do *not* cover the given one, which are nearly all, but counts how many branches of a
pattern are met, so that what is of no interest is never touched.

- `factorization`: the tree, and how patterns come and go
- `contained`: the patterns that a given one covers; `containing`: those that cover it
- `xsearch`: both, over patterns with numbers
"""
