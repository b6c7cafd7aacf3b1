"""The command `tidegate subscribe`: the events that match a filter, as they come."""

from contextlib import suppress
from typing import Annotated

import typer

from tidegate.commands.options import read_parameter, refusals
from tidegate.commands.reaching import (
    AuthorityOption,
    CertificateOption,
    KeyOption,
    TokenOption,
    WaitOption,
    read_tls,
)
from tidegate.console import err


def subscribe(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="The broker: HOST:PORT.")],
    filter: Annotated[str, typer.Argument(metavar="FILTER", help="Which events are wanted.")],
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter's value; repeatable."),
    ] = None,
    count: Annotated[
        int | None, typer.Option(help="Stop after so many; else when it is interrupted.")
    ] = None,
    name: Annotated[str, typer.Option(help="Who subscribes.")] = "",
    authority: AuthorityOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    token: TokenOption = "",
    wait: WaitOption = 10.0,
) -> None:
    """Print the events that match a filter, as JSON lines."""
    import json

    from tidegate.network.sync_client import connect  # loads the engine
    from tidegate.overlay.attribute_events import plain_event

    def watch(news: str, why: str) -> None:
        err.print(f"{news}: {why}", markup=False)

    with refusals():
        tls = read_tls(authority, certificate, key)
        given = dict(map(read_parameter, parameters or ()))
        how = {"name": name, "watch": watch, "tls": tls, "token": token, "patience": wait}
        with connect(address, **how) as client, suppress(KeyboardInterrupt):
            wanted = client.subscribe(filter, **given)
            for place, notification in enumerate(wanted, 1):
                print(json.dumps(plain_event(notification.event)), flush=True)
                if place == count:
                    break
