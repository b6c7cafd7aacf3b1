"""How is an index saved, and opened again?

As one file (`container`) of what its segment is made of: the ids and the flat arrays of its
structures as they are, its conditions and the schema in writing (`notation`), and what the
subscriptions were given as (`originals_file`). Opening maps the file, looks whether the arrays fit
together (`consistency`), and stops there: conditions are read when the first event comes,
subscriptions when one is asked for. So a million subscriptions are open in less than a tenth of a
second, and processes that have opened the same file share its memory.

The map is copy-on-write, although nothing writes to it: kernels are compiled for arrays that can be
written, and would be compiled once more for those that cannot.

Invariant: an opened index answers as the one that was saved; a file that does not say one thing
throughout is refused with an `IndexFileError`, at the latest when what is wrong in it is needed.
"""

import json
import os
from collections.abc import Mapping
from functools import reduce
from operator import and_
from typing import Any, Final, NamedTuple, TypeAlias, get_args, get_type_hints

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.conditions.condition import Condition
from tidegate.engine.conditions.cuts import has_int64_keys
from tidegate.engine.conditions.key_table import KeyTable, points
from tidegate.engine.conditions.numbered import Conditions
from tidegate.engine.conditions.ranges import NO_RANGES, Ranges
from tidegate.engine.file import container
from tidegate.engine.file.consistency import (
    check_ascending,
    check_below,
    check_codes,
    check_ends,
    check_entries,
    check_ranges,
    check_spans,
    check_starts,
    check_tiling,
    reading,
    require,
)
from tidegate.engine.file.container import Arrays, Location, table_from_bytes, table_to_bytes
from tidegate.engine.file.originals_file import column, read_originals, write_originals
from tidegate.engine.partition.arrays import AND, NO_ROW, OPERAND, OR, Ends, Entries
from tidegate.engine.partition.partition import Partition, used_conditions
from tidegate.engine.partition.range_ends import RangeAxes, complete
from tidegate.engine.partition.rows import AxisTable
from tidegate.engine.segments.segment import Segment
from tidegate.engine.subscriptions.originals import Originals
from tidegate.engine.sweep.end_numbers import EndTable
from tidegate.engine.sweep.sweep import Sweep
from tidegate.errors import IndexFileError, TidegateError
from tidegate.filters.expression import Node, Predicate, conjuncts
from tidegate.filters.lines import Line
from tidegate.filters.meaning import allowed
from tidegate.filters.notation import Spelled, read_schema, read_tree, spell_schema, spell_tree
from tidegate.filters.schema import Schema

Sections: TypeAlias = Mapping[str, NDArray[Any]]

_FORMAT: Final = 1  # of what is in the file; the file itself has a format of its own
_KINDS: Final[dict[str, tuple[type, pa.DataType]]] = {
    "string": (str, pa.string()),
    "integer": (int, pa.int64()),
}
_ENDS: Final = ("low_start", "lows", "high_start", "highs", "range_low", "range_high")
_RANGES: Final = ("kind", "low", "high")


class Saved(NamedTuple):
    """What a file holds: a schema, the kind of its ids, and all subscriptions, if there are any."""

    schema: Schema | None
    kind: type | None
    segment: Segment | None


def write(path: Location, saved: Saved) -> None:
    """Write a file, or replace one as a whole."""
    kinds = {kind: name for name, (kind, _) in _KINDS.items()}
    header: dict[str, Any] = {
        "index": _FORMAT,
        "schema": None if saved.schema is None else _spelled_schema(saved.schema),
        "ids": None if saved.kind is None else kinds[saved.kind],
        "segment": None,
    }
    arrays: Arrays = {}
    if saved.segment is not None:
        header["segment"], arrays = _Writer(saved.segment).parts()
    container.write(path, header, arrays)


def _spelled_schema(schema: Schema) -> Spelled:
    spelled = spell_schema(schema)
    if read_schema(spelled) != schema:
        raise TidegateError("a schema with types of its own making cannot be saved")
    return spelled


