"""Columns of every type, from every source, with the values that filters are to see in them.

A value is written down as its family and its place in the family's order, by hand: nothing here
is worked out by the code under test. `None` is NULL, `OTHER` a value that filters cannot compare.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Seen: TypeAlias = tuple[str, Any] | None

OTHER: Final = ("other", 0)
DAY: Final = 86_400_000_000


def numbers(*values: Any) -> list[Seen]:
    return [None if value is None else ("number", value) for value in values]


def texts(*values: str | None) -> list[Seen]:
    return [None if value is None else ("string", value) for value in values]


def booleans(*values: bool | None) -> list[Seen]:
    return [None if value is None else ("boolean", value) for value in values]


def dates(*days: int | None) -> list[Seen]:
    return [None if day is None else ("date", day) for day in days]


def moments(*microseconds: int | None) -> list[Seen]:
    return [None if each is None else ("timestamp", each) for each in microseconds]


def others(*present: int) -> list[Seen]:
    return [OTHER if each else None for each in present]


def families(seen: list[Seen]) -> str:
    """What filters see in a column, in a word or two."""
    found = list(dict.fromkeys(value[0] for value in seen if value is not None))
    return ", ".join(found) or "NULL"


# -- what filters ask, and what the answer is

CONSTANTS: Final[list[tuple[str, Any, str]]] = [
    ("number", 1, "1"),
    ("number", Decimal("2.5"), "2.5"),
    ("string", "a", "'a'"),
    ("string", "b", "'b'"),
    ("boolean", True, "TRUE"),
    ("boolean", False, "FALSE"),
    ("date", 1, "DATE '1970-01-02'"),
    ("date", -1, "DATE '1969-12-31'"),
    ("timestamp", 1, "TIMESTAMP '1970-01-01 00:00:00.000001'"),
    ("timestamp", -1, "TIMESTAMP '1969-12-31 23:59:59.999999'"),
    ("timestamp", DAY, "TIMESTAMP '1970-01-02'"),
]
_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "{} = {}": lambda v, c: v == c,
    "{} <> {}": lambda v, c: v != c,
    "{} < {}": lambda v, c: v < c,
    "NOT {} < {}": lambda v, c: v >= c,
}


def filters(attribute: str = "x", only: str | None = None) -> dict[str, Callable[[Seen], bool]]:
    """Filters on an attribute, of one family or of all, and for each whether a value passes."""
    found: dict[str, Callable[[Seen], bool]] = {
        f"{attribute} IS NULL": lambda seen: seen is None,
        f"{attribute} IS NOT NULL": lambda seen: seen is not None,
    }
    for family, key, text in CONSTANTS:
        if only not in (None, family):
            continue
        for form, test in _OPERATORS.items():
            found[form.format(attribute, text)] = _comparison(test, family, key)
    return found


def _comparison(test: Callable[[Any, Any], bool], family: str, key: Any) -> Callable[[Seen], bool]:
    return lambda seen: seen is not None and seen[0] == family and test(seen[1], key)


# -- columns of Arrow


class Celsius(pa.ExtensionType):  # type: ignore[misc]
    """A type of one's own: degrees, as integers."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "tests.celsius")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> "Celsius":
        return cls()


def _extension(kind: pa.DataType, values: list[Any]) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))


def _runs(values: pa.Array) -> pa.Array:
    ends = pa.array(range(1, len(values) + 1), pa.int32())
    return pa.RunEndEncodedArray.from_arrays(ends, values)


def _encoded(values: pa.Array) -> pa.Array:
    places = [None if not each.is_valid else i for i, each in enumerate(values)]
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), values)


def _raw(kind: pa.DataType, *ticks: int | None) -> pa.Array:
    """Of a type that is a number underneath, one that Arrow does not check."""
    return pa.array(ticks, pa.int32() if kind == pa.date32() else pa.int64()).view(kind)


def _dense() -> pa.Array:
    return pa.UnionArray.from_dense(
        pa.array([0, 1, 0, 1], pa.int8()),
        pa.array([0, 0, 1, 1], pa.int32()),
        [pa.array([1, None]), pa.array(["a", "b"])],
    )


def _sparse() -> pa.Array:
    return pa.UnionArray.from_sparse(
        pa.array([0, 1, 0, 1], pa.int8()),
        [pa.array([1, 0, None, 0]), pa.array(["", "a", "", "b"])],
    )


def _decimals(kind: pa.DataType) -> pa.Array:
    return pa.array([Decimal("1.00"), Decimal("2.50"), None, Decimal("-3.25")], kind)


