"""How are a million texts read quickly?

Texts that differ only in their literals have one **shape** (see `lexer.lift`), and a shape is
parsed once. Reading a further text of it is a look-up, its literals, and the few steps that depend
on their values; it gives the same filter, or the same error, as parsing it in full.

Where nearly every text has a shape of its own, its **clauses** still repeat: `a < 5 AND b = 'x'` is
two texts with AND between them, whose shapes others have, too. So a shape is cut at its ANDs first,
and if what stands between them are conditions by themselves, and none of them is an OR that the AND
would have torn apart, its template is joined of theirs. Otherwise the text is parsed in full, which
also says what is wrong with it.
"""

import re
from typing import Final

from tidegate.errors import FilterError, FilterSyntaxError
from tidegate.filters.lexer import MAX_LENGTH, lift
from tidegate.filters.literals import SPACE
from tidegate.filters.parser import parse_template
from tidegate.filters.recent import Recent
from tidegate.filters.schema import Schema
from tidegate.filters.template import Template
from tidegate.filters.values import Constant

_LONGEST_SHAPE: Final = 10_000  # characters; longer ones will hardly come back
_AND: Final = re.compile(rf"{SPACE}++[aA][nN][dD]{SPACE}++")
_BETWEEN: Final = re.compile(r"\bBETWEEN\b", re.IGNORECASE | re.ASCII)
_templates: Final[Recent[Template]] = Recent()  # read without a schema; a schema keeps its own


def read(text: str, schema: Schema | None) -> tuple[Template, list[Constant]]:
    """The template of a text and the constants for its slots."""
    if type(text) is not str:
        raise FilterSyntaxError(f"a filter is a text, not {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise FilterSyntaxError(
            f"the text has {len(text):,} characters, more than {MAX_LENGTH:,}",
            instead="a shorter filter, or several subscriptions",
        )
    templates = kept(schema)
    shape, values = lift(text)
    template = templates.get(shape)
    if template is not None:
        try:
            template.admit(values)
        except (ValueError, FilterError):
            parse_template(shape, lift(text)[1], schema, text)  # says where
            raise
        return template, values
    if len(shape) > _LONGEST_SHAPE:
        return parse_template(shape, values, schema, text), values
    template = _joined(shape, values, schema, templates)
    if template is None:
        values = lift(text)[1]
        template = parse_template(shape, values, schema, text)
    templates.keep(shape, template)
    return template, values


def _joined(
    shape: str, values: list[Constant], schema: Schema | None, templates: Recent[Template]
) -> Template | None:
    """The template of a conjunction, put together from those of its clauses, if that is sound.

    It is not where a part is no condition by itself, as `(a` is not; where it is an OR, which binds
    less than AND; and where a comment may go on behind the cut. `values` are admitted on the way,
    and spoilt if nothing comes of it.
    """
    parts = _AND.split(shape)
    if len(parts) < 2 or "--" in shape or "/*" in shape:
        return None
    clauses: list[Template] = []
    base = 0
    try:
        for part in parts if "BETWEEN" not in shape.upper() else _whole_clauses(parts):
            clause = templates.get(part)
            if clause is None:
                rest = values[base:]
                clause = parse_template(part, rest, schema)
                values[base:] = rest
                templates.keep(part, clause)
            else:
                for step, own in clause.steps:
                    step(values, base + own)
            if clause.alternatives:
                return None
            clauses += clause.clauses
            base += clause.slots
    except (ValueError, FilterError):
        return None
    if base < len(values):
        return None
    return clauses[0] if len(clauses) == 1 else Template.joined(clauses, base)


def _whole_clauses(parts: list[str]) -> list[str]:
    """The parts of a shape, with the AND of a BETWEEN back in its place."""
    clauses: list[str] = []
    torn = False  # whether the last one ends in the middle of a BETWEEN
    for part in parts:
        if torn:
            clauses[-1] += f" AND {part}"
        else:
            clauses.append(part)
        torn = not torn and _BETWEEN.search(part) is not None
    return clauses


def kept(schema: Schema | None) -> Recent[Template]:
    """The shapes that were read under a schema, or without."""
    return _templates if schema is None else schema.templates


def forget_templates() -> None:
    """Drop the shapes read without a schema, so that the next text is parsed in full."""
    _templates.clear()
