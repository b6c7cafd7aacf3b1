"""A broker in a process of its own that writes to disk, and is killed.

The test is its client and its neighbour, over a socket. Whenever the process is killed, another one
takes its place, with what is on disk. Its policy is `xroute`, whose neighbours are told the most.
**Boundaries** are the moments between two effects, and
between the steps in which a file is written and made safe; a process can be told at which of them
it kills itself, or it is killed at any time.
"""

import os
import pickle
import signal
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from tests.overlay.words import WORDS, WordKind, Words
from tidegate.network import journal
from tidegate.network.disk import Disk
from tidegate.overlay.broker import Broker
from tidegate.overlay.counts import Counts
from tidegate.overlay.messages import (
    Acknowledge,
    Advertise,
    Change,
    Effect,
    Entry,
    Hello,
    Input,
    LinkUp,
    Persist,
    Restart,
    Send,
    Tick,
)
from tidegate.overlay.policy import Choice
from tidegate.overlay.storage import Keeper

KIND = WordKind()
POLICY = Choice("xroute")
EVERY = 5  # inputs after which a snapshot is taken
SEGMENT = 400  # bytes after which a segment is full

Came = tuple[str, Input]
Act = Callable[[Keeper, list[Effect], Callable[[Effect], None]], None]


def properly(keeper: Keeper, effects: list[Effect], do: Callable[[Effect], None]) -> None:
    """Write down first, then do the rest."""
    keeper.note(effects)
    for effect in effects:
        do(effect)


def too_early(keeper: Keeper, effects: list[Effect], do: Callable[[Effect], None]) -> None:
    """A mistake: do it, then write down what it depends on."""
    for effect in effects:
        do(effect)
    keeper.note(effects)


# -- the process


class Boundaries:
    """Counts boundaries, and kills its process at one of them."""

    def __init__(self, fatal: int | None) -> None:
        self.passed = 0
        self._fatal = fatal

    def here(self) -> None:
        self.passed += 1
        if self.passed == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, action: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **named: Any) -> Any:
            self.here()
            done = action(*arguments, **named)
            self.here()
            return done

        return watched

    def in_halves(self, file: Any, data: bytes) -> None:
        """Write a part, and then the rest: in between, a record is torn."""
        middle = len(data) // 2
        file.write(data[:middle])
        self.here()
        file.write(data[middle:])


def serve(folder: Path, connection: socket.socket, fatal: int | None, act: Act) -> None:
    """Be the broker's process, until the other end hangs up."""
    boundaries = Boundaries(fatal)
    journal._write = boundaries.in_halves
    for name in ("fsync", "replace", "unlink"):
        setattr(os, name, boundaries.around(getattr(os, name)))
    with Disk(folder, "b", KIND, SEGMENT) as disk:
        keeper = Keeper.recall(disk, EVERY, KIND, POLICY)
        began = keeper is None
        keeper = keeper or Keeper.begin(Broker("b", KIND, POLICY), disk, EVERY)
        broker = keeper.broker

        def do(effect: Effect) -> None:
            boundaries.here()
            if not isinstance(effect, Persist):
                put(connection, effect)

        def handle(batch: list[Came]) -> None:
            boundaries.here()
            effects = [effect for came in batch for effect in broker.handle(*came)]
            act(keeper, effects, do)
            boundaries.here()
            put(connection, None)

        heard = broker.routing.links["ann"].stream.heard if "ann" in broker.routing.links else 0
        put(connection, heard)
        handle([] if began else [("", Restart())])
        while (batch := get(connection)) is not None:
            handle(batch)
        wanted = broker.routing.wanted.of("ann")
        put(connection, (dict(wanted), broker.tally.refused, boundaries.passed))


def put(connection: socket.socket, what: object) -> None:
    data = pickle.dumps(what)
    connection.sendall(struct.pack("<I", len(data)) + data)


def get(connection: socket.socket) -> Any:
    """What the other one says; ConnectionError if it was killed."""
    (length,) = struct.unpack("<I", _exactly(connection, 4))
    return pickle.loads(_exactly(connection, length))


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        more = connection.recv(length - len(data))
        if not more:
            raise ConnectionError
        data += more
    return data


# -- its client and its neighbour


def history(seed: int, length: int) -> list[Change]:
    """What a client asks for, one change after the other."""
    random, wanted, found = Random(seed), dict[int, int](), []
    for seq in range(1, length + 1):
        gone = [x for x in wanted if random.random() < 0.4]
        sizes = {x: size for x, size in wanted.items() if x not in gone}
        moved = [Entry(x, _drawn(random, sizes[x])) for x in sizes if random.random() < 0.2]
        wanted = {**sizes, seq: random.randint(1, 3)}
        new = Entry(seq, _drawn(random, wanted[seq]))
        found.append(Change(seq, (new,), tuple(moved), tuple(gone)))
    return found


def _drawn(random: Random, size: int) -> Words:
    return Words(frozenset(random.sample(WORDS, size)))


