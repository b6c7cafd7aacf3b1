"""What do the subscriptions of a store look like?

- `findings`: what an analysis has found
- `meanings`: what each stored subscription means
- `pieces`: of which simple pieces a filter is made
- `cells`: which filters have to be compared with each other
- `scouts`: which filters can be seen at once to be covered
- `covering`: which of many filters are covered by another one
- `subsumption`: which filters others cover together
- `redundancy`: which filters of a cell others make redundant
- `mergers`: which filters could be one
- `popularity`: how often events match each subscription
- `tasks`: what the tasks of an analysis do
- `report_queries`: what comes of all that is known about single subscriptions
- `jobs`: the jobs of Spark, in their order (`analyse`)
- `negative_space`: what no subscription covers, as a job of its own (`negative_space`)
- `bars`: how a distribution looks; `page`: what was found, for somebody with a browser
"""

from typing import TYPE_CHECKING, Final

from tidegate.on_demand import on_demand

__all__ = ["analyse"]

_ON_DEMAND: Final = {"analyse": "tidegate.pipeline.analysis.jobs"}

if TYPE_CHECKING:
    from tidegate.pipeline.analysis.jobs import analyse
else:  # type checkers would take any name for one that `__getattr__` knows
    __getattr__ = on_demand(globals(), _ON_DEMAND)
