"""What is compiled, and what of it is still wanted?

- `segment`: many subscriptions, compiled; it never changes
- `live`: which of them are still wanted, and when segments are merged
- `parameter_updates`: what many subscriptions become when their parameters change
"""
