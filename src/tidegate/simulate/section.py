"""Is what a file says what it should say?

A table of a TOML file, read key by key. Whatever is wrong is refused with the key's full name and
what is allowed there; so is a key that nobody asks for.
"""

import difflib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tidegate.errors import ScenarioError

REQUIRED: Final = object()


def table_in(path: Path, seed: int | None = None) -> dict[str, Any]:
    """The table in a scenario's file, called like the file; perhaps with another seed."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path} is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path} is not TOML: {error}") from None
    return {"name": path.stem, **table, **({} if seed is None else {"seed": seed})}


class Section:
    """One table; `where` is its full name, empty for the whole file.

    >>> section = Section({"brokers": -1}, "topology")
    >>> section.integer("brokers", least=1)
    Traceback (most recent call last):
    ...
    tidegate.errors.ScenarioError: topology.brokers is -1; a whole number of at least 1 is allowed
    """

    def __init__(self, table: dict[str, Any], where: str = "") -> None:
        self.where: Final = where
        self._table = table
        self._asked: dict[str, None] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def named(self, key: str) -> str:
        """The full name of a key."""
        return f"{self.where}.{key}" if self.where else key

    @property
    def keys(self) -> list[str]:
        """All keys that are there."""
        return list(self._table)

    def value(self, key: str, default: Any = REQUIRED) -> Any:
        """Whatever stands there."""
        self._asked[key] = None
        if key in self._table:
            return self._table[key]
        if default is REQUIRED:
            raise ScenarioError(f"{self.named(key)} is missing")
        return default

    def number(self, key: str, default: Any = REQUIRED, least: float | None = None) -> Any:
        """A number."""
        found = self.value(key, default)
        if found is default and key not in self._table:
            return found
        wrong = isinstance(found, bool) or not isinstance(found, int | float)
        if wrong or found != found or (least is not None and found < least):
            self.refuse(key, "a number" + _at_least(least))
        return float(found)

    def integer(self, key: str, default: Any = REQUIRED, least: int | None = None) -> Any:
        """A whole number."""
        found = self.value(key, default)
        if found is default and key not in self._table:
            return found
        if type(found) is not int or (least is not None and found < least):
            self.refuse(key, "a whole number" + _at_least(least))
        return found

    def text(self, key: str, default: Any = REQUIRED, among: Sequence[str] = ()) -> Any:
        """A string, perhaps one of a few."""
        found = self.value(key, default)
        if found is default and key not in self._table:
            return found
        if not isinstance(found, str) or (among and found not in among):
            self.refuse(key, "one of " + ", ".join(among) if among else "a string")
        return found

    def boolean(self, key: str, default: Any = REQUIRED) -> bool:
        """True or false."""
        found = self.value(key, default)
        if not isinstance(found, bool):
            self.refuse(key, "true or false")
        return bool(found)

    def texts(self, key: str, default: Any = REQUIRED) -> list[str]:
        """A list of strings."""
        found = self.value(key, default)
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            self.refuse(key, "a list of strings")
        return list(found)

    def range(self, key: str) -> tuple[float, float]:
        """Two numbers."""
        found = self.value(key)
        numbers = isinstance(found, list) and all(type(each) in (int, float) for each in found)
        if not numbers or len(found) != 2:
            self.refuse(key, "two numbers")
        return found[0], found[1]

    def section(self, key: str) -> "Section":
        """A table within this one; an empty one if it is not there."""
        found = self.value(key, {})
        if not isinstance(found, dict):
            self.refuse(key, "a table")
        return Section(found, self.named(key))

    def sections(self, key: str) -> list["Section"]:
        """A list of tables within this one."""
        found = self.value(key, [])
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            self.refuse(key, "a list of tables")
        return [Section(each, f"{self.named(key)}[{i}]") for i, each in enumerate(found)]

    def close(self) -> None:
        """Refuse keys that nobody has asked for."""
        for key in self._table:
            if key not in self._asked:
                near = difflib.get_close_matches(key, self._asked, n=1)
                hint = f"; {self.named(near[0])} is meant, perhaps" if near else ""
                known = ", ".join(self._asked) or "no keys"
                raise ScenarioError(f"there is no {self.named(key)}, but {known}{hint}")

    def refuse(self, key: str, allowed: str) -> None:
        """Say that something is wrong."""
        raise ScenarioError(f"{self.named(key)} is {self._table[key]!r}; {allowed} is allowed")


def _at_least(least: float | None) -> str:
    return "" if least is None else f" of at least {least}"
