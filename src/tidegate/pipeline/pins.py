"""The documented path to `unpin`, which is at home in `store.pins`."""

from tidegate.pipeline.store.pins import unpin

__all__ = ["unpin"]
