"""What does a document of a batch look like, one at a time?

For the few patterns that the plan cannot say in full, a document's arrays become the tree that
`evaluate` takes. Each document's at most once, whatever asks for it.
"""

from tidegate.documents.evaluate import matches
from tidegate.documents.pattern import Pattern
from tidegate.documents.reading.documents import Documents
from tidegate.documents.tree import Element


class Trees:
    """The trees of a block of documents, made when asked for."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._made: dict[int, Element] = {}

    def matches(self, pattern: Pattern, row: int) -> bool:
        """Whether a document matches a pattern."""
        tree = self._made.get(row)
        if tree is None:
            tree = self._made[row] = tree_of(self._documents, row)
        return matches(pattern, tree)


def tree_of(documents: Documents, row: int) -> Element:
    """The tree of one document."""
    arrays = documents.arrays
    root = Element("", {}, None)
    made: dict[int, Element] = {-1: root}
    owners: dict[int, list[tuple[int, Element | str]]] = {}
    labels: dict[int, str] = {}
    for e in documents.elements(row):
        name = int(arrays.name[e])
        label = labels.get(name) or labels.setdefault(name, documents.label(name))
        parent = int(arrays.parent[e])
        element = Element(label, documents.attributes(e), made[parent])
        made[e] = element
        owners.setdefault(parent, []).append((2 * int(arrays.text_from[e]), element))
        texts = owners.setdefault(e, [])
        node = int(arrays.first_text[e])
        while node >= 0:
            start, end = int(arrays.text_start[node]), int(arrays.text_end[node])
            texts.append((2 * start + 1, documents.characters(start, end)))
            node = int(arrays.next_text[node])
    for e, element in made.items():
        # A text begins where the elements before it end, which have the same place or an earlier
        # one; those after it begin where it ends.
        parts = owners.get(e, [])
        parts.sort(key=lambda part: part[0])
        element.children += [part for _, part in parts]
    _number(root)
    return root


def _number(root: Element) -> None:
    """Say when each element begins and ends, in the order of the document."""
    time = 0
    stack: list[tuple[Element, bool]] = [(child, False) for child in reversed(root.elements)]
    while stack:
        element, ended = stack.pop()
        time += 1
        if ended:
            element.end = time
            continue
        element.start = time
        stack.append((element, True))
        stack += [(child, False) for child in reversed(element.elements)]