_DECIMALS: Final = numbers(1, Decimal("2.5"), None, Decimal("-3.25"))
_INTEGERS: Final = numbers(1, 2, None)
_TEXTS: Final = texts("a", "b", None, "c")
YEAR_20000: Final = 568_971_820_800  # in seconds
_YEAR_BEFORE_1: Final = -62_324_985_600


@dataclass(frozen=True)
class Kind:
    """A column of an Arrow type, and what filters see in it."""

    array: pa.Array
    seen: list[Seen]

    def events(self) -> list[dict[str, Any]]:
        """As mappings: as Arrow has them in Python, or else, outside the years, as NumPy has."""
        try:
            return [{"x": value} for value in self.array.to_pylist()]
        except OverflowError:
            kind = self.array.type
            plain = self.array.dictionary_decode() if pa.types.is_dictionary(kind) else self.array
            width = pa.int32() if plain.type == pa.date32() else pa.int64()
            ticks, unit = plain.view(width), getattr(plain.type, "unit", "D")
            make: Any = np.datetime64
            if plain.type == pa.date64():
                ticks = pc.divide(ticks, 86_400_000)
            return [{"x": None if tick is None else make(tick, unit)} for tick in ticks.to_pylist()]


def _number_kinds() -> Iterator[tuple[str, Kind]]:
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"):
        yield name, Kind(pa.array([1, 2, None], getattr(pa, name)()), _INTEGERS)
    yield "uint64", Kind(pa.array([1, 2**64 - 1, None], pa.uint64()), numbers(1, 2**64 - 1, None))
    halves = pa.array(np.array([1.0, 2.5, np.inf], np.float16))
    yield "float16", Kind(halves, numbers(1.0, 2.5, float("inf")))
    yield "float32", Kind(pa.array([1.0, 2.5, None], pa.float32()), numbers(1.0, 2.5, None))
    yield "float64", Kind(pa.array([1.0, 2.5, None], pa.float64()), numbers(1.0, 2.5, None))
    yield "decimal32", Kind(_decimals(pa.decimal32(5, 2)), _DECIMALS)
    yield "decimal64", Kind(_decimals(pa.decimal64(12, 2)), _DECIMALS)
    yield "decimal128", Kind(_decimals(pa.decimal128(38, 2)), _DECIMALS)
    yield "decimal256", Kind(_decimals(pa.decimal256(50, 2)), _DECIMALS)
    wide = pa.array([Decimal(10) ** 45, Decimal(1), None], pa.decimal256(60, 2))
    yield "decimal256 of more than 38 digits", Kind(wide, [OTHER, *numbers(1, None)])


def _text_kinds() -> Iterator[tuple[str, Kind]]:
    given = ["a", "b", None, "c"]
    for name in ("string", "large_string", "string_view"):
        yield name, Kind(pa.array(given, getattr(pa, name)()), _TEXTS)
    yield "dictionary of strings", Kind(_encoded(pa.array(given)), _TEXTS)
    yield "dictionary of views", Kind(_encoded(pa.array(given, pa.string_view())), _TEXTS)
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["a", "b", "a"]))
    yield "dictionary with a string twice", Kind(twice, texts("a", "b", "a", None))
    hidden = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None]))
    yield "dictionary with a null", Kind(hidden, texts("a", None, None))
    yield "runs of strings", Kind(_runs(pa.array(given)), _TEXTS)
    yield "runs of views", Kind(_runs(pa.array(given, pa.string_view())), _TEXTS)


