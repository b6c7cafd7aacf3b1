"""Who said what to whom, in order?

A diagram of a small run: one column for each client and broker, one line for each message when it
arrives, as Mermaid or as plain text. Acknowledgements and greetings are left out unless asked for.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from tidegate.overlay.filter import Kind
from tidegate.overlay.messages import (
    Acknowledge,
    Advertise,
    Change,
    Deliver,
    Entry,
    Farewell,
    Hello,
    Message,
    Publish,
    Recount,
    Refuse,
    Report,
    Way,
)
from tidegate.simulate.network import Network

_COLUMN: Final = 12
_SHOWN: Final = (Change, Advertise, Publish, Deliver, Refuse, Farewell)


class Step(NamedTuple):
    """A message that has arrived, at a time in seconds."""

    time: float
    start: str
    end: str
    text: str


class Recorder:
    """Writes down what arrives in a network from now on.

    >>> from tidegate.overlay.attributes import Attributes
    >>> from tidegate.simulate.cost import FREE
    >>> from tidegate.simulate.topology import line
    >>> kind = Attributes()
    >>> network = Network(line(2), kind, costs=FREE)
    >>> ann, bob = network.client("ann", "b0"), network.client("bob", "b1")
    >>> network.run()
    >>> recorder = Recorder(network)
    >>> _ = ann.subscribe(kind.parse("price < 10"))
    >>> network.run()
    >>> bob.publish({"price": 5})
    >>> network.run()
    >>> print(recorder.text(["ann", "b0", "b1", "bob"]))
    ann         b0          b1          bob
     |           |           |           |
     |---------->|           |           |      change 1: +1 price < 10
     |           |---------->|           |      change 1: +1 price < 10
     |           |           |<----------|      publish 1: price=5
     |           |<----------|           |      publish 1: price=5
     |<----------|           |           |      deliver 1: price=5
    """

    def __init__(self, network: Network, *, everything: bool = False) -> None:
        self.steps: Final[list[Step]] = []
        self._network = network
        self._everything = everything
        network.watch(self._note)

    def mermaid(self, columns: Iterable[str]) -> str:
        """A sequence diagram as Mermaid reads it."""
        lines = ["sequenceDiagram", *(f"    participant {name}" for name in columns)]
        lines += [f"    {x.start}->>{x.end}: {x.text.replace(';', ',')}" for x in self.steps]
        return "\n".join(lines) + "\n"

    def text(self, columns: Iterable[str]) -> str:
        """A sequence diagram in plain characters."""
        names = list(columns)
        middle = {name: 1 + _COLUMN * i for i, name in enumerate(names)}
        wide = _COLUMN * len(names)
        bars = "".join(f" |{' ' * (_COLUMN - 2)}" for _ in names)
        lines = ["".join(name.ljust(_COLUMN) for name in names), bars]
        for step in self.steps:
            row = list(bars)
            left, right = sorted((middle[step.start], middle[step.end]))
            row[left + 1 : right] = "-" * (right - left - 1)
            if step.start == names[(left - 1) // _COLUMN]:
                row[right - 1] = ">"
            else:
                row[left + 1] = "<"
            lines.append(f"{''.join(row)[:wide]}{step.text}")
        return "\n".join(line.rstrip() for line in lines)

    def _note(self, start: str, end: str, message: Message | Deliver) -> None:
        if self._everything or isinstance(message, _SHOWN):
            self.steps.append(
                Step(self._network.now, start, end, describe(message, self._network.kind))
            )


def describe(message: Message | Deliver, kind: Kind) -> str:
    """A message in a few words."""
    match message:
        case Change(seq, add, update, remove, whole) | Advertise(seq, add, update, remove, whole):
            name = "change" if isinstance(message, Change) else "advertise"
            said = [f"+{entry.id} {entry.filter}{_counted(entry)}" for entry in add]
            said += [f"~{entry.id} {entry.filter}" for entry in update]
            said += [f"-{own}" for own in remove]
            if isinstance(message, Change):
                said += [f"={each.id}{_counted(each)}" for each in message.recount]
            everything = "everything " if whole else ""
            return f"{name} {seq}: {everything}{', '.join(said)}"
        case Publish(number, event) | Deliver(_, event, _, number):
            name = "publish" if isinstance(message, Publish) else "deliver"
            return f"{name} {number}: {kind.show_event(event)}"
        case Acknowledge(seq):
            return f"acknowledge {seq}"
        case Refuse(_, _, reason):
            return f"refuse: {reason}"
        case Hello(life, heard_life, heard, way, joins):
            above = f", {'joins, ' if joins else ''}way {' '.join(way)}" if way else ""
            return f"hello: life {life}, heard {heard} of life {heard_life}{above}"
        case Way(names):
            return f"way: {' '.join(names)}"
        case Farewell():
            return "farewell"
        case Report(number, memory, bandwidth, share):
            return f"report {number}: memory {memory}, bandwidth {bandwidth}, share {share}"


def _counted(each: Entry | Recount) -> str:
    """What an entry counts, and stands for beside that; nothing if it counts once."""
    once = isinstance(each, Entry) and not each.counted
    return "" if once else f" ({each.own} and {each.behind})"
