"""The command `tidegate status`: how does a broker fare?"""

import asyncio
import json
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from tidegate.commands.options import refusals
from tidegate.commands.reaching import (
    AuthorityOption,
    CertificateOption,
    KeyOption,
    TokenOption,
    WaitOption,
    read_tls,
)
from tidegate.console import out


def status(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="The broker: HOST:PORT.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_metrics: Annotated[
        bool, typer.Option("--prometheus", help="Print metrics as Prometheus reads them.")
    ] = False,
    name: Annotated[str, typer.Option(help="Who asks.")] = "status",
    authority: AuthorityOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    token: TokenOption = "",
    wait: WaitOption = 10.0,
) -> None:
    """Print how a broker fares: its links, its tables, and what it has counted."""
    from tidegate.network.metrics import prometheus
    from tidegate.network.status import status as ask  # loads the engine

    with refusals():
        tls = read_tls(authority, certificate, key)
        found = asyncio.run(ask(address, name=name, tls=tls, token=token, patience=wait))
    if as_json:
        print(json.dumps(found))
        return
    if as_metrics:
        print(prometheus(found), end="")
        return
    show(found)


def show(found: dict[str, Any]) -> None:
    """Print it for people."""
    out.print(f"broker {escape(found['broker'])}, policy {found['policy']}, ", end="")
    out.print(f"{found['entries']:,} entries")
    table = Table("link", "to a", "is", "entries from it", "forwarded to it")
    for link in found["links"]:
        side, state = "client" if link["client"] else "broker", "up" if link["up"] else "down"
        numbers = f"{link['entries']:,}", f"{link['forwarded']:,}"
        table.add_row(escape(link["name"]), side, state, *numbers)
    listed = {link["name"] for link in found["links"]}
    for name in [each for each in found["missing"] if each not in listed]:
        table.add_row(escape(name), "broker", "missing", "", "")
    out.print(table)
    for name, count in sorted(found["counted"].items()):
        out.print(f"{name}: {count:,}")
