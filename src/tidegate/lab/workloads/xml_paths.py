"""What do people ask of documents, if they ask for paths?

Expressions made from a DTD as YFilter's generator makes them (Diao and others, Path sharing and
predicate evaluation for high-performance XML filtering, 2003): a walk from the root down, each step
drawn from the children that the DTD allows, of a length up to the greatest depth; a step is a `*`
with one probability and reached by `//` with another. Some steps get predicates, equality of an
attribute or a text with a small number; some get branches, which are paths of up to three steps,
with a predicate in them if so wanted.
"""

from dataclasses import dataclass
from random import Random

from tidegate.documents.dtd import DTD


@dataclass(frozen=True)
class PathChoices:
    """The parameters of the generator."""

    deepest: int = 6
    """D: how many steps a path has at most."""
    wildcard: float = 0.2
    """W: how probable it is that a step is a `*`."""
    ellipsis: float = 0.2
    """DS: how probable it is that a step is reached by `//`."""
    predicates: int = 0
    """P: how many predicates a path has."""
    branches: int = 0
    """NP: how many branches it has."""
    within: int = 0
    """How many predicates each branch has."""
    values: int = 20
    """How many numbers there are to compare with."""


@dataclass(slots=True)
class _Step:
    element: str
    text: str
    predicates: str = ""


class PathSource:
    """Draws expressions."""

    def __init__(self, dtd: DTD, choices: PathChoices, seed: int) -> None:
        self._choices = choices
        self._random = Random(seed)
        self._root = dtd.root
        self._children = {name: each.children for name, each in dtd.elements.items()}
        self._subjects = {
            name: [f"@{attribute.name}" for attribute in each.attributes]
            + (["text()"] if each.text else [])
            for name, each in dtd.elements.items()
        }

    def draw(self) -> str:
        """One expression."""
        choices, random = self._choices, self._random
        names = [self._root, *self._walk(self._root, random.randint(1, choices.deepest - 1))]
        steps = self._steps(names)
        for _ in range(choices.predicates):
            self._add_predicate(steps)
        for _ in range(choices.branches):
            self._add_branch(steps)
        return _spelled(steps)

    def _walk(self, element: str, length: int) -> list[str]:
        found: list[str] = []
        while len(found) < length and self._children.get(element):
            element = self._random.choice(self._children[element])
            found.append(element)
        return found

    def _steps(self, names: list[str]) -> list[_Step]:
        choices, random = self._choices, self._random
        return [
            _Step(
                name,
                ("//" if random.random() < choices.ellipsis else "/")
                + ("*" if random.random() < choices.wildcard else name),
            )
            for name in names
        ]

    def _add_predicate(self, steps: list[_Step]) -> None:
        fitting = [step for step in steps if self._subjects.get(step.element)]
        if fitting:
            step = self._random.choice(fitting)
            subject = self._random.choice(self._subjects[step.element])
            step.predicates += f"[{subject}={self._random.randint(1, self._choices.values)}]"

    def _add_branch(self, steps: list[_Step]) -> None:
        fitting = [step for step in steps if self._children.get(step.element)]
        if not fitting:
            return
        step = self._random.choice(fitting)
        branch = self._steps(self._walk(step.element, self._random.randint(1, 3)))
        for _ in range(self._choices.within):
            self._add_predicate(branch)
        text = _spelled(branch)
        step.predicates += f"[{'.' + text if text.startswith('//') else text[1:]}]"


def _spelled(steps: list[_Step]) -> str:
    return "".join(step.text + step.predicates for step in steps)
