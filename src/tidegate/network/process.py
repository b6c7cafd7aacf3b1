"""A broker as a process: how it is set up, and how it lives until it is told to stop.

A file describes one broker:

    name = "a"
    listen = "127.0.0.1:7400"
    storage = "/var/lib/tidegate/a"   # none: what it knows is lost when it stops
    kind = "attributes"               # of filters and events: or xml, or attributes+xml
    policy = "covering"
    advertisements = false
    keep_events = false               # whether events are written down, and kept for neighbours
    snapshot = 10000                  # inputs between one snapshot and the next
    slow = "cut"                      # clients that do not read: cut, drop or wait
    parent = "b"                      # of neighbours; none: it has none, or is the root
    backups = ["c"]                   # of neighbours, to turn to when the parent fails, in order
    root = false                      # the others have parents, and it has none
    patience = 10                     # seconds that a neighbour may be silent
    forget = 60                       # seconds after which it is gone for good; else it never is

    [neighbours]
    b = "127.0.0.1:7401"

    [paths.r]                         # in place of parents: to the root r, by name
    up = ["b", "c"]                   # neighbours on the ways there; none at the root itself
    down = ["d"]

    [limits]
    buffer = 67108864

    [tls]                             # none: nobody is asked who they are
    certificate = "a.pem"
    key = "a.key"
    authority = "authority.pem"
    brokers = ["c"]                   # that may link to it, beside its neighbours

    [roles.trader]                    # what is not said is nothing
    see = "market = 'NYSE'"
    publish = "TRUE"

    [clients]
    ann = { role = "trader", token = "SHA-256 of it" }

    [jwt]                             # tokens that somebody else signs are good, too
    algorithms = ["ES256"]
    key = "issuer.pem"
    issuer = "https://login.example.org"
    audience = "tidegate"
    claim = "role"
"""

import asyncio
import resource
import secrets
import signal
import tomllib
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tidegate.engine.primitives.gc_pause import rarely
from tidegate.errors import TidegateError, TidegateWarning
from tidegate.network.address import Address, read_address
from tidegate.network.disk import Disk
from tidegate.network.guard import Guard, Known, read_clients, read_roles
from tidegate.network.limits import Limits, changed
from tidegate.network.neighbours import Watch
from tidegate.network.pressure import Slow, check_slow
from tidegate.network.rights import Rights
from tidegate.network.server import Server
from tidegate.network.tls import Tls
from tidegate.network.warming import warm
from tidegate.network.web_tokens import WebTokens, read_web_tokens
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Kind
from tidegate.overlay.policy import Choice
from tidegate.overlay.settings import Settings
from tidegate.overlay.storage import Keeper
from tidegate.overlay.upstream import Parents, Paths


@dataclass(frozen=True, slots=True)
class Setup:
    """What one broker is like."""

    name: str
    listen: Address
    neighbours: Mapping[str, Address] = field(default_factory=dict)
    storage: Path | None = None
    policy: Choice = field(default_factory=Choice)
    settings: Settings = field(default_factory=Settings)
    limits: Limits = field(default_factory=Limits)
    snapshot: int = 10_000
    anywhere: bool = False
    tls: Tls | None = None
    brokers: tuple[str, ...] = ()
    clients: Mapping[str, Known] | None = None
    slow: Slow = "cut"
    web: WebTokens | None = None
    roles: Mapping[str, Rights] = field(default_factory=dict)
    kind: str = Attributes.name
    namespaces: Mapping[str, str] = field(default_factory=dict)

    def guard(self) -> Guard | None:
        """Who asks everybody who they are, if anybody does."""
        if self.tls is None:
            if self.brokers or self.clients is not None or self.web is not None:
                raise TidegateError("who is let in can be said with TLS only: give [tls], too")
            return None
        brokers = frozenset((*self.neighbours, *self.brokers))
        return Guard(self.tls, brokers, self.clients, self.web, self.roles)


_TEXTS = {"name", "listen", "storage", "kind", "policy", "slow", "parent"}
_TABLES = {"neighbours", "limits", "namespaces", "tls", "roles", "clients", "jwt", "paths"}
_NUMBERS = {"snapshot", "patience", "forget", "window"}
_FLAGS = {"advertisements", "keep_events", "anywhere", "root"}
_KNOWN = _TEXTS | _TABLES | _NUMBERS | _FLAGS | {"backups"}
_TLS = {"certificate", "key", "authority"}
_FILES: Final = 64  # that a process has open, beside its connections


