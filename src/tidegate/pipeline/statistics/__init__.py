"""What do events look like?

- `value_counts`: how often each value of an attribute occurs
- `predicate_counts`: how many events meet each of very many predicates
- `event_sample`: which events stand for all of them
- `spread`: what lies between the values that were counted
- `used_predicates`: which predicates subscriptions use most
- `counting`: what is counted of events, and how counts are put together
- `gather_job`: how past events are counted on Spark
- `synopsis_job`: which paths documents have, counted on Spark
- `proximity_job`: how near all pairs of filters are, counted on Spark
- `statistics`: what is known in the end (`Statistics`)
"""
