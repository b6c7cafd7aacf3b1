"""The command `tidegate relate`: how do two filters relate?"""

from typing import Annotated, Final

import typer

import tidegate as tg
from tidegate.commands.options import SchemaOption, read_schema, refusals
from tidegate.console import out

_RELATIONS: Final = {
    tg.Relation.EQUAL: "the same events pass both filters",
    tg.Relation.COVERS: "every event that passes the second passes the first",
    tg.Relation.COVERED: "every event that passes the first passes the second",
    tg.Relation.OVERLAPS: "some events pass both, some only the one, some only the other",
    tg.Relation.DISJOINT: "no event passes both filters",
    tg.Relation.UNKNOWN: "this cannot be decided; forwarding treats them as overlapping",
}


def relate(
    first: Annotated[str, typer.Argument(metavar="FILTER", help="The first filter.")],
    second: Annotated[str, typer.Argument(metavar="FILTER", help="The second filter.")],
    schema: SchemaOption = None,
) -> None:
    """Say how two filters relate: equal, covers, covered, overlaps, disjoint or unknown."""
    with refusals():
        types = read_schema(schema)
        relation = tg.relate(tg.parse(first, types), tg.parse(second, types))
    out.print(f"[bold]{relation}[/]: {_RELATIONS[relation]}")
