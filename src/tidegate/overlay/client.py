"""A client: what it wants, by values that may move, and which events are for it.

**Theory of operation.** Like a broker, a client does no I/O and has no clock: its `Wire` takes what
it says, `hear` is told what its broker answers, `receive` what that delivers. The simulator, the
live network and the tests drive the same class.

A subscription has an id for the application, and a filter **in force**. What the broker has for it
are entries, under ids of their own: usually one, with that filter. When the filter in force becomes
another one, by `update`, `change`, or because a variable is set (`variable`), the broker is told
(`strategy`); all that one `set` changes, or several things done `together`, is one message.

Until the broker has answered, what it delivers may be for a filter of before. So the client filters
at the last instant: it hands on what the filter in force matches. What it does not is counted as
**spurious**. That is *strictness* as Jayaram, Jayalath and Eugster define it ("Parametric
Subscriptions for Content-Based Publish/Subscribe Networks", Middleware 2010, section 3.3), from the
moment of the change on. The link to the broker is FIFO, so once that has acknowledged everything,
what it delivers is what it was told, and is looked at no more unless more was told than is wanted.
Where answers may overtake events that wait, `overtaken` says so, and it is looked at.

Invariant: the entries of a subscription cover its filter in force, or the message that adds such an
entry is under way. (Not with *cancel first*.) A refusal takes back what the message said: the
filter in force is again what the broker has, whatever its variables say, until one of them is set.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeAlias

from tidegate.errors import SubscriptionError, TidegateError
from tidegate.filters.values import Constant
from tidegate.overlay.conversation import Conversation, Told
from tidegate.overlay.difference import Difference
from tidegate.overlay.filter import Event, Filter
from tidegate.overlay.messages import EMPTY, Advertise, Change, Message, Refuse
from tidegate.overlay.strategy import check_strategy, steps
from tidegate.overlay.template import Language
from tidegate.overlay.variable import Binding, Variable


class Wire(Protocol):
    """How the messages of a client reach its broker."""

    def send(self, message: Told, /) -> None:
        """Send a message, which is lost if the broker is down."""


Carry: TypeAlias = Callable[[int, Event], object]
"""How its events reach the broker, where they are not kept: by number, and lost if it is down."""


class Subscription:
    """One subscription: its filter in force, and the ids of its entries, the newest last."""

    __slots__ = ("binding", "entries", "exact", "filter", "narrow")

    def __init__(self, f: Filter, binding: Binding | None, entries: list[int]) -> None:
        self.filter = f
        self.binding = binding
        self.entries = entries
        self.exact = False  # whether its one entry has that filter
        self.narrow = False  # whether it is time to ask for less, where too much is asked for


class Client:
    """One client of a broker.

    `updates` is the strategy by which it tells that a filter has become another one. What it
    publishes is given to `carry`; or, with `keep_events`, sent among its messages, and kept until
    its broker has it: see `Settings`.

    >>> from tidegate.overlay.attributes import Attributes
    >>> class Paper:
    ...     def send(self, message):
    ...         print(message)
    >>> ann = Client("ann", Paper(), Attributes())
    >>> limit = ann.variable(5.0)
    >>> own = ann.subscribe("price < :limit", limit=limit)  # doctest: +ELLIPSIS
    Change(seq=1, add=(Entry(id=1, filter=<AttributeFilter price < 5.0D>, ...
    >>> limit.set(3.0)  # doctest: +ELLIPSIS
    Change(seq=2, add=(), update=(Entry(id=1, filter=<AttributeFilter price < 3.0D>, ...
    >>> ann.receive({"price": 4.0}, (1,)), ann.receive({"price": 2.0}, (1,)), ann.spurious
    ((), (1,), 1)
    """

    def __init__(
        self,
        name: str,
        wire: Wire,
        language: Language | None = None,
        updates: str = "parametric",
        *,
        carry: Carry | None = None,
        keep_events: bool = False,
    ) -> None:
        self.name: Final = name
        self._carry = carry
        self._keep_events = keep_events
        self.updates: Final = check_strategy(updates)
        self.spurious = 0  # events for a subscription that the filter in force rejects
        self.twice = 0  # events that came for several entries of a subscription
        self.refusals: dict[int, str] = {}  # of what was not taken, by id: why it was not, at last
        self.overtaken = False  # whether events may still come from before an answer that has come
        self._language = language
        self._conversation = Conversation(wire.send)
        self._subscriptions: dict[int, Subscription] = {}
        self._owners: dict[int, int] = {}  # the subscription of an entry
        self._leaving: list[int] = []  # entries that are removed, and may still have owners
        self._touched: dict[int, list[int]] = {}  # subscriptions, and entries to be removed
        self._depth = 0  # of `together`
        self._trailing: dict[int, bool] = {}  # subscriptions told too widely; whether they may be
        self._trails: dict[Variable, None] = {}
        self._next = 1
        self._number = 0

    @property
    def wanted(self) -> dict[int, Filter]:
        """The filters in force, by subscription."""
        return {own: each.filter for own, each in self._subscriptions.items()}

    @property
    def offered(self) -> dict[int, Filter]:
        """The advertisements by id, as last told."""
        return dict(self._conversation.offered)

    @property
    def told(self) -> dict[int, Filter]:
        """The entries as last told."""
        return dict(self._conversation.wanted)

    @property
    def refused(self) -> deque[str]:
        """Why the last of its messages and events that were not taken were not."""
        return self._conversation.refused

    # -- what it wants

    def variable(self, value: Any, *, damping: int = 0, predict: int = 0) -> Variable:
        """A value that subscriptions can refer to, and that can be set.

        With `damping`, events that values of the last so many ticks would let through are asked
        for, too; with `predict`, those that so many more moves the same way will let through. Then
        fewer updates travel, and more events.
        """
        made = Variable(value, self._move, damping, predict)
        if made.trail is not None:
            self._trails[made] = None
        return made

    def subscribe(self, f: Filter | str, /, **parameters: Any) -> int:
        """Want the events that match a filter; the subscription's id.

        A text may have parameters, which are values or variables of this client.
        """
        binding, read = self._read(f, parameters)
        return self._add([(read, binding)])[0]

    def subscribe_many(self, filters: Sequence[Filter | str]) -> list[int]:
        """Several subscriptions in one message; their ids."""
        return self._add([(f, binding) for binding, f in (self._read(x, {}) for x in filters)])

    def update(self, own: int, f: Filter | str, /, **parameters: Any) -> None:
        """Give a subscription other constants; the shape of its filter stays."""
        binding, read = self._read(f, parameters)
        before = self._known(own).filter
        if read.shape != before.shape:
            raise SubscriptionError(f"{read} is no update of {before}: use change")
        self._replace(own, read, binding)

    def change(self, own: int, f: Filter | str, /, **parameters: Any) -> None:
        """Give a subscription any other filter, without a gap between the two."""
        binding, read = self._read(f, parameters)
        self._known(own)
        self._replace(own, read, binding)

    def cancel(self, own: int) -> None:
        """Want something no more."""
        gone = self._known(own)
        with self.together():
            self._bind(own, gone.binding, None)
            del self._subscriptions[own]
            self._touched.setdefault(own, []).extend(gone.entries)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Tell all that changes within in one message, at the end of it."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth and self._touched:
                self._tell()

    # -- what it publishes

    def advertise(self, f: Filter) -> int:
        """Say what it will publish; the advertisement's id."""
        own = self._fresh()
        self._conversation.tell(Advertise, Difference(add={own: f}))
        return own

    def withdraw(self, own: int) -> None:
        """Publish no more of what it has advertised."""
        self._conversation.tell(Advertise, Difference(remove=[own]))

    def publish(self, event: Event) -> None:
        """Publish an event."""
        self._number += 1
        if self._keep_events:
            self._conversation.publish(self._number, event)
        elif self._carry is not None:
            self._carry(self._number, event)
        else:
            raise TidegateError(f"{self.name} only subscribes: nothing carries its events")

    # -- what it is told

    def receive(self, event: Event, entries: tuple[int, ...]) -> tuple[int, ...]:
        """Its broker delivers an event for some entries; the subscriptions to hand it on for."""
        settled = self._is_in_order
        handed: dict[int, None] = {}
        for own in [self._owners.get(entry, 0) for entry in entries]:
            known = self._subscriptions.get(own)
            if own in handed:
                self.twice += 1
            elif known is not None and ((settled and known.exact) or known.filter.matches(event)):
                handed[own] = None
            else:
                self.spurious += 1
        for own in handed:
            if len(self._subscriptions[own].entries) > 1:
                self._cancel_outdated(own, event)
        return tuple(handed)

    def take(self, seq: int) -> bool:
        """Its broker delivers something under a number; whether for the first time.

        Where events are kept, to be asked before `receive`; it acknowledges.
        """
        return self._conversation.deliver(seq)

    def hear(self, message: Message) -> None:
        """Its broker has answered."""
        refused = self._conversation.hear(message)
        if refused is not None and isinstance(message, Refuse):
            if isinstance(refused, Change):
                self._fall_back(refused, message.reason)
            else:
                self.refusals.update((entry.id, message.reason) for entry in refused.add)
        if self._leaving and self._is_in_order:
            for entry in self._leaving:
                if entry not in self._conversation.wanted:
                    self._owners.pop(entry, None)
            self._leaving.clear()

    def subscription_of(self, entry: int) -> int | None:
        """The subscription that an entry is for, or was a moment ago."""
        return self._owners.get(entry)

    @property
    def said(self) -> int:
        """How many changes it has told its broker."""
        return self._conversation.said

    def answered(self, said: int) -> bool:
        """Whether its broker has answered the first so many of them."""
        return self._conversation.answered(said)

    @property
    def settled(self) -> bool:
        """Whether its broker has answered everything."""
        return self._conversation.settled

    @property
    def _is_in_order(self) -> bool:
        """Whether what the broker delivers is what it was told."""
        return self._conversation.settled and not self.overtaken

    def reconnect(self, *, afresh: bool, heard: int = EMPTY) -> None:
        """Its broker is there again, with its memory or without.

        One that is told everything afresh may have `heard` a message of this number before.
        """
        self._conversation.reconnect(afresh=afresh, heard=heard)

    def tick(self) -> None:
        """Some time has passed: ask for less, where more is asked for than values of late need."""
        if not self._trailing:
            return
        for variable in self._trails:
            assert variable.trail is not None
            if variable.trail.tick():
                self._trailing.update(dict.fromkeys(variable.users, True))
        with self.together():
            for own in [own for own, moved in self._trailing.items() if moved]:
                self._trailing[own] = False
                self._subscriptions[own].narrow = True
                self._touched.setdefault(own, [])

    # -- filters and variables

    def _read(self, f: Filter | str, parameters: dict[str, Any]) -> tuple[Binding | None, Filter]:
        """What a text and its parameters say."""
        if not isinstance(f, str):
            if parameters:
                raise SubscriptionError("a filter has no parameters: give its text")
            return None, f
        if self._language is None:
            raise SubscriptionError("this client reads no texts: give a filter")
        for name, given in parameters.items():
            if isinstance(given, Variable) and not given.is_of(self._move):
                raise SubscriptionError(f":{name} is a variable of another client")
        binding = Binding(self._language.template(f), parameters)
        return (binding if binding.variables else None), binding.filter()

    def _move(self, variable: Variable, value: Constant) -> None:
        """Let a variable have a value, if all filters that refer to it can."""
        filters: dict[int, Filter] = {}
        for own in variable.users:
            binding = self._subscriptions[own].binding
            assert binding is not None
            filters[own] = binding.filter(variable, value)
        variable.take(value)
        with self.together():
            for own, f in filters.items():
                self._subscriptions[own].filter = f
                self._touched.setdefault(own, [])
                if own in self._trailing:
                    self._trailing[own] = True

    def _bind(self, own: int, old: Binding | None, new: Binding | None) -> None:
        """Let variables know whose filters refer to them."""
        for variable in [] if old is None else old.variables:
            del variable.users[own]
        for variable in [] if new is None else new.variables:
            variable.users[own] = None
        self._trailing.pop(own, None)
        if new is not None and new.trails and self.updates != "wildcard":
            self._trailing[own] = False

    # -- what the broker is told

    def _add(self, filters: list[tuple[Filter, Binding | None]]) -> list[int]:
        owns = []
        with self.together():
            for f, binding in filters:
                own = self._fresh()
                owns.append(own)
                self._subscriptions[own] = Subscription(f, binding, [])
                self._bind(own, None, binding)
                self._touched[own] = []
        return owns

    def _replace(self, own: int, f: Filter, binding: Binding | None) -> None:
        known = self._subscriptions[own]
        with self.together():
            self._bind(own, known.binding, binding)
            known.filter, known.binding = f, binding
            self._touched.setdefault(own, [])

    def _tell(self) -> None:
        """Tell what has changed, each step of all subscriptions in one message."""
        messages: list[Difference] = []
        touched, self._touched = self._touched, {}
        for own, gone in touched.items():
            for i, step in enumerate(self._steps(own, gone)):
                if i == len(messages):
                    messages.append(Difference())
                messages[i].extend(step)
        for difference in messages:
            if difference:
                self._conversation.tell(Change, difference)

    def _steps(self, own: int, gone: list[int]) -> list[Difference]:
        known = self._subscriptions.get(own)
        if known is None:
            self._leaving += gone
            return [Difference(remove=gone)]
        told = self._conversation.wanted
        entries = {entry: told[entry] for entry in known.entries}
        newest = told[known.entries[-1]] if known.entries else None
        f = self._to_tell(known, newest)
        if newest is None:
            found = [Difference(add={own: f})]
        elif newest is f or (newest == f and newest.shape == f.shape):
            found = []
        else:
            found = steps(self.updates, entries, f, self._fresh)
        for step in found:
            self._owners.update(dict.fromkeys(step.add, own))
            self._leaving += step.remove
            known.entries = [e for e in known.entries if e not in step.remove] + list(step.add)
        known.exact = len(known.entries) == 1 and f == known.filter
        return found

    def _to_tell(self, known: Subscription, newest: Filter | None) -> Filter:
        """The filter to tell for the one in force."""
        if known.binding is None:
            return known.filter
        if self.updates == "wildcard":
            return known.binding.wildcard()
        if not known.binding.trails:
            return known.filter
        narrow, known.narrow = known.narrow, False
        if newest is not None and not narrow and newest.covers(known.filter):
            return newest
        return known.binding.around()

    def _cancel_outdated(self, own: int, event: Event) -> None:
        """An event has come that is wanted: older entries that reject it are needed no more."""
        known, told = self._subscriptions[own], self._conversation.wanted
        outdated = [entry for entry in known.entries[:-1] if not told[entry].matches(event)]
        if outdated:
            known.entries = [entry for entry in known.entries if entry not in outdated]
            self._leaving += outdated
            self._conversation.tell(Change, Difference(remove=outdated))

    def _fall_back(self, refused: Change, reason: str) -> None:
        """Have what the broker has, where a message said else that it has refused."""
        told = self._conversation.wanted
        named = [*(entry.id for entry in (*refused.add, *refused.update)), *refused.remove]
        self._leaving += [entry for entry in named if entry not in told]
        for own in dict.fromkeys(self._owners[entry] for entry in named):
            self.refusals[own] = reason
            entries = [e for e, owner in self._owners.items() if owner == own and e in told]
            known = self._subscriptions.get(own)
            if not entries:
                if known is not None:
                    self._bind(own, known.binding, None)
                    del self._subscriptions[own]
                continue
            if known is None:
                known = self._subscriptions[own] = Subscription(told[entries[-1]], None, [])
            known.entries, known.filter = entries, told[entries[-1]]
            known.exact = len(entries) == 1

    def _fresh(self) -> int:
        self._next += 1
        return self._next - 1

    def _known(self, own: int) -> Subscription:
        known = self._subscriptions.get(own)
        if known is None:
            raise SubscriptionError(
                f"{self.name} has no subscription {own}: it was cancelled or refused, if there was"
            )
        return known