def read_setup(path: Path, kind: Attributes) -> Setup:
    """The broker that a file describes; `TidegateError` names the key that is wrong.

    Filters of roles are read as the kind reads them.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TidegateError(f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TidegateError(f"{path} is not TOML: {error}") from None
    _check(path, table)
    tls = table.get("tls", {})
    listed = not table.keys().isdisjoint({"clients", "roles", "jwt"})
    roles = read_roles(table.get("roles", {}), kind)
    return Setup(
        table["name"],
        read_address(table["listen"]),
        {name: read_address(each) for name, each in table.get("neighbours", {}).items()},
        Path(table["storage"]) if "storage" in table else None,
        Choice(table.get("policy", "covering")),
        _read_settings(path, table),
        changed(Limits(), table.get("limits", {})),
        table.get("snapshot", 10_000),
        table.get("anywhere", False),
        _read_tls(path, tls) if "tls" in table else None,
        tuple(tls.get("brokers", ())),
        read_clients(table.get("clients", {}), roles) if listed else None,
        check_slow(table.get("slow", "cut")),
        read_web_tokens(table["jwt"]) if "jwt" in table else None,
        roles,
        table.get("kind", Attributes.name),
        table.get("namespaces", {}),
    )


def _check(path: Path, table: dict[str, Any]) -> None:
    for key, value in table.items():
        if key not in _KNOWN:
            raise TidegateError(f"{path}: there is no key {key}, but {', '.join(sorted(_KNOWN))}")
        right = (
            isinstance(value, str) and value != ""
            if key in _TEXTS
            else isinstance(value, dict)
            if key in _TABLES
            else _is_names(value)
            if key == "backups"
            else type(value) is (int if key in _NUMBERS else bool)
        )
        if not right:
            raise TidegateError(f"{path}: {key} cannot be {value!r}")
    for key in ("name", "listen"):
        if key not in table:
            raise TidegateError(f"{path}: {key} is missing")
    if table.get("snapshot", 1) < 1:
        raise TidegateError(f"{path}: snapshot is at least 1, not {table['snapshot']}")
    for part in ("neighbours", "namespaces", "limits"):
        for key, value in table.get(part, {}).items():
            if type(value) not in ((int, float) if part == "limits" else (str,)):
                raise TidegateError(f"{path}: {part}.{key} cannot be {value!r}")


def _read_settings(path: Path, table: dict[str, Any]) -> Settings:
    """What is the same for all brokers, and who is above this one."""
    given = {key: table[key] for key in ("patience", "forget", "window") if key in table}
    upstream = _read_upstream(path, table)
    neighbours = table.get("neighbours", {})
    for name in upstream.known if isinstance(upstream, Parents) else ():
        if name not in neighbours:
            raise TidegateError(f"{path}: {name} may be above, and is none of the neighbours")
    advertisements = table.get("advertisements", False)
    settings = Settings(advertisements=advertisements, upstream=upstream, **given)
    if not table.get("keep_events"):
        return settings
    if "storage" not in table:
        raise TidegateError(f"{path}: events are kept in a storage: give storage, too")
    return replace(settings, keep_events=True, keep_deliveries=False)


def _read_upstream(path: Path, table: dict[str, Any]) -> Parents | Paths | None:
    """Who is above the broker, if that is said."""
    rooted = [key for key in ("parent", "backups", "root") if table.get(key)]
    paths = table.get("paths", {})
    if rooted and paths:
        raise TidegateError(f"{path}: a broker has {rooted[0]} or paths, not both")
    if "root" in rooted and "parent" in rooted:
        raise TidegateError(f"{path}: the root has no parent")
    if rooted:
        return Parents(table.get("parent"), tuple(table.get("backups", ())))
    for root, ways in paths.items():
        listed = isinstance(ways, dict) and ways.keys() <= {"up", "down"}
        if not (listed and all(map(_is_names, ways.values()))):
            raise TidegateError(f"{path}: paths.{root} has up and down, lists of neighbours")
    if not paths:
        return None
    up, down = (
        {root: tuple(ways.get(where, ())) for root, ways in paths.items()}
        for where in ("up", "down")
    )
    return Paths(up, down)


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(type(name) is str for name in value)


def _read_tls(path: Path, table: dict[str, Any]) -> Tls:
    brokers = table.get("brokers", [])
    if table.keys() - {"brokers"} != _TLS or not all(type(table[key]) is str for key in _TLS):
        raise TidegateError(f"{path}: tls has certificate, key and authority, the names of files")
    if type(brokers) is not list or not all(type(name) is str for name in brokers):
        raise TidegateError(f"{path}: tls.brokers is a list of names")
    return Tls(Path(table["authority"]), Path(table["certificate"]), Path(table["key"]))


async def live(
    setup: Setup,
    kind: Kind,
    ready: Callable[[Server], object],
    watch: Watch = lambda name, what: None,
) -> None:
    """Run a broker until the process is told to stop; `ready` is called when it listens.

    What becomes of its links to neighbours is told to `watch`.
    """
    with ExitStack() as stack:
        stack.enter_context(rarely())
        if setup.roles and kind.name != Attributes.name:
            raise TidegateError(f"roles are filters on attributes; this broker has {kind.name}")
        broker, keeper = _recalled(setup, kind, stack)
        server = Server(
            broker,
            setup.listen,
            setup.neighbours,
            keeper=keeper,
            limits=_within_files(setup.limits, tls=setup.tls is not None),
            guard=setup.guard(),
            anywhere=setup.anywhere,
            slow=setup.slow,
            watch=watch,
        )
        warm(kind.name)
        await server.start()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, server.stop)
        ready(server)
        await server.run()


def _within_files(limits: Limits, *, tls: bool) -> Limits:
    """The limits of a process that may not open as many files as it may have connections.

    With TLS, a connection has two for a moment, as one that is not agreed on yet counts for none.
    """
    each = 2 if tls else 1
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = each * limits.connections + _FILES
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    most = (needed - _FILES) // each
    if most >= limits.connections:
        return limits
    if most < 1:
        raise TidegateError(f"a broker needs more than the {hard} files that it may open here")
    said = f"{most:,} connections at most: this process may not open more than {hard:,} files"
    warnings.warn(said, TidegateWarning, stacklevel=2)
    return replace(limits, connections=most)


def _recalled(setup: Setup, kind: Kind, stack: ExitStack) -> tuple[Broker, Keeper | None]:
    """The broker as it was, if anything is known of it; and who keeps it."""
    life = secrets.randbits(62) + 1
    fresh = Broker(setup.name, kind, setup.policy, setup.settings, life)
    if setup.storage is None:
        return fresh, None
    disk = stack.enter_context(Disk(setup.storage, setup.name, kind))
    keeper = Keeper.recall(disk, setup.snapshot, kind, setup.policy, setup.settings)
    if keeper is None:
        keeper = Keeper.begin(fresh, disk, setup.snapshot)
    return keeper.broker, keeper
