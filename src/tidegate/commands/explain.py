"""The command `tidegate explain`: what does a filter mean, and does an event pass it?"""

import json
from decimal import Decimal
from typing import Annotated, Any

import typer
from rich.markup import escape

import tidegate as tg
from tidegate.commands.options import SchemaOption, read_parameter, read_schema, refusals
from tidegate.console import out
from tidegate.filters.expression import attribute_name
from tidegate.filters.literals import to_date, to_timestamp


def explain(
    text: Annotated[str, typer.Argument(metavar="FILTER", help="The filter, in quotes.")],
    schema: SchemaOption = None,
    event: Annotated[
        str | None, typer.Option(help="An event as JSON, such as '{\"price\": 9.5}'.")
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Bind a parameter; repeatable."),
    ] = None,
) -> None:
    """Say what a filter means and, given an event, why it passes or not."""
    with refusals():
        types = read_schema(schema)
        f = tg.parse(text, types)
        if parameters:
            f = f.bind(**dict(read_parameter(each) for each in parameters))
        out.print(f"[bold]reads as[/]    {escape(str(f))}")
        out.print(f"[bold]attributes[/]  {escape(', '.join(sorted(f.attributes)) or 'none')}")
        if f.parameters:
            out.print(f"[bold]parameters[/]  {', '.join(':' + name for name in f.parameters)}")
        elif f.form is True or f.form is False:
            out.print(f"[bold]note[/]        {'every' if f.form else 'no'} event passes it")
        if event is not None:
            out.print()
            out.print(escape(str(f.explain(_read_event(event, types)))))


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
