"""What is a batch of documents, once it is read?

Flat arrays, in document order, one document after the other; see `handlers` for what they hold.
Documents that were refused have no elements, and a reason. Names are numbers of a table that all
documents of the batch share; those in a namespace have its address before them, and `SEPARATOR`
between.

Invariants: the elements of document `d` are `starts[d]` to `starts[d + 1]`, the first of them is
its outermost. The descendants of element `e` are those after it up to `last[e]`. Its attributes are
`first_attribute[e]` to `first_attribute[e + 1]`, its text nodes `first_text[e]` and those that
`next_text` leads to, its string value the characters from `text_from[e]` to `text_to[e]`.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.documents.reading.expat import SEPARATOR

Integers: TypeAlias = NDArray[np.int32]
Bytes: TypeAlias = NDArray[np.uint8]


class Arrays(NamedTuple):
    """The arrays of a batch, as kernels take them."""

    starts: NDArray[np.int64]
    name: Integers
    parent: Integers
    depth: Integers
    last: Integers
    first_attribute: Integers
    text_from: Integers
    text_to: Integers
    first_text: Integers
    attribute_name: Integers
    value_from: Integers
    value_to: Integers
    text_owner: Integers
    text_start: Integers
    text_end: Integers
    next_text: Integers
    values: Bytes
    characters: Bytes


@dataclass(frozen=True, slots=True)
class Documents:
    """A batch of documents."""

    arrays: Arrays
    names: list[bytes]
    """The names by their numbers; of those in a namespace, both."""
    refused: dict[int, str]
    """The documents that could not be read, and why."""

    def __len__(self) -> int:
        return len(self.arrays.starts) - 1

    def elements(self, document: int) -> range:
        """The elements of a document."""
        return range(int(self.arrays.starts[document]), int(self.arrays.starts[document + 1]))

    def label(self, number: int) -> str:
        """A name as patterns write it: `a`, or `{uri}a` in a namespace."""
        space, separator, local = self.names[number].rpartition(SEPARATOR)
        return f"{{{space.decode()}}}{local.decode()}" if separator else local.decode()

    def attributes(self, element: int) -> dict[str, str]:
        """The attributes of an element."""
        arrays = self.arrays
        places = range(arrays.first_attribute[element], arrays.first_attribute[element + 1])
        return {
            self.label(arrays.attribute_name[i]): arrays.values[
                arrays.value_from[i] : arrays.value_to[i]
            ]
            .tobytes()
            .decode()
            for i in places
        }

    def texts(self, element: int) -> list[str]:
        """The text nodes of an element."""
        arrays, found = self.arrays, []
        node = int(arrays.first_text[element])
        while node >= 0:
            found.append(self.characters(arrays.text_start[node], arrays.text_end[node]))
            node = int(arrays.next_text[node])
        return found

    def value(self, element: int) -> str:
        """The string value of an element: all text in it."""
        return self.characters(self.arrays.text_from[element], self.arrays.text_to[element])

    def characters(self, start: int, end: int) -> str:
        """A stretch of the text."""
        return self.arrays.characters[start:end].tobytes().decode()
