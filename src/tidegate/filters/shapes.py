"""How are a million texts read quickly?

Texts that differ only in their literals have one **shape** (see `lexer.lift`), and a shape is
parsed once. Reading a further text of it is a look-up, its literals, and the few steps that depend
on their values; it gives the same filter, or the same error, as parsing it in full.
"""

from typing import Final

from tidegate.errors import FilterError, FilterSyntaxError
from tidegate.filters.lexer import MAX_LENGTH, lift
from tidegate.filters.parser import parse_template
from tidegate.filters.schema import Schema
from tidegate.filters.template import Template
from tidegate.filters.values import Constant

_MAX_TEMPLATES: Final = 20_000
_LONGEST_SHAPE: Final = 10_000  # characters; longer ones will hardly come back
_templates: dict[str, Template] = {}  # those read without a schema; a schema keeps its own


def read(text: str, schema: Schema | None) -> tuple[Template, list[Constant]]:
    """The template of a text and the constants for its slots."""
    if type(text) is not str:
        raise FilterSyntaxError(f"a filter is a text, not {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise FilterSyntaxError(
            f"the text has {len(text):,} characters, more than {MAX_LENGTH:,}",
            instead="a shorter filter, or several subscriptions",
        )
    templates = _templates if schema is None else schema.templates
    shape, values = lift(text)
    template = templates.get(shape)
    if template is None:
        template = parse_template(text, values, schema)
        if len(templates) >= _MAX_TEMPLATES:
            templates.clear()
        if len(shape) <= _LONGEST_SHAPE:
            templates[shape] = template
        return template, values
    if template.steps:
        try:
            for step in template.steps:
                step(values)
        except (ValueError, FilterError):
            parse_template(text, lift(text)[1], schema)  # says where
            raise
    return template, values


def forget_templates() -> None:
    """Drop the shapes read without a schema, so that the next text is parsed in full."""
    _templates.clear()
