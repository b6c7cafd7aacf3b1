"""How do commands reach a broker? The options that all of them have."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tidegate.errors import TidegateError

AuthorityOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Use TLS, and trust who this authority has signed (PEM)."),
]
CertificateOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="One's own certificate (PEM).")
]
KeyOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Its key (PEM).")]
TokenOption = Annotated[
    str,
    typer.Option(
        envvar="TIDEGATE_TOKEN",
        help="Who has no certificate says a token; others cannot see it in the environment.",
    ),
]
WaitOption = Annotated[
    float, typer.Option(metavar="SECONDS", help="How long to wait for a broker to be there.")
]


def read_tls(authority: Path | None, certificate: Path | None, key: Path | None) -> Any:
    """The `Tls` that options say; None if they say nothing."""
    from tidegate.network.tls import Tls

    if authority is not None:
        return Tls(authority, certificate, key)
    if certificate is not None or key is not None:
        raise TidegateError("--certificate and --key need --authority: who is trusted?")
    return None
