"""How do filters that came one by one become entries, a column at a time?

Filters of many shapes still ask alike of single attributes. They are taken apart (`clauses`), each
column is read like a block of subscriptions (`block_entries`), each distinct constant once, ranges
not even that; and the entries of a filter's clauses are put together again. Clauses that hardly any
other filter has are looked at by themselves.

Invariant: an entry asks for the same as its filter.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.compile.block_entries import BlockPart, BlockReader
from tidegate.engine.compile.clauses import ClauseColumn, Clauses
from tidegate.engine.conditions.numbered import ALWAYS, NEVER, Conditions
from tidegate.engine.conditions.ranges import Ranges, concatenate
from tidegate.engine.partition.programs import NO_PROGRAM, Programs
from tidegate.filters.expression import And, Node, Predicate
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema


class ClauseReader:
    """Filters, by what they ask of each attribute.

    As of a `BlockReader`, entries are made when it is known which attributes have ranges.
    """

    def __init__(
        self,
        filters: Sequence[Filter],
        schema: Schema | None,
        conditions: Conditions,
        programs: Programs,
    ) -> None:
        self._size = len(filters)
        self._never = np.zeros(self._size, np.bool_)
        self._program = np.full(self._size, NO_PROGRAM, np.int32)
        self._conditions = conditions
        self._programs = programs
        self._owner: list[int] = []  # of conditions that are looked at by themselves
        self._refs: list[int] = []
        self._columns: list[tuple[NDArray[np.int64], BlockReader]] = []
        clauses = Clauses(filters)
        self._never[clauses.never] = True
        for column in clauses.columns:
            self._read(column, schema)
        others: dict[int, list[Node]] = {}
        for row, node in clauses.others:
            others.setdefault(row, []).append(node)
        for row, nodes in others.items():
            self._add_program(row, programs.of(And(tuple(nodes))))

    def _read(self, column: ClauseColumn, schema: Schema | None) -> None:
        """Read a column as a block; a short one, or one of odd constants, a row at a time."""
        block = column.block(schema)
        if block is None:
            for row, predicates in column.each():
                self._add_condition(row, self._stated(predicates))
            return
        reader = BlockReader(block, schema, self._conditions, self._programs)
        self._columns.append((np.array(column.rows, np.int64), reader))

    def _add_program(self, row: int, program: int) -> None:
        if program == NEVER:
            self._never[row] = True
        elif program != ALWAYS:
            self._program[row] = program

    def _add_condition(self, row: int, number: int) -> None:
        if number == NEVER:
            self._never[row] = True
        elif number != ALWAYS:
            self._owner.append(row)
            self._refs.append(number)

    def _stated(self, predicates: list[Predicate]) -> int:
        """The number of what some predicates on one attribute state together."""
        number = ALWAYS
        for predicate in predicates:
            number = self._conditions.both(number, self._conditions.of(predicate))
        return number

    @property
    def refs(self) -> NDArray[np.int32]:
        """The conditions that were looked at by themselves."""
        return np.array(self._refs, np.int32)

    def possible_ranges(self) -> Iterator[tuple[str, Ranges]]:
        """What could be ranges, by attribute."""
        for _, reader in self._columns:
            yield from reader.possible_ranges()

    def part(self, own: Container[str], attribute_number: Callable[[str], int]) -> BlockPart:
        """The entries, with ranges of their own on these attributes, which have these numbers."""
        never = self._never.copy()
        ref_owner = [np.array(self._owner, np.int64)]
        refs = [self.refs]
        range_owner: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        attributes: list[NDArray[Any]] = [np.empty(0, np.uint16)]
        ranges: list[Ranges] = []
        for rows, reader in self._columns:
            part = reader.part(own, attribute_number)
            never[rows[part.never]] = True
            ref_owner.append(np.repeat(rows, part.ref_count))
            refs.append(part.refs)
            range_owner.append(np.repeat(rows, part.range_count))
            attributes.append(part.range_attribute)
            ranges.append(part.ranges)
        kept, order = _ordered(np.concatenate(ref_owner), np.concatenate(refs), never)
        ranged, by_owner = _ordered(
            np.concatenate(range_owner), np.concatenate(attributes).astype(np.int64), never
        )
        return BlockPart(
            np.bincount(kept, minlength=self._size),
            np.concatenate(refs)[order],
            np.bincount(ranged, minlength=self._size),
            np.concatenate(attributes)[by_owner],
            concatenate(ranges).take(by_owner),
            np.where(never, NO_PROGRAM, self._program),
            never,
        )


def _ordered(
    owner: NDArray[np.int64], what: NDArray[Any], never: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of what filters that something can match have, by filter, and whose they are."""
    kept = np.flatnonzero(~never[owner])
    order = kept[np.lexsort((what[kept], owner[kept]))]
    return owner[order], order
