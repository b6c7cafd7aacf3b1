"""How do decision diagrams keep filters, so that one structure routes, covers and merges?

The modified binary decision diagrams of Li, Hou and Jacobsen, "A Unified Approach to Routing,
Covering and Merging in Publish/Subscribe Systems based on Modified Binary Decision Diagrams"
(2005). Predicates are Boolean variables (`papers.predicates`), a filter is a diagram over them, and
filters share nodes. An event, or another filter, gives the variables values, and each node is
evaluated once.

- `node_kernels`: how diagrams are grown and cut back; `evaluation_kernels`: how they are evaluated
- `diagram`: the arrays behind both
- `formula`: what a filter says in variables, and the diagram of that
- `order`: in which order attributes follow each other
- `dependencies`: which predicates follow from a predicate
- `covering`: what a new filter says about the variables of a table
- `table`: which output stands for which filter
- `merging`: which outputs can be one; `mergers`: what stands for what then
- `mbd`: all of it together, which is what people use (`MBD`)
"""

from typing import TYPE_CHECKING, Final

from tidegate.on_demand import on_demand

__all__ = ["MBD"]

_ON_DEMAND: Final = {"MBD": "tidegate.papers.mbd.mbd"}

if TYPE_CHECKING:
    from tidegate.papers.mbd.mbd import MBD
else:  # type checkers would take any name for one that `__getattr__` knows
    __getattr__ = on_demand(globals(), _ON_DEMAND)