class _Writer:
    """A segment as a part of the header and sections."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        tables = [each.key for each in segment.partitions] + [each.key for each in segment.sweeps]
        keys = [column for key in tables if key is not None for column in key.columns]
        refs = [used_conditions(partition.entries) for partition in segment.partitions]
        joined = np.concatenate([np.empty(0, np.int64), *keys, *refs])
        self._used = np.unique(joined).astype(np.int64)  # conditions; they are numbered anew
        self._is_same = len(self._used) == len(segment.table.conditions)

    def parts(self) -> tuple[Spelled, Arrays]:
        segment = self._segment
        filters, originals = write_originals(segment.originals)
        arrays: Arrays = {
            "ids": table_to_bytes(pa.table({"id": segment.ids})),
            "conditions": table_to_bytes(self._conditions()),
            **{f"sources/{name}": array for name, array in originals.items()},
            **{f"ends/{name}": array for name, array in self._ends().items()},
        }
        header: dict[str, Any] = {"tables": filters}
        for name, parts in (
            ("partitions", [self._partition(each) for each in segment.partitions]),
            ("sweeps", [self._sweep(each) for each in segment.sweeps]),
        ):
            header[name] = [said for said, _ in parts]
            for place, (_, sections) in enumerate(parts):
                arrays |= {f"{name}/{place}/{label}": own for label, own in sections.items()}
        return header, arrays

    def _conditions(self) -> pa.Table:
        conditions = self._segment.table.conditions
        texts = [json.dumps(spell_tree(conditions[n].node)) for n in self._used.tolist()]
        return pa.table({"condition": pa.array(texts, pa.string())})

    def _ends(self) -> Arrays:
        """Under a schema, the ends of all swept ranges by attribute."""
        found: Arrays = {}
        for sweep in self._segment.sweeps:
            lines = sweep.range_lines.own or ()
            for attribute, line in zip(sweep.attributes, lines, strict=False):
                assert line is not None
                found[attribute] = self._segment.ends.cuts(attribute, line)
        return found

    def _numbered(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Numbers of conditions as they are in the file."""
        if self._is_same:
            return numbers
        return np.searchsorted(self._used, numbers).astype(numbers.dtype)

    def _partition(self, partition: Partition) -> tuple[Spelled, Arrays]:
        entries, axes = partition.entries, partition.axes
        tokens, heads = entries.tokens.copy(), entries.zone_head.copy()
        operations = tokens & np.uint32(~OPERAND & 0xFFFF_FFFF)
        named = (operations != AND) & (operations != OR)
        operands = self._numbered(tokens[named] & np.uint32(OPERAND))
        tokens[named] = operations[named] | operands
        is_head = heads != NO_ROW
        heads[is_head] = self._numbered(heads[is_head])
        refs = self._numbered(entries.refs)
        flat = entries._replace(refs=refs, tokens=tokens, zone_head=heads)
        arrays: Arrays = dict(zip(flat._fields, flat, strict=True))
        if axes.range_lines.own:
            ends = axes.ends(axes.range_lines.own)
            arrays |= {name: getattr(ends, name) for name in _ENDS}
        elif axes.attributes:
            arrays |= {f"ranges/{name}": getattr(axes.ranges, name) for name in _RANGES}
        said = {"first_code": partition.first_code, "ranges": list(axes.attributes)}
        return self._keyed(partition.key, said, arrays)

    def _sweep(self, sweep: Sweep) -> tuple[Spelled, Arrays]:
        arrays: Arrays = {"group_start": sweep.group_start, "code_start": sweep.code_start}
        own = sweep.range_lines.own
        if own is not None:
            spans = sweep.spans(own)
            arrays |= {"low": spans.low, "high": spans.high}
        else:
            for axis, (entries, ranges) in enumerate(sweep.owned):
                order = np.argsort(entries)
                arrays[f"owned/{axis}"] = entries[order]
                kept = ranges.take(order)
                arrays |= {f"ranges/{axis}/{name}": getattr(kept, name) for name in _RANGES}
        said = {"first_code": sweep.first_code, "ranges": list(sweep.attributes)}
        return self._keyed(sweep.key, said, arrays)

    def _keyed(
        self, key: KeyTable | None, said: dict[str, Any], arrays: Arrays
    ) -> tuple[Spelled, Arrays]:
        columns = () if key is None else key.columns
        arrays |= {f"key/{i}": self._numbered(column) for i, column in enumerate(columns)}
        return {**said, "key": [] if key is None else list(key.attributes)}, arrays


def read(path: Location) -> Saved:
    """What a file holds, mapped."""
    name = os.fspath(path)
    header, arrays = container.read(path, copy_on_write=True)
    if header.get("index") != _FORMAT:
        raise IndexFileError(
            f"{name} holds no index, or one of another version: save it again with this one"
        )
    with reading(name):
        schema = None if header["schema"] is None else read_schema(header["schema"])
        kind, arrow = (None, None) if header["ids"] is None else _KINDS[header["ids"]]
        if header["segment"] is None:
            return Saved(schema, kind, None)
        ids = column(table_from_bytes(_section(arrays, "ids", np.uint8)), "id", arrow)
        segment = _Reader(name, schema, header["segment"], arrays, ids).segment()
        return Saved(schema, kind, segment)


