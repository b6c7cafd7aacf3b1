"""Which subscriptions belong together?

- `extents`: which interval of each attribute a subscription lies in
- `cut_tree`: where subscriptions should be cut apart
- `shard_plan`: which shard a subscription belongs to
- `hulls`: which few boxes cover many; `summaries`: which filters cover a shard
- `pattern_plan`: both for patterns of documents
"""

from typing import Final

MOST_SHARDS: Final = 4096
"""The shards of a base, at most."""
