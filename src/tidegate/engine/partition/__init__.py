"""How does a block of 512 events meet many entries?

- `arrays`: what the kernels work on
- `rows`: how the events of a batch meet the conditions of a partition
- `range_ends`: where the ranges of entries end, among those of their group
- `programs`: Boolean trees in postfix notation
- `row_kernels`: for which events of a block a condition holds
- `range_kernels`: where the events of a run lie among the ends of ranges
- `entry_kernels`: for which events of a run the entries of a zone hold
- `output_kernels`: how that becomes counts and codes of each event
- `block_kernels`: all of it, block by block
- `partition`: entries kept together, and how a batch meets them
"""
