"""How are filters and schemas written in a file?

As JSON: a predicate is `[mode, attribute, operator, constant, …]`, AND is `["AND", part, …]`, OR is
`["OR", part, …]`, and what always or never holds is true or false. Constants are spelled as in the
language (`literals.spell`), so each comes back with its type; a parameter is `:name`. This is read
much faster than the filter's text, of which nearly every one may have a shape of its own, and has
no limit, as texts have: a constant that was bound may be longer than any text.

Invariant: what is read equals what was spelled, and is as valid as what the parser reads: anything
else is refused with a `ValueError` or an error of the language.
"""

import re
from typing import Any, Final, TypeAlias

from tidegate.filters.admission import admit
from tidegate.filters.attribute import Attribute
from tidegate.filters.expression import (
    PATTERNS,
    And,
    Mode,
    Node,
    Operand,
    Operator,
    Or,
    Parameter,
    Predicate,
    Truth,
    attribute_name,
    attribute_path,
    base_attribute,
    function_of,
)
from tidegate.filters.lines import Line, value_at
from tidegate.filters.literals import decode, spell
from tidegate.filters.schema import Schema
from tidegate.filters.types import Type, read_type

Spelled: TypeAlias = Any  # what JSON can say

_JUNCTIONS: Final[dict[str, type[And] | type[Or]]] = {"AND": And, "OR": Or}
_PARAMETER: Final = re.compile(r":([A-Za-z_][A-Za-z0-9_]*)")


def spell_tree(node: Node) -> Spelled:
    """A tree as JSON has it.

    >>> from tidegate.filters.filter import parse
    >>> spell_tree(parse("NOT (symbol = 'IBM' AND price < :limit)").tree)
    ['OR', ['is false', 'symbol', '=', "'IBM'"], ['is true', 'price', '>=', ':limit']]
    """
    if isinstance(node, Predicate):
        constants = [_spell_operand(constant) for constant in node.constants]
        return [node.mode._value_, node.attribute, node.operator._value_, *constants]
    if isinstance(node, Truth):
        return node.value
    return ["AND" if isinstance(node, And) else "OR", *map(spell_tree, node.parts)]


def _spell_operand(operand: Operand) -> str:
    if isinstance(operand, Parameter):
        return f":{operand.name}"
    return spell(operand)  # type: ignore[arg-type]  # a tree of a filter has no slots


def read_tree(spelled: Spelled, schema: Schema | None) -> Node:
    """The tree that was spelled so; its constants are admitted as those of a text are.

    >>> str(read_tree(["OR", ["is false", "symbol", "=", "'IBM'"], True], None))
    "symbol != 'IBM' OR TRUE"
    """
    if isinstance(spelled, bool):
        return Truth(spelled)
    if not isinstance(spelled, list) or len(spelled) < 2 or not isinstance(spelled[0], str):
        raise ValueError(f"{_shown(spelled)} is no filter")
    kind = _JUNCTIONS.get(spelled[0])
    if kind is not None:
        return kind(tuple([read_tree(part, schema) for part in spelled[1:]]))
    return read_predicate(spelled, schema)


def read_predicate(spelled: list[Any], schema: Schema | None) -> Predicate:
    """The predicate that was spelled so."""
    if len(spelled) < 3 or not all(isinstance(word, str) for word in spelled):
        raise ValueError(f"{_shown(spelled)} is no predicate")
    mode, attribute, operator = Mode(spelled[0]), spelled[1], Operator(spelled[2])
    constants = tuple([_read_operand(word) for word in spelled[3:]])
    named = attribute_name(attribute_path(attribute)) == base_attribute(attribute)
    if not named or not _takes(attribute, operator, constants):
        raise ValueError(f"{_shown(spelled)} is no predicate")
    asked = Predicate(attribute, operator, constants, mode)
    if asked.is_open:
        if schema is not None:
            _ = schema[attribute]  # which may be unknown
        return asked
    return Predicate(attribute, operator, admit(asked, schema), mode)


