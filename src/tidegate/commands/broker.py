"""The command `tidegate broker`: one broker, as a process."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from tidegate.commands.options import (
    NamespaceOption,
    SchemaOption,
    read_namespaces,
    read_schema,
    refusals,
)
from tidegate.commands.reaching import AuthorityOption, CertificateOption, KeyOption, read_tls
from tidegate.console import err, out
from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from tidegate.network.server import Server


def broker(
    listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where it is to be reached.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What it is called.")] = None,
    neighbour: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=ADDRESS", help="A broker that it links to; repeatable."),
    ] = None,
    storage: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where it writes down what it has to know again."),
    ] = None,
    policy: Annotated[str | None, typer.Option(metavar="NAME", help="What it forwards.")] = None,
    advertisements: Annotated[
        bool, typer.Option("--advertisements", help="Publishers say what they will publish.")
    ] = False,
    keep_events: Annotated[
        bool,
        typer.Option(
            "--keep-events", help="Write events down, and keep them until neighbours have them."
        ),
    ] = False,
    anywhere: Annotated[
        bool,
        typer.Option("--anywhere", help="Listen on addresses that other machines can reach."),
    ] = False,
    authority: AuthorityOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With TLS: a broker that may link to it; repeatable."),
    ] = None,
    slow: Annotated[
        str | None,
        typer.Option(
            metavar="cut|drop|wait",
            help="Clients that do not read: cut, drop the oldest events, or let others wait.",
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=NUMBER", help="A limit, as in docs/network.md; repeatable."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="attributes|xml|attributes+xml",
            help="What filters and events are: records, documents, or both in one network.",
        ),
    ] = None,
    schema: SchemaOption = None,
    namespace: NamespaceOption = None,
    config: Annotated[
        Path | None, typer.Option(metavar="BROKER.toml", help="A file that says all of this.")
    ] = None,
) -> None:
    """Run a broker until it is told to stop (SIGTERM, or Ctrl-C)."""
    from tidegate.network.address import read_address
    from tidegate.network.limits import changed, read_limit
    from tidegate.network.pressure import check_slow
    from tidegate.network.process import Setup, live, read_setup  # load the engine
    from tidegate.overlay.attributes import Attributes
    from tidegate.overlay.kinds import kind_called
    from tidegate.overlay.policy import Choice

    with refusals():
        types = read_schema(schema)
        if config is not None:
            setup = read_setup(config, Attributes(types))
        elif listen is None or name is None:
            raise TidegateError("a broker needs --listen HOST:PORT and --name, or --config")
        else:
            setup = Setup(name, read_address(listen))
        links = dict(setup.neighbours)
        for each in neighbour or ():
            other, found, address = each.partition("=")
            if not (found and other):
                raise TidegateError(f"--neighbour takes NAME=ADDRESS, not {each!r}")
            links[other] = read_address(address)
        setup = replace(setup, neighbours=links, anywhere=anywhere or setup.anywhere)
        if storage is not None:
            setup = replace(setup, storage=storage)
        if policy is not None:
            setup = replace(setup, policy=Choice(policy))
        if slow is not None:
            setup = replace(setup, slow=check_slow(slow))
        limits = changed(setup.limits, dict(map(read_limit, limit or ())))
        setup = replace(setup, limits=limits)
        if advertisements:
            setup = replace(setup, settings=replace(setup.settings, advertisements=True))
        if keep_events:
            kept = replace(setup.settings, keep_events=True, keep_deliveries=False)
            setup = replace(setup, settings=kept)
        setup = replace(
            setup,
            tls=read_tls(authority, certificate, key) or setup.tls,
            brokers=(*setup.brokers, *(accept or ())),
        )
        prefixes = {**setup.namespaces, **(read_namespaces(namespace) or {})}
        filters = kind_called(kind or setup.kind, types, prefixes)
        say = f"broker {setup.name} prepares; the first time this takes half a minute"
        err.print(say, markup=False)
        asyncio.run(live(setup, filters, _ready, _tell))


def _ready(server: "Server") -> None:
    out.print(f"broker {escape(server.name)} listens on {server.address}")
    out.file.flush()


def _tell(neighbour: str, what: str) -> None:
    """Say what has become of a link to a neighbour."""
    err.print(f"{neighbour}: {what}", markup=False)
