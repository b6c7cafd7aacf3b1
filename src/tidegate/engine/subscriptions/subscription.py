"""What is a subscription, and what are many of one filter?

A `Subscription` is an id, a filter, and the values of its parameters; `subscribe` makes one. Many
of one filter are a `Block`, their ids and constants in columns: the filter is looked at once,
however many subscriptions have it. Blocks are made of tables (`table_reader`), and of subscriptions
that came one by one (`gathered`).

Invariant: the constants of a subscription are values that its filter admits.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import pyarrow as pa

from tidegate.errors import ParameterError, SchemaError, SubscriptionError
from tidegate.filters.expression import Parameter, predicates
from tidegate.filters.filter import Filter, bind, constant, parse
from tidegate.filters.schema import Schema
from tidegate.filters.values import BIGINT_MAX, BIGINT_MIN, OTHER, Constant, normal

Id: TypeAlias = str | int

ALIKE: Final = 16
"""Subscriptions of one filter that make a block."""
NO_PARAMETERS: Final[Mapping[str, Constant]] = MappingProxyType({})
_ALWAYS_FITTING: Final = frozenset((bool, int, float))
ARROW_TYPES: Final[dict[type, pa.DataType]] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
}
"""Of constants whose type in Arrow does not depend on their values."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Who wants what: an id, a filter as it was given, the values of all its parameters."""

    id: Id
    filter: Filter
    parameters: Mapping[str, Constant]
    _bound: Filter | None = field(default=None, compare=False, repr=False)

    @property
    def bound(self) -> Filter:
        """The filter with its parameters bound.

        >>> str(subscribe("alice", "price < :limit", {"limit": 10}, None).bound)
        'price < 10'
        """
        if not self.filter.parameters:
            return self.filter
        if self._bound is None:
            object.__setattr__(self, "_bound", self.filter.bind(**self.parameters))
        assert self._bound is not None
        return self._bound


def subscribe(
    id: Id, filter: str | Filter, parameters: Mapping[str, Any], schema: Schema | None
) -> Subscription:
    """The subscription of that id; every parameter of the filter must be given.

    >>> subscribe("alice", "price < :limit", {}, None)
    Traceback (most recent call last):
    ...
    tidegate.errors.ParameterError: parameter :limit is missing; give it a value, None is NULL
    """
    plain, read = read_id(id), read_filter(filter, schema)
    if not parameters and not read.parameters:
        return Subscription(plain, read, NO_PARAMETERS)
    require_parameters(read, parameters)
    bound = read.bind(**parameters)
    constants = {name: constant(name, parameters[name]) for name in read.parameters}
    return Subscription(plain, read, constants, bound)


def changed(
    old: Subscription, parameters: Mapping[str, Any], schema: Schema | None
) -> Subscription:
    """The subscription with some of its parameters changed.

    >>> alice = subscribe("alice", "price BETWEEN :low AND :high", {"low": 1, "high": 2}, None)
    >>> str(changed(alice, {"high": 5}, None).bound)
    'price >= 1 AND price <= 5'
    """
    if not parameters.keys() <= old.parameters.keys():
        unknown = sorted(parameters.keys() - old.parameters.keys())
        known = ", ".join(f":{name}" for name in old.parameters) or "none"
        raise ParameterError(
            f"the filter of {old.id!r} has no parameter :{unknown[0]}; it has {known}"
        )
    constants = {**old.parameters, **{n: constant(n, v) for n, v in parameters.items()}}
    new = {n for n in parameters if not _fits_as_before(old.parameters[n], constants[n])}
    for predicate in predicates(old.filter.tree) if new else ():
        if any(isinstance(c, Parameter) and c.name in new for c in predicate.constants):
            bind(predicate, constants, schema)  # so that what does not fit is refused
    return Subscription(old.id, old.filter, constants)


def _fits_as_before(old: Constant, new: Constant) -> bool:
    """Whether a constant fits because the one before it did; see `admission.always_fits`."""
    return type(old) is type(new) and type(new) in _ALWAYS_FITTING


def read_id(id: Any) -> Id:
    """The id as a plain string or 64-bit integer.

    >>> read_id(True)
    Traceback (most recent call last):
    ...
    tidegate.errors.SubscriptionError: an id is a string or a 64-bit integer, not True
    """
    if isinstance(id, str):
        plain = str.__str__(id)
        if normal(plain) is not OTHER:  # half a character has no place in Arrow
            return plain
    elif type(id) is int or (not isinstance(id, bool) and isinstance(id, Integral)):
        number = int(id)
        if BIGINT_MIN <= number <= BIGINT_MAX:
            return number
    raise SubscriptionError(f"an id is a string or a 64-bit integer, not {id!r}")