def reread(predicate: Predicate, words: list[Any], schema: Schema | None) -> Predicate:
    """The predicate with other constants, spelled so.

    >>> from tidegate.filters.filter import parse
    >>> str(reread(parse("price < 5").tree, ["7"], None))
    'price < 7'
    """
    attribute, operator, mode = predicate.attribute, predicate.operator, predicate.mode
    if not all(isinstance(word, str) for word in words):
        raise ValueError(f"{_shown(words)} are no constants")
    constants = tuple([decode(word) for word in words])
    if not _takes(attribute, operator, constants):
        raise ValueError(f"{_shown(words)} are not the constants of {predicate}")
    return Predicate(
        attribute, operator, admit(Predicate(attribute, operator, constants, mode), schema), mode
    )


def _read_operand(word: str) -> Operand:
    if word[:1] != ":":
        return decode(word)
    found = _PARAMETER.fullmatch(word)
    if found is None:
        raise ValueError(f"{_shown(word)} is no parameter")
    return Parameter(found[1])


def _takes(attribute: str, operator: Operator, constants: tuple[Operand, ...]) -> bool:
    """Whether the operator has so many constants; the second of LIKE is its escape."""
    if operator is Operator.ILIKE and function_of(attribute) != "lower":
        return False
    if operator in PATTERNS:
        return len(constants) == 2 and isinstance(constants[1], str) and len(constants[1]) == 1
    if operator is Operator.IN:
        return len(constants) > 0
    return len(constants) == (0 if operator is Operator.NULL else 1)


def spell_schema(schema: Schema) -> Spelled:
    """A schema as JSON has it.

    >>> spell_schema(Schema({"volume": Attribute("bigint", low=0)}))
    {'checked': False, 'attributes': {'volume': ['bigint', None, True, {'low': '0'}]}}
    """
    return {
        "checked": schema.checked,
        "attributes": {name: _spell_attribute(schema[name]) for name in schema},
    }


def _spell_attribute(own: Attribute) -> list[Any]:
    return [own.type.name, own.type.refusal, own.nullable, _spell_domain(own)]


def read_schema(spelled: Spelled) -> Schema:
    """The schema that was spelled so.

    >>> read_schema({"checked": True, "attributes": {"price": ["double", None, False, None]}})
    Schema({price: double}, checked=True)
    """
    if not isinstance(spelled["checked"], bool):
        raise ValueError("whether a schema is checked is said by true or false")
    attributes = {name: _read_attribute(own) for name, own in spelled["attributes"].items()}
    return Schema(attributes, checked=spelled["checked"])


def _read_attribute(spelled: list[Any]) -> Attribute:
    name, refusal, nullable, domain = spelled
    if not (isinstance(name, str) and isinstance(nullable, bool)):
        raise ValueError(f"{_shown(spelled)} is no attribute")
    own = read_type(name) if refusal is None else Type(name, "refused", refusal=str(refusal))
    ends = {key: _read_constants(said) for key, said in (domain or {}).items()}
    return Attribute(own, nullable=nullable, **ends)


def _read_constants(spelled: str | list[str]) -> Any:
    return decode(spelled) if isinstance(spelled, str) else [decode(word) for word in spelled]


def _spell_domain(own: Attribute) -> dict[str, Any] | None:
    """The arguments that give an attribute its domain."""
    line = own.type.line
    if own.domain is None or line is None:
        return None
    bounds: Any = own.domain.spans[line.name]
    if len(bounds) > 2:  # it was given as values
        spans = zip(bounds[::2], bounds[1::2], strict=True)
        keys = [key for first, after in spans for key in _keys(line, first, after)]
        return {"values": [spell(value_at(line, key)) for key in keys]}
    first, after = bounds
    low = {} if first == line.low and after != line.high else {"low": spell(value_at(line, first))}
    if after == line.high:
        return low
    last = after[:-1] if line.name == "string" else after - 1
    return {**low, "high": spell(value_at(line, last))}


def _keys(line: Line, first: Any, after: Any) -> list[Any]:
    """The keys from the first up to another one, of which there are few between."""
    if line.name == "string":
        return [first + "\0" * more for more in range(len(after) - len(first))]
    return list(range(first, after))


def _shown(spelled: Spelled) -> str:
    text = str(spelled)
    return text if len(text) <= 60 else f"{text[:57]}..."
