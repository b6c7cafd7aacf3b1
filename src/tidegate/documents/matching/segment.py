"""Many subscriptions to documents, compiled.

A `Segment` is made once and never changes: the plan of its patterns, for each target the codes of
the subscriptions behind it, their ids in the order of their codes, and what they were given as.
What has been removed since is said by whoever asks: `alive` has a bit for each code, and is empty
if all are. (So the engine's own bookkeeping of segments, `engine.changes`, keeps these as well.)

Some subscriptions have patterns of which a target does not say everything. They are behind their
targets apart, and for each document that meets one, the pattern is tried by `evaluate`.

Workspaces are kept for the next batch; as many as threads ever asked at once.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.documents.matching import output_kernels as output
from tidegate.documents.matching.originals import Originals
from tidegate.documents.matching.output_kernels import SLACK, Behind
from tidegate.documents.matching.parts import Parts, words_of
from tidegate.documents.matching.plan import Plan
from tidegate.documents.matching.trees import Trees
from tidegate.documents.matching.workspace import MEMORY, Workspace
from tidegate.documents.reading.documents import Documents
from tidegate.engine.description import Structure
from tidegate.engine.primitives.id_table import IdTable
from tidegate.engine.primitives.result_buffers import ResultColumn
from tidegate.engine.subscriptions.subscription import Subscription

Alive: TypeAlias = NDArray[np.uint64]
Integers: TypeAlias = NDArray[np.int64]


class Owners(NamedTuple):
    """Which subscriptions are behind which target."""

    exact: Behind
    """Those that are met with their target."""
    tried: Behind
    """Those that have to be tried then."""


class Found(NamedTuple):
    """The targets that a block of documents meets, and what came out of trying."""

    targets: NDArray[np.int32]
    stop: Integers
    tried_rows: NDArray[np.int32]
    tried_codes: NDArray[np.int32]


class Segment:
    """Compiled subscriptions, by code. Immutable, but for what is worked out on first use."""

    ranged: frozenset[str] = frozenset()

    def __init__(
        self, parts: Parts, plan: Plan, owners: Owners, ids: pa.Array, originals: Originals
    ) -> None:
        self.parts = parts
        self.plan = plan
        self.owners = owners
        self.ids = ids
        self.originals = originals
        self.memory = MEMORY
        self._free: list[Workspace] = []
        self._lock = threading.Lock()
        self._made = 0
        self.tries = 0

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def codes(self) -> IdTable:
        """The code of each id."""
        return IdTable(self.ids)

    @cached_property
    def words(self) -> dict[bytes, int]:
        """The names in the patterns."""
        return words_of(self.parts)

    def subscription(self, code: int) -> Subscription:
        """The subscription of a code."""
        return self.originals.subscription(code, self.ids[code].as_py())

    @contextmanager
    def workspace(self) -> Iterator[Workspace]:
        """A workspace that nobody else uses meanwhile."""
        with self._lock:
            work = self._free.pop() if self._free else None
            self._made += work is None
        if work is None:
            targets = len(self.parts.target_node)
            work = Workspace(self.plan, self.words, targets, self.memory)
        try:
            yield work
        finally:
            with self._lock:
                self._free.append(work)

    def count(self, documents: Documents, trees: Trees, alive: Alive) -> Integers:
        """How many subscriptions each document meets."""
        with self.workspace() as work:
            found = self._found(work, documents, trees, alive)
            return self._counts(work, found, alive, len(documents))

    def pairs(
        self, documents: Documents, trees: Trees, alive: Alive, before: int
    ) -> tuple[pa.Array, pa.Array]:
        """The documents' rows, counted from the one before, and the codes they meet."""
        with self.workspace() as work:
            found = self._found(work, documents, trees, alive)
            counts = self._counts(work, found, alive, len(documents))
            total = int(counts.sum())
            rows, codes = ResultColumn(total + SLACK), ResultColumn(total + SLACK)
            exact = self.owners.exact
            stamp, token = self._stamps(work, len(documents))
            written = output.write(
                found.targets,
                found.stop,
                exact,
                alive,
                stamp,
                token,
                before,
                rows.array,
                codes.array,
            )
            rows.array[written:total] = found.tried_rows + before
            codes.array[written:total] = found.tried_codes
            return rows.arrow(total), codes.arrow(total)

    def _found(self, work: Workspace, documents: Documents, trees: Trees, alive: Alive) -> Found:
        """What documents meet. The targets lie in the workspace."""
        targets, stop = work.match(documents)
        none = np.zeros(0, np.int32)
        tried = self.owners.tried
        if not tried.start[-1]:
            return Found(targets, stop, none, none)
        stamp, token = self._stamps(work, len(documents))
        counts = np.zeros(len(documents), np.int64)
        output.count(targets, stop, tried, alive, stamp, token, counts)
        total = int(counts.sum())
        rows, codes = np.zeros(total, np.int32), np.zeros(total + SLACK, np.int32)
        stamp, token = self._stamps(work, len(documents))
        output.write(targets, stop, tried, alive, stamp, token, 0, rows, codes)
        kept = [
            any(trees.matches(pattern, row) for pattern in self.originals.xpath(code).patterns)
            for row, code in zip(rows.tolist(), codes[:total].tolist(), strict=True)
        ]
        with self._lock:
            self.tries += len(kept)
        chosen = np.array(kept, np.bool_)
        return Found(targets, stop, rows[chosen], codes[:total][chosen])

    def _counts(self, work: Workspace, found: Found, alive: Alive, documents: int) -> Integers:
        counts = np.zeros(documents, np.int64)
        stamp, token = self._stamps(work, documents)
        output.count(found.targets, found.stop, self.owners.exact, alive, stamp, token, counts)
        np.add.at(counts, found.tried_rows, 1)
        return counts

    def _stamps(self, work: Workspace, documents: int) -> tuple[Integers, int]:
        """Stamps of the codes, and a token from which on none of them has one."""
        if len(work.code_stamp) < len(self):
            work.code_stamp = np.zeros(len(self), np.int64)
        token = work.code_token
        work.code_token += documents + 1
        return work.code_stamp, token

    def structures(self) -> list[Structure]:
        """What the segment is made of."""
        tried = len(np.unique(_codes(self.owners.tried)))
        empty = self._impossible
        targets, plan = len(self.parts.target_node), self.plan
        with self._lock:
            work = sum(each.nbytes for each in self._free)
            states = sum(each.trunks.states + each.ways.states for each in self._free)
        exact = len(self) - tried - empty
        own = sum(array.nbytes for part in (plan.trunks, self.owners.exact) for array in part)
        rest = sum(a.nbytes for part in (plan.ways, plan.leaves, plan.keys) for a in part)
        rest += sum(array.nbytes for array in plan.conditions)
        found = [
            Structure("documents: paths in one automaton", exact, targets, own),
            Structure(f"{len(plan.leaves.kind):,} guards", 0, len(plan.leaves.kind), rest),
            Structure(f"{states:,} states kept", 0, states, work, work),
        ]
        if tried:
            found.append(Structure("tried one by one", tried, 0, 0))
        if empty:
            found.append(Structure("filters that nothing can match", empty, 0, 0))
        return found

    @cached_property
    def _impossible(self) -> int:
        codes = np.concatenate([_codes(behind) for behind in self.owners])
        return len(self) - len(np.unique(codes))

    @property
    def nbytes(self) -> int:
        """The memory of what matching looks at."""
        parts: list[Any] = [*self.plan, self.owners.exact, self.owners.tried]
        return sum(array.nbytes for part in parts for array in part)


def _codes(behind: Behind) -> NDArray[np.int32]:
    return behind.codes[: behind.start[-1]]
