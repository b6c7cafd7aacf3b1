"""The command `tidegate relate`: how do two filters relate?"""

from typing import TYPE_CHECKING, Annotated, Final

import typer

import tidegate as tg
from tidegate.commands.options import (
    NamespaceOption,
    SchemaOption,
    read_namespaces,
    read_schema,
    refusals,
)
from tidegate.console import out
from tidegate.documents.lexer import is_pattern

if TYPE_CHECKING:
    from tidegate.documents.xpath import XPath

_RELATIONS: Final = {
    tg.Relation.EQUAL: "the same events pass both filters",
    tg.Relation.COVERS: "every event that passes the second passes the first",
    tg.Relation.COVERED: "every event that passes the first passes the second",
    tg.Relation.OVERLAPS: "some events pass both, some only the one, some only the other",
    tg.Relation.DISJOINT: "no event passes both filters",
    tg.Relation.UNKNOWN: "this cannot be decided; forwarding treats them as overlapping",
}


_OF_PATTERNS: Final = {
    tg.Relation.UNKNOWN: "neither is known to cover the other; forwarding treats them as "
    "overlapping"
}


def relate(
    first: Annotated[
        str, typer.Argument(metavar="FILTER", help="The first filter; patterns begin with /.")
    ],
    second: Annotated[str, typer.Argument(metavar="FILTER", help="The second filter.")],
    schema: SchemaOption = None,
    namespaces: NamespaceOption = None,
) -> None:
    """Say how two filters relate: equal, covers, covered, overlaps, disjoint or unknown.

    They are two conditions on attributes, or two XPath patterns for documents.
    """
    with refusals():
        patterns = is_pattern(first)
        if patterns != is_pattern(second):
            raise tg.TidegateError(
                "one is a pattern for documents, the other a condition on attributes: they have "
                "no events in common"
            )
        if patterns and schema is not None:
            raise tg.TidegateError("--schema is not for patterns: documents have none")
        if patterns:
            spaces = read_namespaces(namespaces)
            one, other = (tg.parse_xpath(text, namespaces=spaces) for text in (first, second))
            relation = _relate_patterns(one, other)
            said = _OF_PATTERNS.get(relation) or _RELATIONS[relation].replace("event", "document")
        else:
            types = read_schema(schema)
            relation = tg.relate(tg.parse(first, types), tg.parse(second, types))
            said = _RELATIONS[relation]
    out.print(f"[bold]{relation}[/]: {said}")


def _relate_patterns(one: "XPath", other: "XPath") -> tg.Relation:
    """How two patterns relate, as far as that is certain."""
    covers, covered = _covers(one, other), _covers(other, one)
    if covers and covered:
        return tg.Relation.EQUAL
    if not one.overlaps(other):
        return tg.Relation.DISJOINT
    if covers:
        return tg.Relation.COVERS
    return tg.Relation.COVERED if covered else tg.Relation.UNKNOWN


def _covers(one: "XPath", other: "XPath") -> bool:
    """Whether it is certain, by trying harder than a broker would."""
    from tidegate.documents.models import covers_exactly

    return all(
        any(covers_exactly(wide, narrow) for wide in one.patterns) for narrow in other.patterns
    ) or one.covers(other)
