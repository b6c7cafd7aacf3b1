"""The command `tidegate subscribe`: the events that match a filter, as they come."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.commands.options import (
    NamespaceOption,
    read_namespaces,
    read_parameter,
    refusals,
)
from tidegate.commands.reaching import (
    AuthorityOption,
    CertificateOption,
    KeyOption,
    TokenOption,
    WaitOption,
    read_tls,
)
from tidegate.console import err
from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from tidegate.overlay.filter import Event, Filter, Kind, Plain


def subscribe(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="The broker: HOST:PORT.")],
    filter: Annotated[
        str,
        typer.Argument(
            metavar="FILTER",
            help="Which events are wanted: a condition, or a pattern of documents.",
        ),
    ],
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter's value; repeatable."),
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many; else when it is interrupted.")
    ] = None,
    namespaces: NamespaceOption = None,
    name: Annotated[str, typer.Option(help="Who subscribes.")] = "",
    authority: AuthorityOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    token: TokenOption = "",
    wait: WaitOption = 10.0,
) -> None:
    """Print the events that match a filter, as JSON lines; a document is a string."""
    import json

    from tidegate.network.sync_client import connect  # loads the engine

    def watch(news: str, why: str) -> None:
        err.print(f"{news}: {why}", markup=False)

    with refusals():
        tls = read_tls(authority, certificate, key)
        given = dict(map(read_parameter, parameters or ()))
        how = {"name": name, "watch": watch, "tls": tls, "token": token, "patience": wait}
        with connect(address, **how) as client, suppress(KeyboardInterrupt):
            prefixes = read_namespaces(namespaces)
            if prefixes is None:
                wanted = client.subscribe(filter, **given)
            else:
                wanted = client.subscribe(_pattern(filter, given, prefixes, client.client.kind))
            for place, notification in enumerate(wanted, 1):
                print(json.dumps(_plain(notification.event)), flush=True)
                if place == count:
                    break


def _pattern(
    text: str, given: Mapping[str, Any], namespaces: Mapping[str, str], kind: "Kind"
) -> "Filter":
    """A pattern with prefixes, as a filter of the broker's kind."""
    from tidegate.overlay.patterns import Patterns
    from tidegate.overlay.several import Several

    if Patterns.name not in kind.name.split("+"):
        raise TidegateError(
            f"--namespace is for patterns on documents; this broker has {kind.name}"
        )
    f = Patterns(namespaces).parse(text, **given)
    return kind.filter(f) if isinstance(kind, Several) else f


def _plain(event: "Event") -> "Plain":
    """An event as it is printed, and as `tidegate publish` reads it: an object, or a document."""
    from tidegate.overlay import attribute_events, pattern_events

    document = isinstance(event, bytes | str)
    return (pattern_events if document else attribute_events).plain_event(event)