def read_filter(filter: str | Filter, schema: Schema | None) -> Filter:
    """The filter, parsed if it comes as a text; `SchemaError` if it was read under another schema.

    >>> read_filter(parse("price < 10"), Schema({"price": "double"}))
    Traceback (most recent call last):
    ...
    tidegate.errors.SchemaError: the filter was read under another schema than the index has
    """
    if not isinstance(filter, Filter):
        return parse(filter, schema)
    if filter.schema is not schema and filter.schema != schema:
        raise SchemaError("the filter was read under another schema than the index has")
    return filter


def require_parameters(filter: Filter, given: Mapping[str, Any]) -> None:
    """Raise `ParameterError` unless exactly the filter's parameters are given."""
    missing = [f":{name}" for name in filter.parameters if name not in given]
    if missing:
        if len(missing) > 1:
            raise ParameterError(f"parameters {', '.join(missing)} are missing; None is NULL")
        raise ParameterError(f"parameter {missing[0]} is missing; give it a value, None is NULL")
    unknown = sorted(given.keys() - set(filter.parameters))
    if unknown:
        names = ", ".join(f":{name}" for name in unknown)
        known = ", ".join(f":{name}" for name in filter.parameters) or "none"
        raise ParameterError(f"the filter has no parameter {names}; it has {known}")


@dataclass(frozen=True, slots=True)
class Block:
    """Many subscriptions of one filter, their ids and constants in columns.

    The ids are of type string or int64; the constants, one column per parameter of the filter, of
    type bool, int64, double, decimal128, string, date32, timestamp[us] (UTC) or null, all of
    them values that the filter admits.
    """

    filter: Filter
    ids: pa.Array
    columns: Mapping[str, pa.Array]

    def __len__(self) -> int:
        return len(self.ids)

    def subscription(self, row: int) -> Subscription:
        """One of them."""
        parameters = {name: column[row].as_py() for name, column in self.columns.items()}
        return Subscription(self.ids[row].as_py(), self.filter, parameters)

    def subscriptions(self) -> list[Subscription]:
        """All of them."""
        columns = [column.to_pylist() for column in self.columns.values()]
        rows = zip(*columns, strict=True) if columns else [()] * len(self)
        return [
            Subscription(id, self.filter, dict(zip(self.columns, row, strict=True)))
            for id, row in zip(self.ids.to_pylist(), rows, strict=True)
        ]


def gathered(
    blocks: list[Block], singles: list[Subscription]
) -> tuple[list[Block], list[Subscription]]:
    """The same subscriptions, those of one filter as a block if there are enough of them."""
    large = [block for block in blocks if len(block) >= ALIKE]
    small = [block for block in blocks if len(block) < ALIKE]
    rest = [each for block in small for each in block.subscriptions()]
    by_filter: dict[int, list[Subscription]] = {}
    for subscription in singles:
        if subscription.parameters:
            by_filter.setdefault(id(subscription.filter), []).append(subscription)
        else:
            rest.append(subscription)
    for alike in by_filter.values():
        block = _block(alike) if len(alike) >= ALIKE else None
        if block is not None:
            large.append(block)
        else:
            rest += alike
    return large, rest


def _block(alike: list[Subscription]) -> Block | None:
    """Subscriptions of one filter as a block, if the constants of a parameter are of one type."""
    columns: dict[str, pa.Array] = {}
    for name in alike[0].parameters:
        constants = [subscription.parameters[name] for subscription in alike]
        kinds = {type(constant) for constant in constants if constant is not None}
        arrow = ARROW_TYPES.get(kinds.pop()) if len(kinds) == 1 else None
        if arrow is None:
            return None
        columns[name] = pa.array(constants, arrow)
    return Block(alike[0].filter, id_array([subscription.id for subscription in alike]), columns)


def id_array(ids: list[Id]) -> pa.Array:
    """The ids of an index as an array."""
    kinds = {type(id) for id in ids}
    if len(kinds) > 1:
        raise SubscriptionError("ids are all strings or all integers, not some of each")
    return pa.array(ids, pa.int64() if kinds == {int} else pa.string())
