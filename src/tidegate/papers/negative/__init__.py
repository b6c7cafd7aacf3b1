"""What does no filter cover?

The *negative space* of Jafarpour, Hore, Mehrotra, Venkatasubramanian, "Subscription Subsumption
Evaluation for Content-Based Publish/Subscribe Systems" (Middleware 2008): the part of the content
space that no filter covers, as disjoint boxes. A filter is subsumed if it overlaps none of them.

- `tree_kernels`: which boxes a box overlaps, and what is left of them without it
- `tree_packing`: how many boxes become a tree; `tidy`: which boxes that touch can be one
- `box_tree`: a changing set of disjoint boxes
- `coordinates`: where a filter lies, in integers
- `marks`: how large a box is, about; `volume`: how many events of a grid are in boxes
- `part_rows`: which filters' parts a box overlaps, and which filter holds it
- `covered_by`: which pieces each filter has taken away
- `uncovered`: what is left of the content space
- `approximate`: the space with at most k boxes more for each filter (`ApproximateNegativeSpace`)
- `exact`: the exact space (`ExactNegativeSpace`)
- `forwarding`: which subscriptions a broker forwards (`Forwarding`)
"""

from typing import TYPE_CHECKING, Final

from tidegate.on_demand import on_demand

__all__ = ["ApproximateNegativeSpace", "ExactNegativeSpace", "Forwarding"]

_ON_DEMAND: Final = {
    "ApproximateNegativeSpace": "tidegate.papers.negative.approximate",
    "ExactNegativeSpace": "tidegate.papers.negative.exact",
    "Forwarding": "tidegate.papers.negative.forwarding",
}

if TYPE_CHECKING:
    from tidegate.papers.negative.approximate import ApproximateNegativeSpace
    from tidegate.papers.negative.exact import ExactNegativeSpace
    from tidegate.papers.negative.forwarding import Forwarding
else:  # type checkers would take any name for one that `__getattr__` knows
    __getattr__ = on_demand(globals(), _ON_DEMAND)
