"""Which of many filters match an event, cover a filter, are covered by it, or overlap it?

- `ruler`: where a value, or a set of values, lies among the cuts of an attribute
- `space`: how far a filter reaches, in integers
- `box_packing`: how integer boxes become a segment; `box_kernels`: the search in it
- `integer_boxes`: a changing set of integer boxes
- `box_store`: the same for filters, which is what people use (`BoxStore`)
"""

from typing import TYPE_CHECKING, Final

from tidegate.on_demand import on_demand

__all__ = ["BoxStore"]

_ON_DEMAND: Final = {"BoxStore": "tidegate.engine.boxes.box_store"}

if TYPE_CHECKING:
    from tidegate.engine.boxes.box_store import BoxStore
else:  # type checkers would take any name for one that `__getattr__` knows
    __getattr__ = on_demand(globals(), _ON_DEMAND)
