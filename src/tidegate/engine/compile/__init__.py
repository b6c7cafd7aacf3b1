"""How do subscriptions become a segment?

- `clauses`: what filters of many shapes ask for in the same words
- `own_ranges`: which ranges are conditions, and which their entries' own
- `block_entries`: what many subscriptions of one filter ask for, a column at a time
- `clause_entries`: the same of filters that came one by one
- `shared_entries`: which subscriptions ask for the very same
- `draft`: all of that together, as numbers, before it is decided where it is kept
- `layout`: which entry goes where, and in which order
- `assemble`: from that plan to flat arrays, and back
- `compiler`: from blocks to a segment, and from several segments to one
"""
