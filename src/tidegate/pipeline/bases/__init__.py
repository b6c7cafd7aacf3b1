"""How does a version become files that workers map?

- `catalog`: what a compiled base is, and which there are
- `names`: which subscription, of which subscriber, a number is
- `summary_index`: which shards may have somebody for an event
- `shard_builder`: how subscriptions become the files of a base
- `compile_job`: how a version of the store becomes a base
- `vacuuming`: what of a store nobody needs any more
"""
