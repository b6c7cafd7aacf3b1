"""How do commands talk to people?

What the commands of `tidegate` have in common: errors of the library printed without a traceback
(exit code 2), and the arguments that several of them take.
"""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.markup import escape

from tidegate.console import err
from tidegate.errors import ParameterError, SchemaError, TidegateError, TidegateWarning
from tidegate.filters.attribute import Attribute
from tidegate.filters.literals import decode
from tidegate.filters.schema import Schema

SchemaOption = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        help='File with the attributes\' types: JSON such as {"price": "double"}, the JSON of a '
        "Spark schema, or Spark DDL such as price DOUBLE, volume BIGINT.",
        exists=True,
        dir_okay=False,
    ),
]

NamespaceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--namespace",
        metavar="PREFIX=URI",
        help="What a prefix in patterns stands for; repeatable.",
    ),
]


@contextmanager
def refusals() -> Iterator[None]:
    """Print what the library refuses, and end the command; print what it warns of, and go on."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", TidegateWarning)
        usual = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, TidegateWarning):
                err.print(f"[bold yellow]warning:[/] {escape(str(message))}")
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        try:
            yield
        except TidegateError as error:
            err.print(f"[bold red]error:[/] {escape(str(error))}")
            raise typer.Exit(2) from None


def read_schema(path: Path | None) -> Schema | None:
    """The schema in a file, in any of its notations."""
    if path is None:
        return None
    text = path.read_text(encoding="utf-8")
    try:
        source = json.loads(text)
    except json.JSONDecodeError:
        return Schema(text)
    if isinstance(source, dict) and source.get("type") == "struct" and "fields" in source:
        return Schema(_spark_mapping(source))
    if not isinstance(source, dict):
        raise SchemaError(f"{path}: the JSON of a schema is an object of names and types")
    return Schema(source)


def _spark_mapping(struct: dict[str, Any]) -> dict[str, Any]:
    """The fields of a Spark schema's JSON as a mapping of names and types."""
    mapping: dict[str, Any] = {}
    for entry in struct["fields"]:
        kind = entry["type"]
        name = "`" + str(entry["name"]).replace("`", "``") + "`"
        if isinstance(kind, dict) and kind.get("type") == "struct":
            mapping[name] = _spark_mapping(kind)
        else:
            spelled = kind if isinstance(kind, str) else str(kind.get("type"))
            mapping[name] = Attribute(spelled, nullable=bool(entry.get("nullable", True)))
    return mapping


def read_parameter(text: str) -> tuple[str, Any]:
    """The name and the value of `--set NAME=VALUE`."""
    name, found, value = text.partition("=")
    if not found:
        raise ParameterError(f"--set takes NAME=VALUE, not {text!r}")
    try:
        return name.strip(), decode(value.strip())
    except ValueError as error:
        raise ParameterError(f"{name.strip()}: {error}") from None


def read_namespaces(given: list[str] | None) -> dict[str, str] | None:
    """The prefixes of `--namespace PREFIX=URI`, and what they stand for."""
    if not given:
        return None
    pairs = [each.partition("=") for each in given]
    for text, (prefix, found, uri) in zip(given, pairs, strict=True):
        if not (found and prefix.strip() and uri.strip()):
            raise TidegateError(f"--namespace takes PREFIX=URI, not {text!r}")
    return {prefix.strip(): uri.strip() for prefix, _, uri in pairs}
