"""Which filters does an event meet?

`columns` turns events, however they come, into columns of keys on the lines of `filters.lines`.
"""
