"""Who is let in, and as whom?

A broker with a **guard** demands TLS. Another broker is let in if it is expected and its
certificate has its name. A client is let in by a certificate that has its name, or by a **token**:
a random text that it says in its first frame, and of which the broker has the SHA-256 hash only.
Tokens are random, not chosen by people, so a hash without salt and stretching is enough; hashes are
compared in constant time, and an unknown client is answered as one with a wrong token is.

A client may also say a token that somebody else has signed (`web_tokens`): then its role is the one
that the token names, and its connection ends when the token does.

A client `ann` may have several connections: `ann`, and any name that begins with `ann/`.

Where no clients are listed, every certificate of the authority that names no broker is a client's,
who may see and publish everything; otherwise only those are let in that are listed, each with its
rights.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tidegate.errors import FrameError, TidegateError
from tidegate.network.opening import Opening
from tidegate.network.rights import Rights
from tidegate.network.tls import Tls
from tidegate.network.web_tokens import WebTokens, is_web_token
from tidegate.overlay.attributes import Attributes

_HASH: Final = re.compile("[0-9a-f]{64}")
_NO_HASH: Final = "-" * 64  # of no token


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(32)


def hash_of(token: str) -> str:
    """What a broker keeps of a token.

    >>> hash_of("not a good one")[:16]
    'e072c646dfd81bdc'
    """
    return hashlib.sha256(token.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Known:
    """A client that is let in: its rights, and the hash of its token, if it has one."""

    rights: Rights
    token: str = ""


class Admitted(NamedTuple):
    """Somebody who is let in, and until when; without rights, it may do everything."""

    rights: Rights | None = None
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """Who is let in; `clients` is None where they are not listed."""

    tls: Tls
    brokers: frozenset[str] = frozenset()
    clients: Mapping[str, Known] | None = None
    web: WebTokens | None = None
    roles: Mapping[str, Rights] = field(default_factory=dict)  # that tokens of `web` may name

    def __post_init__(self) -> None:
        for name in self.brokers & (self.clients or {}).keys():
            raise TidegateError(f"{name} is listed as a broker and as a client")

    def admit(self, said: Opening, names: frozenset[str]) -> Admitted:
        """Let in whoever says this and has a certificate with these names; else `FrameError`."""
        if said.role == "broker" and said.name not in self.brokers:
            raise FrameError(f"no broker {said.name} is expected here")
        if said.name in self.brokers:
            if said.role == "client":
                raise FrameError(f"{said.name} is the name of a broker")
            if said.name not in names:
                raise FrameError(f"a certificate with the name {said.name} is needed")
            return Admitted()
        own = said.name.partition("/")[0]
        if own in self.brokers:
            raise FrameError(f"{own} is the name of a broker")
        token = said.token if isinstance(said.token, str) else ""
        if self.web is not None and is_web_token(token):
            role, until = self.web.read(token, own)
            if role not in self.roles:
                raise FrameError(f"{own} is not let in: there is no role {role!r}")
            return Admitted(self.roles[role], until)
        if self.clients is None:
            if own not in names:
                raise FrameError(f"a certificate with the name {own} is needed")
            return Admitted()
        known = self.clients.get(own)
        kept = (known and known.token) or _NO_HASH
        has_token = hmac.compare_digest(hash_of(token), kept)
        if known is None or not (has_token or own in names):
            raise FrameError(
                f"{own} is not let in: neither its certificate nor its token is known here"
            )
        return Admitted(known.rights)


def read_roles(roles: Any, kind: Attributes) -> dict[str, Rights]:
    """The rights of each role, as a broker's file describes them."""
    return {name: _read_rights(name, role, kind) for name, role in _table("roles", roles)}


def read_clients(clients: Any, rights: Mapping[str, Rights]) -> dict[str, Known]:
    """The clients that a broker's file describes."""
    found = {}
    for name, client in _table("clients", clients):
        unknown = client.keys() - {"role", "token"}
        if unknown or client.get("role") not in rights:
            raise TidegateError(
                f"clients.{name} has a role, which is one of {', '.join(rights) or 'none'},"
                " and may have a token"
            )
        token = client.get("token", "")
        if token != "" and not (isinstance(token, str) and _HASH.fullmatch(token)):
            raise TidegateError(
                f"clients.{name}.token is the SHA-256 hash of a token, 64 hexadecimal digits:"
                " `tidegate token` makes one"
            )
        if not name or "/" in name:
            raise TidegateError(f"clients.{name}: a client's name has no slash")
        found[name] = Known(rights[client["role"]], token)
    return found


def _read_rights(name: str, role: dict[str, Any], kind: Attributes) -> Rights:
    if role.keys() - {"see", "publish"} or not all(isinstance(x, str) for x in role.values()):
        raise TidegateError(f"roles.{name} has see and publish, both filters as text")
    try:
        return Rights(*(kind.parse(role.get(each, "FALSE")) for each in ("see", "publish")))
    except TidegateError as error:
        raise TidegateError(f"roles.{name}: {error}") from None


def _table(name: str, table: Any) -> list[tuple[str, dict[str, Any]]]:
    if not isinstance(table, dict) or not all(isinstance(x, dict) for x in table.values()):
        raise TidegateError(f"{name} is a table of tables")
    return list(table.items())