def _section(arrays: Sections, label: str, kind: Any) -> NDArray[Any]:
    require(label in arrays, f"there is no {label}")
    require(arrays[label].dtype == kind, f"{label} is of another type")
    return arrays[label]


def _kinds(flat: type) -> dict[str, Any]:
    """The types of the arrays that kernels take together."""
    hints = get_type_hints(flat)
    return {name: get_args(get_args(hint)[1])[0] for name, hint in hints.items() if get_args(hint)}


_ENTRY_KINDS: Final = _kinds(Entries)
_END_KINDS: Final = _kinds(Ends)


class _Reader:
    """The segment of a file."""

    def __init__(
        self, name: str, schema: Schema | None, said: Spelled, arrays: Arrays, ids: pa.Array
    ) -> None:
        self._name = name
        self._schema = schema
        self._said = said
        self._arrays = arrays
        self._ids = ids
        self._texts = table_from_bytes(_section(arrays, "conditions", np.uint8))
        self._count = len(self._texts)
        self._keys: list[KeyTable] = []
        self._taken = {"ids", "conditions", *(n for n in arrays if n.startswith("sources/"))}
        self._conditions = Conditions(schema, self._read_conditions)
        self._table = AxisTable(self._conditions)
        self._ends = EndTable(schema, self._cuts())

    def segment(self) -> Segment:
        """All of it."""
        said = self._said
        partitions = [self._partition(each, i) for i, each in enumerate(said["partitions"])]
        sweeps = [self._sweep(each, i) for i, each in enumerate(said["sweeps"])]
        structures: list[Partition | Sweep] = [*partitions, *sweeps]
        first_codes = [each.first_code for each in structures]
        check_tiling(first_codes, [each.codes for each in structures], len(self._ids))
        require(len(self._ids) == len(self._arrays["sources/table"]) > 0, "ids are missing")
        unknown = [label for label in self._arrays if label not in self._taken]
        require(not unknown, f"nothing tells of {', '.join(unknown)}")

        def originals() -> Originals:
            with reading(self._name):
                require(len(segment.codes) == len(segment), "an id is there twice")
                return self._read_originals()

        segment = Segment(self._table, partitions, self._ends, sweeps, self._ids, originals)
        return segment

    def _partition(self, said: Spelled, place: int) -> Partition:
        own = f"partitions/{place}/"
        arrays = {name: self._section(own + name, kind) for name, kind in _ENTRY_KINDS.items()}
        entries = Entries(**arrays)
        key, attributes = self._key(said, own), self._attributes(said)
        check_entries(entries, 1 if key is None else len(key), self._count, len(attributes))
        axes = self._axes(own, attributes, entries)
        return Partition(self._table, key, entries, axes, int(said["first_code"]))

    def _axes(self, own: str, attributes: tuple[str, ...], entries: Entries) -> RangeAxes:
        if not attributes:
            return RangeAxes((), NO_RANGES, entries, self._schema)
        if self._schema is None:
            ranges = self._ranges(f"{own}ranges/", len(entries.range_axis))
            return RangeAxes(attributes, ranges, entries, None)
        arrays = [self._section(own + name, _END_KINDS[name]) for name in _ENDS]
        low_start, lows, high_start, highs, range_low, range_high = arrays
        check_ends(entries, len(attributes), low_start, lows, range_low)
        check_ends(entries, len(attributes), high_start, highs, range_high)
        return RangeAxes(attributes, complete(entries, *arrays), entries, self._schema)

    def _sweep(self, said: Spelled, place: int) -> Sweep:
        own = f"sweeps/{place}/"
        key, attributes = self._key(said, own), self._attributes(said)
        require(key is not None, "a sweep has no key")
        assert key is not None
        group_start = self._section(own + "group_start", np.uint32)
        require(len(group_start) > 0, "there are no groups")
        size = int(group_start[-1])
        check_starts("groups", group_start, len(key), size)
        code_start = self._section(own + "code_start", np.uint32)
        check_codes(code_start, size)
        first_code = int(said["first_code"])
        if self._schema is None:
            owned = [self._owned(own, axis, size) for axis in range(len(attributes))]
            return Sweep(
                key, group_start, code_start, attributes, owned, self._ends, None, first_code
            )
        low, high = (self._section(own + name, np.int32) for name in ("low", "high"))
        counts = [len(self._arrays[f"ends/{attribute}"]) for attribute in attributes]
        check_spans(low, high, size, counts)
        return Sweep(
            key, group_start, code_start, attributes, None, self._ends, self._schema, first_code,
            (low, high),
        )  # fmt: skip

    def _owned(self, own: str, axis: int, size: int) -> tuple[NDArray[np.int64], Ranges]:
        """The entries of a sweep that have a range on an axis, and these ranges."""
        entries = self._section(f"{own}owned/{axis}", np.int64)
        check_ascending("entries with ranges", entries)
        check_below("entries with ranges", entries, size)
        return entries, self._ranges(f"{own}ranges/{axis}/", len(entries))

    def _ranges(self, own: str, size: int) -> Ranges:
        kinds = zip(_RANGES, (np.uint8, np.int64, np.int64), strict=True)
        ranges = Ranges(*[self._section(own + name, kind) for name, kind in kinds])
        check_ranges(ranges, size)
        return ranges

    def _cuts(self) -> dict[tuple[str, Line], NDArray[Any]]:
        found: dict[tuple[str, Line], NDArray[Any]] = {}
        for label in self._arrays:
            if label.startswith("ends/"):
                attribute = label.removeprefix("ends/")
                found[attribute, self._line(attribute)] = self._section(label, np.int64)
                check_ascending("ends of ranges", self._arrays[label])
        return found

    def _attributes(self, said: Spelled) -> tuple[str, ...]:
        """The attributes of ranges."""
        attributes = tuple(said["ranges"])
        for name in attributes:
            require(isinstance(name, str), "attributes have names")
            if self._schema is not None:
                self._line(name)
        return attributes

    def _line(self, attribute: str) -> Line:
        """The line on which the ranges of an attribute have their ends, under a schema."""
        require(self._schema is not None, "there are ends without a schema")
        assert self._schema is not None
        line = self._schema[attribute].type.line
        if line is None or not has_int64_keys(line):
            raise ValueError(f"{attribute} cannot have ranges")
        return line

    def _key(self, said: Spelled, own: str) -> KeyTable | None:
        attributes = tuple(said["key"])
        if not attributes:
            return None
        columns = tuple(self._section(f"{own}key/{i}", np.int32) for i in range(len(attributes)))
        for each in columns:
            require(len(each) == len(columns[0]) > 0, "keys are missing")
            check_below("keys", each, self._count)
        self._keys.append(KeyTable(self._conditions, columns, attributes))
        return self._keys[-1]

    def _section(self, label: str, kind: Any) -> NDArray[Any]:
        self._taken.add(label)
        return _section(self._arrays, label, kind)

    def _read_originals(self) -> Originals:
        own = {
            label.removeprefix("sources/"): array
            for label, array in self._arrays.items()
            if label.startswith("sources/")
        }
        return read_originals(self._name, self._said["tables"], own, self._schema)

    def _read_conditions(self) -> list[Condition]:
        """The conditions, once the first event has come."""
        with reading(self._name):
            texts = ",".join(column(self._texts, "condition", pa.string()).to_pylist())
            nodes = [read_tree(spelled, self._schema) for spelled in json.loads(f"[{texts}]")]
            require(len(nodes) == self._count, "conditions are missing")
            listed = [_condition(node, self._schema) for node in nodes]
            self._check_keys(Conditions(self._schema, lambda: listed))
            return listed

    def _check_keys(self, conditions: Conditions) -> None:
        """The conditions of keys allow single values, and no two on an attribute the same."""
        by_attribute: dict[str, list[NDArray[np.int32]]] = {}
        for key in self._keys:
            require(key.has_distinct_groups(), "two groups have the same key")
            for attribute, numbers in zip(key.attributes, key.columns, strict=True):
                by_attribute.setdefault(attribute, []).append(numbers)
        for attribute, columns in by_attribute.items():
            numbers = np.unique(np.concatenate(columns))
            found = {conditions[number].attribute for number in numbers.tolist()}
            require(found == {attribute}, "a key has another attribute than its conditions")
            single = points(conditions, numbers)
            require(len(single) == len(numbers), "conditions of a key do not exclude each other")


def _condition(node: Node, schema: Schema | None) -> Condition:
    """The condition that a tree states."""
    parts = conjuncts(node)
    stated = [part for part in parts if isinstance(part, Predicate) and not part.is_open]
    require(len(stated) == len(parts), "a condition is no conjunction of predicates")
    require(len({part.attribute for part in stated}) == 1, "a condition has one attribute")
    held = reduce(and_, [allowed(part, schema) for part in stated])
    return Condition(stated[0].attribute, held, node)
