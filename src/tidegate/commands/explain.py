"""The command `tidegate explain`: what does a filter mean, and does an event pass it?"""

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

import tidegate as tg
from tidegate.commands.options import (
    NamespaceOption,
    SchemaOption,
    read_namespaces,
    read_parameter,
    read_schema,
    refusals,
)
from tidegate.console import out
from tidegate.documents.lexer import is_pattern
from tidegate.filters.expression import attribute_name
from tidegate.filters.literals import to_date, to_timestamp


def explain(
    text: Annotated[
        str,
        typer.Argument(
            metavar="FILTER",
            help="The filter, in quotes: a condition, or an XPath pattern, which begins with /.",
        ),
    ],
    schema: SchemaOption = None,
    event: Annotated[
        str | None, typer.Option(help="An event as JSON, such as '{\"price\": 9.5}'.")
    ] = None,
    document: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|XML", help="For a pattern: a file with a document, or one itself, <a/>."
        ),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Bind a parameter; repeatable."),
    ] = None,
    namespaces: NamespaceOption = None,
) -> None:
    """Say what a filter means and, given an event or a document, why it passes or not."""
    with refusals():
        values = dict(read_parameter(each) for each in parameters or ())
        if is_pattern(text):
            _refuse("a pattern", {"--schema": schema, "--event": event}, "say --document")
            _explain_pattern(text, document, values, read_namespaces(namespaces))
        else:
            given = {"--document": document, "--namespace": namespaces}
            _refuse("a condition", given, "patterns, which these are for, begin with /")
            _explain_condition(text, read_schema(schema), event, values)


def _refuse(what: str, options: Mapping[str, object], hint: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise tg.TidegateError(f"{name} is not for {what}; {hint}")


def _explain_condition(
    text: str, types: tg.Schema | None, event: str | None, values: dict[str, Any]
) -> None:
    f = tg.parse(text, types)
    if values:
        f = f.bind(**values)
    out.print(f"[bold]reads as[/]    {escape(str(f))}")
    out.print(f"[bold]attributes[/]  {escape(', '.join(sorted(f.attributes)) or 'none')}")
    if f.parameters:
        out.print(f"[bold]parameters[/]  {', '.join(':' + name for name in f.parameters)}")
    elif f.form is True or f.form is False:
        out.print(f"[bold]note[/]        {'every' if f.form else 'no'} event passes it")
    if event is not None:
        out.print()
        out.print(escape(str(f.explain(_read_event(event, types)))))


def _explain_pattern(
    text: str, document: str | None, values: dict[str, Any], namespaces: dict[str, str] | None
) -> None:
    from tidegate.documents.pattern import EVERYTHING

    xpath = tg.parse_xpath(text, namespaces=namespaces)
    if values:
        xpath = xpath.bind(**values)
    out.print(f"[bold]reads as[/]    {escape(str(xpath))}")
    if xpath.parameters:
        out.print(f"[bold]parameters[/]  {', '.join('$' + name for name in xpath.parameters)}")
    else:
        for number, pattern in enumerate(xpath.patterns):
            said = "asks for" if not number else "or for"
            out.print(f"[bold]{said:<11}[/] {escape(str(pattern))}")
        if not xpath.patterns or EVERYTHING in xpath.patterns:
            who = "every" if xpath.patterns else "no"
            out.print(f"[bold]note[/]        {who} document passes it")
    if document is not None:
        xpath.require_bound()
        found = xpath.explain(_read_document(document))
        out.print()
        out.print(f"the document {'passes' if found else 'does not pass'}")
        out.print(escape(str(found)))


def _read_document(given: str) -> bytes | str:
    """A document that is given itself, or in a file."""
    if given.lstrip().startswith("<"):
        return given
    try:
        return Path(given).read_bytes()
    except OSError as error:
        raise tg.TidegateError(
            f"{given} is no document, which begins with <, and no file: {error.strerror}"
        ) from None


def _read_event(text: str, schema: tg.Schema | None) -> dict[str, Any]:
    try:
        event = json.loads(text)
    except json.JSONDecodeError as error:
        raise tg.TidegateError(f"the event is not JSON: {error}") from None
    if not isinstance(event, dict):
        raise tg.TidegateError('an event is a JSON object, such as {"price": 9.5}')
    return event if schema is None else {k: _typed((k,), v, schema) for k, v in event.items()}


def _typed(path: tuple[str, ...], value: Any, schema: tg.Schema) -> Any:
    """A JSON value as the schema's type: JSON has no dates, timestamps and decimals of its own."""
    if isinstance(value, dict):
        return {name: _typed((*path, name), inner, schema) for name, inner in value.items()}
    name = attribute_name(path)
    if name not in schema:
        return value
    kind = schema[name].type.name
    try:
        if isinstance(value, str) and kind == "date":
            return to_date(value)
        if isinstance(value, str) and kind.startswith("timestamp"):
            return to_timestamp(value)
    except ValueError as error:
        raise tg.TidegateError(f"{name}: {error}") from None
    if isinstance(value, float) and kind.startswith("decimal"):
        return Decimal(repr(value))
    return value
