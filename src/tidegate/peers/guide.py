"""What may stand below an element, and how likely is it?

By a DTD, by a synopsis of documents that were seen, or by both (Chand, 2005, section 8.4.3). By a
DTD alone, all children that it allows are equally likely; by a synopsis, as likely as they were
frequent; by both, those that the DTD allows and the synopsis has. A DTD also says what cannot occur
together, if that is to be used.
"""

from dataclasses import dataclass
from typing import TypeAlias

from tidegate.documents.dtd import DTD
from tidegate.documents.synopsis import Synopsis
from tidegate.errors import TidegateError
from tidegate.peers.opposition import Opposition

Path: TypeAlias = tuple[str, ...]
"""Element names from the outermost one down."""


@dataclass(frozen=True)
class Guide:
    """What is known of documents.

    >>> from tidegate.documents.dtd import parse_dtd
    >>> guide = Guide(parse_dtd("<!ELEMENT a (b?, c?)><!ELEMENT b EMPTY><!ELEMENT c EMPTY>"))
    >>> guide.children(("a",))
    {'b': 0.5, 'c': 0.5}
    """

    dtd: DTD | None = None
    synopsis: Synopsis | None = None
    opposition: Opposition | None = None
    """None: it is not used that some elements exclude each other."""

    def __post_init__(self) -> None:
        if self.dtd is None and self.synopsis is None:
            raise TidegateError("a guide knows a DTD, or a synopsis, or both")

    def children(self, path: Path) -> dict[str, float]:
        """What may stand below a path, and how likely each is; together 1, if there is any."""
        names = self._declared(path)
        if self.synopsis is not None:
            node = self.synopsis.node(path)
            known = {} if node is None else {n: each.mean for n, each in node.children.items()}
            weights = {n: w for n, w in known.items() if names is None or n in names}
        else:
            weights = dict.fromkeys(names or (), 1.0)
        total = sum(weights.values())
        return {name: weight / total for name, weight in weights.items()} if total else {}

    def allows(self, path: Path, name: str) -> bool:
        """Whether an element may stand below a path."""
        names = self._declared(path)
        if names is not None and name not in names:
            return False
        return self.synopsis is None or self.synopsis.node((*path, name)) is not None

    def chance(self, path: Path, name: str, unknown: float) -> float:
        """How probable it is that a document which has a path has a child of this name there."""
        if not self.allows(path, name):
            return 0.0
        if self.synopsis is None:
            return unknown
        here, below = self.synopsis.frequency(path), self.synopsis.frequency((*path, name))
        return min(1.0, below / here) if here else 0.0

    def opposed(self, parent: str, name: str, other: str) -> bool:
        """Whether it is certain that two children cannot occur together; if equal, not twice."""
        return self.opposition is not None and self.opposition.opposed(parent, name, other)

    def _declared(self, path: Path) -> tuple[str, ...] | None:
        """The children that the DTD allows; None if it is not known, or says nothing."""
        if self.dtd is None:
            return None
        if not path:
            return (self.dtd.root,)
        declared = self.dtd.elements.get(path[-1])
        if declared is None:
            return None if self.synopsis is not None else ()
        return tuple(self.dtd.elements) if declared.anything else declared.children
