"""How does a package offer names without loading them?

What needs compiled kernels or Spark is imported when it is first asked for, so that everything else
costs no more than it needs. A package says in which module each name is at home, and takes what is
made of that as its `__getattr__`.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def on_demand(package: dict[str, Any], homes: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package, whose `globals()` are given."""

    def look_up(name: str) -> object:
        home = homes.get(name)
        if home is None:
            owner = package["__name__"]
            raise AttributeError(f"module {owner!r} has no attribute {name!r}", name=name)
        found = package[name] = getattr(import_module(home), name)
        return found

    return look_up
