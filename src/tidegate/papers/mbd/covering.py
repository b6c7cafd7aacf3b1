"""What does a new filter say about the variables of a table?

To ask a table what covers a new filter, what it covers, or what it overlaps, each variable gets a
value, and the diagrams are evaluated with it, as for an event.

- *covering* (the right-hand side): a variable is true if its predicate covers what the new filter
  says about the attribute. An output that is true under this covers the new filter. If the new
  filter has ORs, it is a union of **alternatives**, and an output has to be true for each.
- *covered* (the left-hand side): the new filter is an AND of **clauses**. A variable is inside a
  clause if the clause covers its predicate. An output is covered if it cannot be true without some
  variable inside each clause.
- *overlapping*: a variable is true unless its predicate excludes what the new filter says.

Li, Hou and Jacobsen (2005, section 4.2) give a variable a pair [v_l, v_r], and evaluate both sides
alike. For the left one that is wrong where the new filter names an attribute that an old one does
not: the old one would be true though nothing in it speaks of that attribute. Clauses set that
right.

Each alternative or clause is one bit of a variable's word. A filter with more of them than are
looked at is not found to be covered, nor to cover: an answer may miss, never claim.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.filters.expression import And, Node, Or, Predicate, Truth
from tidegate.filters.meaning import universe
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet, intersection, union
from tidegate.papers.mbd.dependencies import Dependencies
from tidegate.papers.mbd.diagram import Diagram
from tidegate.papers.mbd.evaluation_kernels import CLAUSES
from tidegate.papers.predicate_lines import Variables
from tidegate.papers.predicates import Predicates

MOST: Final = 512
"""Alternatives, or clauses, of a filter that is asked about."""
ALTERNATIVES: Final = 64
"""Alternatives that are looked at together."""


class Atom(NamedTuple):
    """What a filter says about one attribute; and the variable that says the same, if known."""

    attribute: str
    values: ValueSet
    variable: int | None = None


Alternative: TypeAlias = dict[str, Atom]
"""A conjunction: one atom for each attribute it speaks of."""
Clause: TypeAlias = tuple[Atom, ...]
"""A disjunction."""


class Question:
    """A filter that a table is asked about."""

    def __init__(
        self, tree: Node, schema: Schema | None, predicates: Predicates, table: Dependencies | None
    ) -> None:
        self._schema = schema
        self._predicates = predicates
        self._table = table
        self._tree = tree
        self._atoms: dict[int, Atom] = {}  # by predicates of the tree

    # -- the two forms of a filter

    def alternatives(self) -> list[Alternative] | None:
        """The conjunctions that the filter is the OR of, those that hold for nothing left out.

        None if there are more than `MOST`.
        """
        found = _distributed(self._tree, self._atom, outer=Or)
        if found is None:
            return None
        kept: list[Alternative] = []
        for atoms in found:
            joined = self._joined(atoms)
            if joined is not None and joined not in kept[-1:]:
                kept.append(joined)
        return kept

    def clauses(self) -> list[Clause] | None:
        """The disjunctions that the filter is the AND of, those that always hold left out.

        None if there are more than `MOST`.
        """
        found = _distributed(self._tree, self._atom, outer=And)
        if found is None:
            return None
        return [clause for clause in dict.fromkeys(found) if not self._certain(clause)]

    def _atom(self, predicate: Predicate) -> Atom:
        found = self._atoms.get(id(predicate))  # which lives as long as the tree
        if found is None:
            values, variable = self._predicates.look_up(predicate)
            if self._table is None:
                variable = None
            found = self._atoms[id(predicate)] = Atom(predicate.attribute, values, variable)
        return found

    def _joined(self, atoms: Iterable[Atom]) -> Alternative | None:
        """One atom for each attribute; None if nothing meets them all."""
        joined: Alternative = {}
        for atom in atoms:
            other = joined.get(atom.attribute)
            if other is not None and other.values != atom.values:
                atom = Atom(atom.attribute, intersection([other.values, atom.values]))
            if atom.values.is_empty():
                return None
            joined[atom.attribute] = atom
        return joined

    def _certain(self, clause: Clause) -> bool:
        if len(clause) == 1:
            return universe(clause[0].attribute, self._schema).within(clause[0].values) is True
        return any(
            universe(attribute, self._schema).within(values)
            for attribute, sets in _by_attribute(clause).items()
            for values in union(sets)
        )

    # -- the words of variables

    def covering(self, alternatives: Sequence[Alternative]) -> NDArray[np.uint64]:
        """Under which alternatives variables are true, for filters that cover the new one."""
        words = np.zeros(self._predicates.width, np.uint64)
        for bit, alternative in enumerate(alternatives):
            for atom in alternative.values():
                words[self._above(atom)] |= np.uint64(1 << bit)
        words[self._predicates.always.array] = np.uint64(full(alternatives))
        return words

    def inside(self, clause: Clause) -> NDArray[np.int32]:
        """The variables inside a clause: those that can be true only where it holds."""
        never = self._predicates.never.array
        if len(clause) == 1:
            below = np.asarray(self._below(clause[0]), np.int32)
            return np.concatenate([never, below]) if len(never) else below
        parts: list[Variables | list[int]] = [never]
        for attribute, sets in _by_attribute(clause).items():
            for values in dict.fromkeys((*union(sets), *sets)):
                parts.append(self._predicates.covered(values, attribute))
        return np.concatenate(parts).astype(np.int32)

    def overlapping(self, alternatives: Sequence[Alternative]) -> NDArray[np.uint64]:
        """Under which alternatives variables may be true, for filters that overlap the new one."""
        words = np.full(self._predicates.width, full(alternatives), np.uint64)
        for bit, alternative in enumerate(alternatives):
            for atom in alternative.values():
                apart = self._predicates.disjoint(atom.values, atom.attribute)
                words[apart] &= np.uint64(~(1 << bit) & (1 << 64) - 1)
        words[self._predicates.never.array] = np.uint64(0)
        return words

    def _above(self, atom: Atom) -> NDArray[np.int32] | list[int]:
        if self._table is not None and atom.variable is not None:
            return self._table.covering(atom.variable)
        return self._predicates.covering(atom.values, atom.attribute)

    def _below(self, atom: Atom) -> NDArray[np.int32] | list[int]:
        if self._table is not None and atom.variable is not None:
            return self._table.covered(atom.variable)
        return self._predicates.covered(atom.values, atom.attribute)


def full(parts: Sequence[object]) -> int:
    """The word with one bit for each part."""
    return (1 << len(parts)) - 1


class Left(NamedTuple):
    """Some clauses of a filter, ready to be asked about: see `evaluation_kernels`."""

    certain: NDArray[np.uint64]
    limits: NDArray[np.int64]


def left_sides(
    question: Question, clauses: Sequence[Clause], diagram: Diagram, width: int
) -> list[Left] | None:
    """The clauses, as many together as a word holds, in the order of their limits.

    None if there is no variable at all inside one of them: then nothing is covered.
    """
    insides = [question.inside(clause) for clause in clauses]
    if not all(map(len, insides)):
        return None
    highest = [diagram.highest(variables) for variables in insides]
    rising = sorted(range(len(insides)), key=highest.__getitem__)
    sides: list[Left] = []
    for start in range(0, max(1, len(insides)), CLAUSES):
        some = rising[start : start + CLAUSES]
        certain = np.zeros(width, np.uint64)
        for bit, clause in enumerate(some):
            certain[insides[clause]] |= np.uint64(1 << bit)
        sides.append(Left(certain, np.array([highest[clause] for clause in some], np.int64)))
    return sides


def _by_attribute(clause: Clause) -> dict[str, list[ValueSet]]:
    sets: dict[str, list[ValueSet]] = {}
    for atom in clause:
        sets.setdefault(atom.attribute, []).append(atom.values)
    return sets


def _distributed(
    tree: Node, atom: Callable[[Predicate], Atom], outer: type[And | Or]
) -> list[Clause] | None:
    """A tree as the OR of ANDs, or as the AND of ORs, of atoms; None if they are too many."""
    if isinstance(tree, Predicate):
        return [(atom(tree),)]
    if isinstance(tree, Truth):
        return [()] if tree.value is (outer is Or) else []
    parts: list[list[Clause]] = []
    for part in tree.parts:
        found = _distributed(part, atom, outer)
        if found is None:
            return None
        parts.append(found)
    joined: list[Clause] = []
    if isinstance(tree, outer):
        for found in parts:
            joined += found
        return joined if len(joined) <= MOST else None
    joined = [()]
    for found in parts:
        if len(joined) * len(found) > MOST:
            return None
        joined = [tuple(dict.fromkeys((*one, *other))) for one in joined for other in found]
    return joined
