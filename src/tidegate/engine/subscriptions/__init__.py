"""What was given, and by which id?

- `subscription`: what a subscription is, and what many of one filter are
- `table_columns`: what the columns of a table of subscriptions hold
- `table_reader`: which subscriptions a table holds
- `originals`: what each subscription was given as
- `matches`: the ids that one event met
"""
