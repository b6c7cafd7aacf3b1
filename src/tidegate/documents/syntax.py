"""What does an XPath expression consist of, as it was written?

A tree of what `parser` has read and `meaning` makes patterns of. Names are expanded already: `a`,
`{uri}a`, `@a`, `*`, `text()`. Comparisons have their constant on the right. What was written can
be spelled again, with or without its constants.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tidegate.documents.pattern import CONTAINS, STARTS, spell_constant


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name`: a constant that is given later."""

    name: str


@dataclass(frozen=True, slots=True)
class Absent:
    """A parameter that was bound to None: no comparison with it holds."""


Constant: TypeAlias = str | float | Parameter | Absent


@dataclass(frozen=True, slots=True)
class Exists:
    """There is something at the end of a path."""

    path: "Path"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Something at the end of a path compares so with a constant; functions compare the first."""

    operator: str
    path: "Path"
    constant: Constant


@dataclass(frozen=True, slots=True)
class Rank:
    """`position()` compares so with a number, or with `last()` if there is none."""

    operator: str
    number: float | Parameter | Absent | None


@dataclass(frozen=True, slots=True)
class All:
    """All parts hold."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Some:
    """One of the parts holds."""

    parts: tuple["Condition", ...]


Condition: TypeAlias = Exists | Comparison | Rank | All | Some


@dataclass(frozen=True, slots=True)
class Step:
    """`/name` or, if it is deep, `//name`, and its predicates in their order."""

    deep: bool
    label: str
    predicates: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Path:
    """Steps, from the document or, within a predicate, from the node there; none is that node."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Expression:
    """Absolute paths, of which one is to be found."""

    paths: tuple[Path, ...]


def constants(expression: Expression) -> Iterator[Constant]:
    """All constants, in the order of the text; ranks, too."""
    for path in expression.paths:
        yield from _of_path(path)


def _of_path(path: Path) -> Iterator[Constant]:
    for step in path.steps:
        for predicate in step.predicates:
            yield from _of_condition(predicate)


def _of_condition(condition: Condition) -> Iterator[Constant]:
    match condition:
        case Exists(path):
            yield from _of_path(path)
        case Comparison(_, path, constant):
            yield from _of_path(path)
            yield constant
        case Rank(_, number):
            if number is not None:
                yield number
        case All(parts) | Some(parts):
            for part in parts:
                yield from _of_condition(part)


def with_constants(
    expression: Expression, change: Callable[[Constant, bool], Constant]
) -> Expression:
    """The expression with other constants; `change` is told whether one is a rank."""

    def of_path(path: Path) -> Path:
        return Path(
            tuple(
                Step(step.deep, step.label, tuple(map(of_condition, step.predicates)))
                for step in path.steps
            )
        )

    def of_condition(condition: Condition) -> Condition:
        match condition:
            case Exists(path):
                return Exists(of_path(path))
            case Comparison(operator, path, constant):
                path = of_path(path)
                return Comparison(operator, path, change(constant, False))
            case Rank(operator, number):
                if number is None:
                    return condition
                new = change(number, True)
                assert not isinstance(new, str)
                return Rank(operator, new)
            case All(parts):
                return All(tuple(map(of_condition, parts)))
            case Some(parts):
                return Some(tuple(map(of_condition, parts)))

    return Expression(tuple(map(of_path, expression.paths)))


def spell(
    expression: Expression,
    prefixes: Mapping[str, str] | None = None,
    spelled: Callable[[Constant], str] | None = None,
) -> str:
    """The expression in XPath's notation; `prefixes` of namespaces by their URI."""
    return _Speller(prefixes or {}, spelled or spell_operand).expression(expression)


def spell_operand(constant: Constant) -> str:
    """A constant as it is written."""
    match constant:
        case Parameter(name):
            return f"${name}"
        case Absent():
            return "NULL"
        case _:
            return spell_constant(constant)


class _Speller:
    """Writes an expression down."""

    def __init__(self, prefixes: Mapping[str, str], spelled: Callable[[Constant], str]) -> None:
        self.prefixes = prefixes
        self.spelled = spelled

    def expression(self, expression: Expression) -> str:
        return " | ".join(self.steps(path) or "/" for path in expression.paths)

    def steps(self, path: Path) -> str:
        return "".join(
            ("//" if step.deep else "/") + self.label(step.label) + self.predicates(step)
            for step in path.steps
        )

    def predicates(self, step: Step) -> str:
        return "".join(f"[{self.condition(each)}]" for each in step.predicates)

    def label(self, label: str) -> str:
        mark, name = ("@", label[1:]) if label[0] == "@" else ("", label)
        if name[0] == "{":
            uri, _, local = name[1:].rpartition("}")
            if uri in self.prefixes:
                name = f"{self.prefixes[uri]}:{local}"
        return mark + name

    def relative(self, path: Path) -> str:
        if not path.steps:
            return "."
        text = self.steps(path)
        return "." + text if path.steps[0].deep else text[1:]

    def condition(self, condition: Condition, *, within: bool = False) -> str:
        match condition:
            case Exists(path):
                return self.relative(path)
            case Comparison(operator, path, constant):
                operand, given = self.relative(path), self.spelled(constant)
                if operator in (STARTS, CONTAINS):
                    return f"{operator}({operand}, {given})"
                return f"{operand} {operator} {given}"
            case Rank(operator, number):
                return (
                    f"position() {operator} {'last()' if number is None else self.spelled(number)}"
                )
            case All(parts):
                return " and ".join(self.condition(part, within=True) for part in parts)
            case Some(parts):
                text = " or ".join(self.condition(part) for part in parts)
                return f"({text})" if within else text
