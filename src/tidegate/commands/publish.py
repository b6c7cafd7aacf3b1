"""The command `tidegate publish`: events from a file, or from standard input, to a broker."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.commands.options import refusals
from tidegate.commands.reaching import (
    AuthorityOption,
    CertificateOption,
    KeyOption,
    TokenOption,
    WaitOption,
    read_tls,
)
from tidegate.console import err, out
from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from tidegate.network.sync_client import SyncClient
    from tidegate.overlay.filter import Event

_AT_ONCE = 1_000


def publish(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="The broker: HOST:PORT.")],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]…",
            help="JSON lines, Parquet (*.parquet), or a document (*.xml); else standard input.",
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="Who publishes.")] = "",
    advertise: Annotated[
        str | None, typer.Option(metavar="FILTER", help="What is going to be published.")
    ] = None,
    authority: AuthorityOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    token: TokenOption = "",
    wait: WaitOption = 10.0,
) -> None:
    """Publish events, and wait until the broker has taken them.

    A line of JSON is an object of names and values, or a string, which is a document.
    """
    from tidegate.network.sync_client import connect  # loads the engine

    def watch(news: str, why: str) -> None:
        if news != "connected":
            err.print(f"{news}: {why}", markup=False)

    with refusals():
        tls = read_tls(authority, certificate, key)
        how = {"name": name, "watch": watch, "tls": tls, "token": token, "patience": wait}
        with connect(address, **how) as client:
            _publish(client, paths or [None], advertise)


def _publish(client: "SyncClient", paths: "Sequence[Path | None]", advertise: str | None) -> None:
    if advertise is not None:
        client.advertise(advertise)
    count = 0
    for path in paths:
        for events in _batches(path):
            client.publish_many(events)
            count += len(events)
    client.confirmed()
    refused = len(client.client.refused)
    out.print(f"published {count:,} events" + ("; some were refused" if refused else ""))


def _batches(path: Path | None) -> "Iterator[list[Event]]":
    try:
        if path is not None and path.suffix == ".xml":
            yield [path.read_bytes()]
            return
        if path is not None and path.suffix == ".parquet":
            import pyarrow.parquet as pq

            for chunk in pq.ParquetFile(path).iter_batches(_AT_ONCE):
                yield chunk.to_pylist()
            return
        with sys.stdin if path is None else path.open(encoding="utf-8") as file:
            some: list[Event] = []
            for number, line in enumerate(file, 1):
                if line.strip():
                    some.append(_read(line, number))
                if len(some) >= _AT_ONCE or (path is None and some):
                    yield some
                    some = []
            if some:
                yield some
    except OSError as error:
        raise TidegateError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # bytes that are no UTF-8, or no Parquet
        raise TidegateError(f"{path or 'standard input'} cannot be read: {error}") from None


def _read(line: str, number: int) -> "Event":
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TidegateError(f"line {number} is not JSON: {error}") from None
    if isinstance(found, dict | str):
        return found
    if isinstance(found, list):  # a document that is no text, as `tidegate subscribe` prints it
        from tidegate.overlay.pattern_events import read_event

        with suppress(ValueError):
            return read_event(found)
    raise TidegateError(
        f"line {number} is no event: write an object of names and values, or a document as a string"
    )
