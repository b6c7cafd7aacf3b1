"""How does an event meet entries that are a key and a few ranges?

- `end_numbers`: in which order the ends of ranges and the values of events stand
- `sweep_kernels`: the compiled part of `sweep`
- `sweep`: the commonest alert rule, in its fastest form
"""