def _time_kinds() -> Iterator[tuple[str, Kind]]:
    yield "date32", Kind(_raw(pa.date32(), 1, -1, None), dates(1, -1, None))
    far = _raw(pa.date32(), 6_585_322, -800_000, 2**31 - 1, None)
    yield "date32 outside the years 1 to 9999", Kind(far, dates(6_585_322, -800_000, 2**31, None))
    midnights = _raw(pa.date64(), 86_400_000, -86_400_000, None)
    yield "date64", Kind(midnights, dates(1, -1, None))
    hours = _raw(pa.date64(), 86_400_005, -5, None)
    yield "date64 with a time of day", Kind(hours, dates(1, -1, None))
    yield (
        "date64 outside the years 1 to 9999",
        Kind(_raw(pa.date64(), 10**15, -(10**15), None), dates(10**7, -(10**7), None)),
    )
    for unit, factor in (("s", 10**6), ("ms", 1000), ("us", 1)):
        given = _raw(pa.timestamp(unit), 1, -1, DAY // factor, None)
        yield f"timestamp[{unit}]", Kind(given, moments(factor, -factor, DAY, None))
    with_zone = _raw(pa.timestamp("us", "Europe/Paris"), 1, -1, DAY, None)
    yield "timestamp[us] with a time zone", Kind(with_zone, moments(1, -1, DAY, None))
    nanoseconds = _raw(pa.timestamp("ns"), 1999, -1, DAY * 1000 + 999, None)
    yield "timestamp[ns]", Kind(nanoseconds, moments(1, -1, DAY, None))
    for unit, factor in (("s", 1), ("ms", 1000), ("us", 10**6)):
        ticks = (YEAR_20000 * factor, _YEAR_BEFORE_1 * factor, None)
        seen = moments(YEAR_20000 * 10**6, _YEAR_BEFORE_1 * 10**6, None)
        name = f"timestamp[{unit}] outside the years 1 to 9999"
        yield name, Kind(_raw(pa.timestamp(unit), *ticks), seen)


def _other_kinds() -> Iterator[tuple[str, Kind]]:
    yield "null", Kind(pa.nulls(2), [None, None])
    yield "bool", Kind(pa.array([True, False, None]), booleans(True, False, None))
    for name in ("binary", "large_binary", "binary_view"):
        yield name, Kind(pa.array([b"a", b"b", None], getattr(pa, name)()), others(1, 1, 0))
    yield "fixed_size_binary", Kind(pa.array([b"aa", None], pa.binary(2)), others(1, 0))
    for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        yield str(kind), Kind(pa.array([1, 2, None], kind), others(1, 1, 0))
    for unit in ("s", "ms", "us", "ns"):
        yield f"duration[{unit}]", Kind(pa.array([1, 2, None], pa.duration(unit)), others(1, 1, 0))
    months = pa.array([(1, 2, 3000), None], pa.month_day_nano_interval())
    yield "month_day_nano_interval", Kind(months, others(1, 0))
    yield "list", Kind(pa.array([[1], [], None]), others(1, 1, 0))
    yield "large_list", Kind(pa.array([[1], None], pa.large_list(pa.int64())), others(1, 0))
    yield "fixed_size_list", Kind(pa.array([[1], None], pa.list_(pa.int64(), 1)), others(1, 0))
    yield "list_view", Kind(pa.array([[1], None], pa.list_view(pa.int64())), others(1, 0))
    yield "struct", Kind(pa.array([{"a": 1}, None]), others(1, 0))
    kind = pa.map_(pa.string(), pa.int64())
    yield "map", Kind(pa.array([[("a", 1)], None], kind), others(1, 0))
    mixed = [*numbers(1), *texts("a"), None, *texts("b")]
    yield "dense_union", Kind(_dense(), mixed)
    yield "sparse_union", Kind(_sparse(), mixed)


def _wrapped_kinds() -> Iterator[tuple[str, Kind]]:
    yield "arrow.bool8", Kind(_extension(pa.bool8(), [1, 0, 5, None]),
                              booleans(True, False, True, None))  # fmt: skip
    yield "arrow.json", Kind(_extension(pa.json_(), ["a", "b", None, "c"]), _TEXTS)
    ids = [uuid.UUID(int=5).bytes, None]
    yield "arrow.uuid", Kind(_extension(pa.uuid(), ids), others(1, 0))
    opaque = pa.opaque(pa.binary(), "money", "tests")
    yield "arrow.opaque", Kind(_extension(opaque, [b"1", None]), others(1, 0))
    yield "an extension of one's own", Kind(_extension(Celsius(), [1, 2, None]), _INTEGERS)
    integers = pa.array([1, 2, None])
    yield "dictionary of integers", Kind(_encoded(integers), _INTEGERS)
    yield "runs of integers", Kind(_runs(integers), _INTEGERS)
    far = _raw(pa.timestamp("s"), YEAR_20000, _YEAR_BEFORE_1, None)
    seen = moments(YEAR_20000 * 10**6, _YEAR_BEFORE_1 * 10**6, None)
    yield "dictionary of far timestamps", Kind(_encoded(far), seen)
    yield (
        "dictionary of binary_view",
        Kind(_encoded(pa.array([b"a", None], pa.binary_view())), others(1, 0)),
    )
    yield "dictionary of decimal256", Kind(_encoded(_decimals(pa.decimal256(50, 2))), _DECIMALS)
    yield "runs of arrow.uuid", Kind(_runs(_extension(pa.uuid(), ids)), others(1, 0))


ARROW: Final[dict[str, Kind]] = dict(
    [
        *_number_kinds(),
        *_text_kinds(),
        *_time_kinds(),
        *_other_kinds(),
        *_wrapped_kinds(),
    ]
)
