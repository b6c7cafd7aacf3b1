"""Which types of documents are there to experiment with?

The workloads of the field are made from the DTD of the News Industry Text Format, version 2.5: 123
elements with 513 attributes. It is read from a file, if one is at hand; otherwise a definition of
the same shape is made up, and so are definitions at random: mostly choices that may be repeated,
some elements that may be within themselves, attributes that are mostly optional.
"""

import os
from pathlib import Path
from random import Random
from typing import Final

from tidegate.documents.dtd import DTD, parse_dtd

ELEMENTS: Final = 123
ATTRIBUTES: Final = 4  # an element, in the mean
NITF: Final = "xml/nitf-2-5.dtd"


def data_folder() -> Path:
    """Where data of others lies: TIDEGATE_DATA names the folder, or it is beside the project."""
    beside = Path(__file__).parents[5] / "shared" / "data"
    return Path(os.environ.get("TIDEGATE_DATA", beside))


def news() -> DTD:
    """The DTD of NITF if it is at hand, else one of the same shape."""
    file = data_folder() / NITF
    if file.exists():
        return parse_dtd(file.read_text("utf-8"))
    return made_up(Random(6))


def which_news() -> str:
    """Which of the two `news` is."""
    return "the DTD of NITF" if (data_folder() / NITF).exists() else "a made-up DTD"


def made_up(random: Random, elements: int = ELEMENTS) -> DTD:
    """A definition at random.

    >>> len(made_up(Random(1), 10).elements)
    10
    """
    return parse_dtd(made_up_text(random, elements))


def made_up_text(random: Random, elements: int) -> str:
    """The text of such a one."""
    names = [f"e{number}" for number in range(elements)]
    return "".join(_element(random, names, place) for place in range(elements))


def _element(random: Random, names: list[str], place: int) -> str:
    name, later = names[place], names[place + 1 :]
    wanted = random.choice((0, 0, 1, 2, 3, 5, 8, 13)) if place else 3
    children = random.sample(later, min(wanted, len(later)))
    if place and children and random.random() < 0.3:
        children.append(random.choice(names[1 : place + 1]))  # a circle: always an optional one
    if place + 1 < len(names) and names[place + 1] not in children and random.random() < 0.5:
        children.append(names[place + 1])
    attributes = "".join(
        f" a{number} {random.choice(_TYPES)}"
        for number in random.sample(range(12), random.randint(0, 2 * ATTRIBUTES))
    )
    declared = f"<!ELEMENT {name} {_content(random, children)}>\n"
    return declared + (f"<!ATTLIST {name}{attributes}>\n" if attributes else "")


_TYPES: Final = (
    "CDATA #IMPLIED",
    "CDATA #IMPLIED",
    "NMTOKEN #IMPLIED",
    "CDATA #REQUIRED",
    "(left|right) 'left'",
)


def _content(random: Random, children: list[str]) -> str:
    if not children:
        return random.choice(("EMPTY", "(#PCDATA)"))
    kind = random.random()
    if kind < 0.3:
        return f"(#PCDATA | {' | '.join(children)})*"
    if kind < 0.6:
        return f"({' | '.join(children)})*"
    return "(" + ", ".join(child + random.choice(("?", "*")) for child in children) + ")"
