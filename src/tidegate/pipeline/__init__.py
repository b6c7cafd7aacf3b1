"""How does it run on Spark?

The folder in the order in which to read it.

The subscription store

- `store`: who has subscribed to what, at which version
- `tables`: how changes come in
- `proposal`: what somebody wants to change, checked as far as possible without the store
- `validation`: whether that fits what is in the store
- `versions`: what a version says; `fold`: the state after some changes
- `upkeep`: how a store stays small
- `log`: which files make up a version; `damage`: which file of a log is damaged
- `rows`: how changes are kept in Parquet files; `spelling`: how values of parameters are
- `objects`: how all else in a store is kept, in a folder or in an object store

Matching

- `matching`: who wants these events, batch or streaming; `tasks`: what Spark's tasks do for it
- `streaming`: how a stream's notifications are delivered once; `sinks`: where they go
- `pins`: which version and which base a micro-batch used
- `bases`: what a compiled base is; `compiling`: how a version becomes one; `reading`: how Spark
  reads a version; `building`: how subscriptions become the files of a base
- `copies`: where on this machine a file of a remote store is
- `matcher`: who wants these events at a version, in a worker; `tail`: what has changed since a base
- `names`: which subscription a number is; `loading`: how stored subscriptions get into an index
- `notifications`: what comes out for a batch of events; `malformed`: which events are refused
- `vacuuming`: what of a store nobody needs any more

Shards

- `routing`: where an event has to go
- `shards`: which shard a subscription belongs to; `splits`: where they are cut apart
- `extents`: which interval of each attribute a subscription lies in
- `summaries`: what covers a shard; `hulls`: which few boxes cover many

Statistics

- `statistics`: what events look like, and how many of them a predicate lets through
- `gathering`: how past events are counted on Spark; `counting`: what is counted of them
- `counts`: how often each value occurs; `predicate_counts`: how many events meet predicates
- `sampling`: which events stand for all; `spreading`: what lies between the values counted
- `uses`: which predicates subscriptions use most

Analysis

- `analysis`: what the subscriptions of a store look like; `findings`: what was found out
- `meanings`: what each subscription means
- `cells`: which filters have to be compared; `redundancy`: which of them are redundant
- `mergers`: which filters could be one
- `popularity`: how often events match each subscription
- `summing`: what comes of all that is known about single subscriptions
- `analysis_page`: the page for a browser; `plots`: the bars on it

Starting Spark

- `session`: how Spark is started, and kept quiet; `java`: is there a Java that can run it?
- `cluster`: how a cluster is tried out on one machine

From the command line

- `command_analyse`: the command `tidegate analyse`
- `command_match`: the command `tidegate match`; `event_files`: how events are read from files
- `command_cluster`: the command `tidegate cluster`
- `progress`: how far has it come? `tally`: how many notifications are in these files?
- `command_statistics`: the command `tidegate statistics`
- `commands`: the command `tidegate subs`; `terminal`: how commands talk to people
- `imports`: how subscriptions come out of files; `formats`: CSV, JSON lines, Parquet

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
    "Commit": "tidegate.pipeline.log",
    "Hook": "tidegate.pipeline.sinks",
    "ParquetFolder": "tidegate.pipeline.sinks",
    "Statistics": "tidegate.pipeline.statistics",
    "Store": "tidegate.pipeline.store",
    "StoredSubscription": "tidegate.pipeline.store",
    "gather": "tidegate.pipeline.statistics",
    "latest": "tidegate.pipeline.statistics",
    "match": "tidegate.pipeline.matching",
    "match_stream": "tidegate.pipeline.streaming",
    "vacuum": "tidegate.pipeline.vacuuming",
}

if TYPE_CHECKING:
    from tidegate.pipeline.log import Commit
    from tidegate.pipeline.matching import match
    from tidegate.pipeline.sinks import Hook, ParquetFolder
    from tidegate.pipeline.statistics import Statistics, gather, latest
    from tidegate.pipeline.store import Store, StoredSubscription
    from tidegate.pipeline.streaming import match_stream
    from tidegate.pipeline.vacuuming import vacuum
else:  # type checkers would take any name for one that `__getattr__` knows
    __getattr__ = on_demand(globals(), _ON_DEMAND)
