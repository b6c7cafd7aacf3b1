"""Which rows of a table are refused, and why?"""

from collections.abc import Iterable

import numpy as np

from tidegate.errors import TidegateError
from tidegate.pipeline.store.literals import Rows


class Refusals:
    """Which rows are refused, and why; of a row, the first reason counts."""

    def __init__(self) -> None:
        self._errors: dict[int, TidegateError] = {}

    def add(self, rows: Iterable[int], error: TidegateError) -> None:
        """Refuse these rows for one reason."""
        for row in rows:
            self._errors.setdefault(int(row), error)

    def join(self, other: "Refusals") -> None:
        """Take over what another found later."""
        for row, error in other._errors.items():
            self._errors.setdefault(row, error)

    def sorted(self) -> list[tuple[int, TidegateError]]:
        """All of them, by row."""
        return sorted(self._errors.items())

    def rows(self) -> Rows:
        """The rows that are refused."""
        return np.array(sorted(self._errors), np.int64)

    def __len__(self) -> int:
        return len(self._errors)
