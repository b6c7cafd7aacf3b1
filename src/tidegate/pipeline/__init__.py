"""How does it run on Spark?

From the bottom up:

- `spark`: how is Spark started?
- `store`: who has subscribed to what, at which version?
- `events`: how do events come in?
- `shards`: which subscriptions belong together?
- `kinds`: what is a kind of filters to the pipeline?
- `statistics`: what do events look like?
- `bases`: how does a version become files that workers map?
- `matching`: who wants these events?
- `progress`: how far has it come?
- `analysis`: what do the subscriptions of a store look like?
- `session`, `cluster`, `pins`: documented paths to names that are at home in one of these

Importing this package loads none of them, nor Spark, Arrow or Delta Lake: a name is loaded when
it is first asked for.
"""

from typing import TYPE_CHECKING, Final

from tidegate.on_demand import on_demand

__all__ = [
    "Commit",
    "Hook",
    "ParquetFolder",
    "Statistics",
    "Store",
    "StoredSubscription",
    "gather",
    "latest",
    "match",
    "match_stream",
    "vacuum",
]

_ON_DEMAND: Final = {
    "Commit": "tidegate.pipeline.store.delta_log",
    "Hook": "tidegate.pipeline.matching.sinks",
    "ParquetFolder": "tidegate.pipeline.matching.sinks",
    "Statistics": "tidegate.pipeline.statistics.statistics",
    "Store": "tidegate.pipeline.store.store",
    "StoredSubscription": "tidegate.pipeline.store.store",
    "gather": "tidegate.pipeline.statistics.statistics",
    "latest": "tidegate.pipeline.statistics.statistics",
    "match": "tidegate.pipeline.matching.match",
    "match_stream": "tidegate.pipeline.matching.stream",
    "vacuum": "tidegate.pipeline.bases.vacuuming",
}

if TYPE_CHECKING:
    from tidegate.pipeline.bases.vacuuming import vacuum
    from tidegate.pipeline.matching.match import match
    from tidegate.pipeline.matching.sinks import Hook, ParquetFolder
    from tidegate.pipeline.matching.stream import match_stream
    from tidegate.pipeline.statistics.statistics import Statistics, gather, latest
    from tidegate.pipeline.store.delta_log import Commit
    from tidegate.pipeline.store.store import Store, StoredSubscription
else:  # type checkers would take any name for one that `__getattr__` knows
    __getattr__ = on_demand(globals(), _ON_DEMAND)
