"""What a store should say: every version a plain dictionary, changed one change after the other.

Nothing of the store's own code is used. Whether a filter takes values is for `Filter.bind` to say.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import tidegate as tg


class Kept(NamedTuple):
    subscriber: str
    filter: str
    parameters: dict[str, Any]
    version: int


class Change(NamedTuple):
    """One change; `parameters` are those that are given."""

    change: str
    id: str
    subscriber: str | None = None
    filter: str | None = None
    parameters: Mapping[str, Any] | None = None


class Written(NamedTuple):
    """One change as the log has it; `parameters` are complete."""

    version: int
    place: int
    change: str
    id: str
    subscriber: str | None
    filter: str | None
    parameters: dict[str, Any] | None


State = dict[str, Kept]


@dataclass
class OracleStore:
    """A store in memory: the state of every version, and the changes it made."""

    schema: tg.Schema | None = None
    states: list[State] = field(default_factory=lambda: [{}])
    log: list[list[Written]] = field(default_factory=lambda: [[]])

    def version(self) -> int:
        return len(self.states) - 1

    def change(self, changes: Sequence[Change]) -> int:
        """All of them, or the error of the first that is refused."""
        if not changes:
            return self.version()
        state = dict(self.states[-1])
        version = len(self.states)
        rows = [self._apply(state, version, place, each) for place, each in enumerate(changes)]
        self.states.append(state)
        self.log.append(rows)
        return version

    def same_again(self) -> None:
        """A version that changes nothing, as that of a compaction."""
        self.states.append(self.states[-1])
        self.log.append([])

    def changes(self, after: int, upto: int) -> list[Written]:
        return [row for rows in self.log[after + 1 : upto + 1] for row in rows]

    def _apply(self, state: State, version: int, place: int, wanted: Change) -> Written:
        id = wanted.id
        if wanted.change == "add":
            assert wanted.filter is not None
            owner = id if wanted.subscriber is None else wanted.subscriber
            values = dict(wanted.parameters or {})
            self._bind(wanted.filter, values)
            if id in state:
                raise tg.SubscriptionError(f"there is a subscription {id!r} already")
            state[id] = Kept(owner, wanted.filter, values, version)
            return Written(version, place, "add", id, owner, wanted.filter, values)
        if id not in state:
            raise tg.SubscriptionError(f"there is no subscription {id!r}")
        old = state.pop(id)
        if wanted.change == "remove":
            return Written(version, place, "remove", id, None, None, None)
        values = {**old.parameters, **(wanted.parameters or {})}
        self._bind(old.filter, values)
        state[id] = old._replace(parameters=values, version=version)
        return Written(version, place, "update", id, None, None, values)

    def _bind(self, text: str, values: dict[str, Any]) -> None:
        tg.parse(text, self.schema).bind(**values).require_bound()
