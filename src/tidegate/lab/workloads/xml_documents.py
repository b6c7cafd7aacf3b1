"""What did the producers of XNet publish?

Chand, "Large scale diffusion of information in Publish/Subscribe systems" (2005), section 6.2.2:
documents of a DTD by the parameters of Table 6.2, from IBM's XML Generator. Here a document follows
the content models from the root down: of a choice, one is drawn; what may be left out is there with
a probability; what may be repeated is there up to so many times. When a document has the number of
tag pairs that it may have, or is as deep as it may be, only what must be there is added. Attributes
that must be there are, others with a probability; values are small numbers and words.

The share of optional children was fitted so that a quarter of the subscriptions of `xml_patterns`
wants a document (the thesis, at the end of its section 9.2.2).
"""

from dataclasses import dataclass
from random import Random
from typing import Final

from tidegate.documents.dtd import DTD, Attribute, Group, Named

_WORDS: Final = ("tide", "gate", "flood", "ebb", "sluice", "weir", "dyke", "polder")


@dataclass(frozen=True)
class DocumentChoices:
    """The parameters of Table 6.2, and what it leaves open."""

    levels: int = 20
    """L: how deep a document may be."""
    tags: int = 22
    """T: how many tag pairs it may have; 22, 58 or 108."""
    repetitions: int = 3
    """r: how often a child with `*` or `+` is there at most."""
    optional: float = 0.27
    """How probable it is that a child with `?` is there."""
    attributes: float = 0.3
    """How probable it is that an attribute is there that need not be."""
    values: int = 10
    """How many numbers attributes have as values."""


class DocumentSource:
    """Draws documents."""

    def __init__(self, dtd: DTD, choices: DocumentChoices, seed: int) -> None:
        self._dtd = dtd
        self._choices = choices
        self._random = Random(seed)
        self._left = 0

    def draw(self) -> str:
        """One document."""
        self._left = self._choices.tags - 1
        return self._element(self._dtd.root, 1)

    def _element(self, name: str, level: int) -> str:
        declared = self._dtd.elements.get(name)
        if declared is None:
            return f"<{name}/>"
        attributes = "".join(self._attribute(each) for each in declared.attributes)
        parts: list[str] = []
        if declared.content is not None:
            names: list[str] = []
            self._fill(declared.content, names, level)
            parts = [self._element(child, level + 1) for child in names if level < 200]
        if declared.text:
            parts.insert(self._random.randint(0, len(parts)), self._random.choice(_WORDS))
        content = "".join(parts)
        return f"<{name}{attributes}>{content}</{name}>" if content else f"<{name}{attributes}/>"

    def _fill(self, model: Named | Group, names: list[str], level: int) -> None:
        """Add the names of children by a content model."""
        for _ in range(self._times(model.times, level)):
            if isinstance(model, Named):
                names.append(model.name)
                self._left -= 1
            elif model.sign == "|":
                self._fill(self._random.choice(model.parts), names, level)
            else:
                for part in model.parts:
                    self._fill(part, names, level)

    def _times(self, times: str, level: int) -> int:
        choices, random = self._choices, self._random
        full = self._left <= 0 or level >= choices.levels
        match times:
            case "":
                return 1
            case "?":
                return int(not full and random.random() < choices.optional)
            case "*":
                return 0 if full else random.randint(0, choices.repetitions)
            case _:
                return 1 if full else random.randint(1, choices.repetitions)

    def _attribute(self, attribute: Attribute) -> str:
        random = self._random
        if not attribute.required and random.random() >= self._choices.attributes:
            return ""
        if attribute.values:
            value = random.choice(attribute.values)
        else:
            value = str(random.randint(1, self._choices.values))
        return f' {attribute.name}="{value}"'
