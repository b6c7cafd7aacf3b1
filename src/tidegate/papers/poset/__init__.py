"""Which filters match, cover or overlap, found by who covers whom?

The poset of Siena and of Jayaram, Jayalath, Eugster, *Parametric Subscriptions for Content-Based
Publish/Subscribe Networks* (2010): filters hang under the filters that cover them, and one whose
constants move is moved where it is.

- `outline`: can one filter cover another at all? `sieve_kernels`: the same of many at once
- `node`: a filter, what is directly above and below it, and the outlines of that
- `diagram`: nodes and links, and how they change
- `search`: where a filter belongs
- `change`: what a broker has to tell its neighbours
- `poset`: all of it under the caller's numbers, which is what people use (`Poset`)
- `variables`: subscriptions whose parameters follow variables (`Variables`)
"""

from typing import TYPE_CHECKING, Final

from tidegate.on_demand import on_demand

__all__ = ["Poset", "Variables"]

_ON_DEMAND: Final = {
    "Poset": "tidegate.papers.poset.poset",
    "Variables": "tidegate.papers.poset.variables",
}

if TYPE_CHECKING:
    from tidegate.papers.poset.poset import Poset
    from tidegate.papers.poset.variables import Variables
else:  # type checkers would take any name for one that `__getattr__` knows
    __getattr__ = on_demand(globals(), _ON_DEMAND)