def standing(changes: list[Change]) -> dict[int, Words]:
    """What is wanted after all of them."""
    found: dict[int, Words] = {}
    for change in changes:
        for entry in (*change.add, *change.update):
            assert isinstance(entry.filter, Words)
            found[entry.id] = entry.filter
        for own in change.remove:
            del found[own]
    return found


class Ends:
    """A client and a neighbour, and what they have heard; they are never killed."""

    def __init__(self, changes: list[Change]) -> None:
        self.changes = changes
        self.answered = 0
        self.told: list[Change | Advertise] = []  # to the neighbour, each once
        self.kills = 0

    @property
    def done(self) -> bool:
        return self.answered == len(self.changes)

    def greet(self) -> list[Came]:
        """What they say when the broker is there."""
        hello = Hello(7, 1 if self.told else 0, len(self.told))
        up: list[Came] = [("ann", LinkUp(client=True)), ("n", LinkUp(client=False)), ("n", hello)]
        again = self.changes[self.answered : self.answered + 1]
        return [*up, *(("ann", change) for change in again)]

    def more(self, random: Random) -> list[Came]:
        """What they say next: changes that are not answered, and what was heard."""
        most = random.randint(1, 3)
        changes = self.changes[self.answered : self.answered + most]
        heard: list[Came] = [("n", Acknowledge(len(self.told)))] if self.told else []
        return [*heard, *(("ann", change) for change in changes), ("", Tick())]

    def hear(self, effect: Effect) -> None:
        assert isinstance(effect, Send)
        message = effect.message
        if isinstance(message, Acknowledge):
            assert effect.link == "ann"
            self.answered = max(self.answered, message.seq)
        elif isinstance(message, Change | Advertise):
            assert effect.link == "n"
            assert message.seq <= len(self.told) + 1, "a message is missing"
            if message.seq > len(self.told):
                self.told.append(message)
            else:
                assert self.told[message.seq - 1] == message, "a number was given twice"
        else:
            assert isinstance(message, Hello), f"{message} was not expected"


def run(
    folder: Path,
    ends: Ends,
    *,
    fatal: Iterator[int | None],
    act: Act = properly,
    after: Callable[[int], None] = lambda pid: None,
) -> int:
    """Let it go on until everything is answered, however often the broker is killed.

    How many boundaries its last process passed.
    """
    random = Random(1)
    while True:
        here, there = socket.socketpair()
        boundary = next(fatal)
        pid = os.fork()
        if not pid:
            _serve(folder, there, boundary, act, here)
        there.close()
        after(pid)
        try:
            with here:
                return _talk(here, ends, random)
        except (ConnectionError, BrokenPipeError):
            ends.kills += 1
        finally:
            _, status = os.waitpid(pid, 0)
            killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
            assert killed or status == 0, f"the process ended with {status}"


def _serve(
    folder: Path, there: socket.socket, fatal: int | None, act: Act, here: socket.socket
) -> None:
    status = 1
    try:
        here.close()
        serve(folder, there, fatal, act)
        status = 0
    except ConnectionError:
        status = 0
    finally:
        os._exit(status)


def _talk(connection: socket.socket, ends: Ends, random: Random) -> int:
    heard = get(connection)
    assert heard >= ends.answered, "something that was acknowledged is lost"
    _listen(connection, ends)
    put(connection, ends.greet())
    _listen(connection, ends)
    while not ends.done:
        put(connection, ends.more(random))
        _listen(connection, ends)
    put(connection, None)
    wanted, refused, passed = get(connection)
    assert refused == 0, "something was applied twice"
    assert wanted == standing(ends.changes)
    assert isinstance(passed, int)
    return passed


def _listen(connection: socket.socket, ends: Ends) -> None:
    while (effect := get(connection)) is not None:
        ends.hear(effect)


def forwarded(told: list[Change | Advertise]) -> dict[int, tuple[Words, Counts]]:
    """What a neighbour knows that was told this, each message once: filters, and their counts."""
    found: dict[int, tuple[Words, Counts]] = {}
    for message in told:
        if isinstance(message, Advertise):
            continue
        found = {} if message.whole else found
        for entry in message.add:
            assert entry.id not in found, "something was applied twice"
            assert isinstance(entry.filter, Words)
            found[entry.id] = entry.filter, entry.counts
        for entry in message.update:
            assert isinstance(entry.filter, Words)
            found[entry.id] = entry.filter, found[entry.id][1]
        for each in message.recount:
            found[each.id] = found[each.id][0], each.counts
        for own in message.remove:
            del found[own]
    return found


def check(ends: Ends) -> None:
    """The neighbour knows the filters that no other one covers, of those that the client wants,
    how often each is wanted, and how many want anything.
    """
    wanted = Counter(standing(ends.changes).values())
    maximal = {f for f in wanted if not any(g != f and g.covers(f) for g in wanted)}
    known = forwarded(ends.told).values()
    assert {f: counts.own for f, counts in known} == {f: wanted[f] for f in maximal}
    assert len(known) == len(maximal)
    assert sum(counts.all for _, counts in known) == wanted.total()
