"""How are events written down that are attributes with values?

As JSON objects, nested for structs, their names in order. What JSON has no word for (dates, times,
decimals, NaN, infinities) is spelled as in the language, in a list of one. So an event has one
form, whatever the order of its attributes and the types that its values came in.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from tidegate.errors import TidegateError
from tidegate.filters.literals import decode as decode_literal
from tidegate.filters.literals import spell
from tidegate.filters.values import OTHER, is_constant, normal
from tidegate.overlay.filter import Event, Plain

MAX_DEPTH: Final = 64  # of structs in an event


class AttributeEvents:
    """What a kind says about its events, where they are attributes with values."""

    def plain_event(self, event: Event) -> Plain:
        """An event as plain data."""
        return plain_event(event)

    def read_event(self, plain: Plain) -> Event:
        """The event that was written so."""
        return read_event(plain)

    def event_size(self, event: Event) -> int:
        """The bytes that an event takes in a message."""
        return len(json.dumps(plain_event(event), separators=(",", ":")))

    def show_event(self, event: Event) -> str:
        """An event in a few words, for people."""
        return ", ".join(f"{name}={value}" for name, value in event.items())


def plain_event(event: Event) -> Plain:
    """An event as JSON has it; `TidegateError` for a value that the language does not have."""
    if type(event) is dict:
        named = all(type(name) is str and name.isascii() for name in event)
        if named and all(map(_is_easy, event.values())):  # the commonest
            return {name: event[name] for name in sorted(event)}
    return _plain_value(event, MAX_DEPTH)


def read_event(plain: Plain) -> dict[str, Any]:
    """The event that was written so."""
    if not isinstance(plain, dict):
        raise ValueError("an event is attributes with their values")
    return _read_struct(plain, MAX_DEPTH)


def _is_easy(value: Any) -> bool:
    """Whether a value is written as it is, seen at a glance."""
    kind = type(value)
    if kind is str:
        return bool(value.isascii())
    if kind is float:
        return math.isfinite(value)
    if kind is int:
        return bool(-(2**63) <= value < 2**63)
    return kind is bool or value is None


def _plain_value(value: Any, depth: int) -> Plain:
    constant = normal(value)
    if constant is None or isinstance(constant, bool | str | int):
        return constant
    if isinstance(constant, float) and math.isfinite(constant):
        return constant
    if is_constant(constant):
        return [spell(constant)]
    if not isinstance(value, Mapping):
        raise TidegateError(f"this {type(value).__name__} cannot be a value of an event")
    if not depth:
        raise TidegateError(f"an event has structs nested deeper than {MAX_DEPTH}")
    if not all(isinstance(name, str) and normal(name) is not OTHER for name in value):
        raise TidegateError("the names of an event's attributes are strings")
    return {name: _plain_value(value[name], depth - 1) for name in sorted(value)}


def _read_struct(plain: dict[str, Plain], depth: int) -> dict[str, Any]:
    if not depth:
        raise ValueError(f"an event has structs nested deeper than {MAX_DEPTH}")
    if any(normal(name) is OTHER for name in plain):
        raise ValueError("the name of an attribute is not a text that can be written")
    return {name: _read_value(value, depth - 1) for name, value in plain.items()}


def _read_value(plain: Plain, depth: int) -> Any:
    if isinstance(plain, dict):
        return _read_struct(plain, depth)
    if isinstance(plain, list):
        (spelled,) = plain
        if not isinstance(spelled, str):
            raise ValueError("a value in a list is spelled as in the language")
        return decode_literal(spelled)
    if normal(plain) is OTHER:
        raise ValueError("a value is not one that the language has")
    return plain
