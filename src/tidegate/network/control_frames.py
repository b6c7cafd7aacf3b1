"""Messages that are no events, as frames.

A body is msgpack, a list of two: the message as `overlay.encoding` spells it, and **columns**. What
is wanted of one text with different values travels as columns: the text, the ids, the names of its
parameters, and for each of them the values of all. So many subscriptions take little more than
their constants, and are read, and put into an index, together.

    ["change", seq, [[id, filter]…], [[id, constants]…], [id…], whole]
    [[text, [id…], [name…], [[value…]…]]…]

Values are numbers, texts, truth values or nil; what msgpack has no word for is spelled as in the
language, in a list of one.

A message that takes back advertisements has the flag `IN_TURN`: it does not overtake events
(`outbox`). So do all changes and advertisements of a broker that keeps events, since these have
numbers among theirs (`kept`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any, Final

from tidegate.errors import FrameError, TidegateError
from tidegate.filters.literals import decode as decode_literal
from tidegate.filters.literals import spell
from tidegate.filters.values import Constant
from tidegate.network.frames import IN_TURN, Sort, frame
from tidegate.network.payloads import read, write
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.encoding import plain
from tidegate.overlay.encoding import read as read_spelled
from tidegate.overlay.filter import Filter, Kind
from tidegate.overlay.form import is_id
from tidegate.overlay.messages import Advertise, Change, Entry, Message, Told
from tidegate.overlay.template import Language

_ALIKE: Final = 2  # entries of one text from which on they travel as columns
_PLAIN: Final = (int, float, str, bool, type(None))

Known = Callable[[type[Told], int], Filter]
"""The filter that messages of a type have told under an id on a link; KeyError if none."""


def control_frame(message: Message, kind: Kind, *, in_turn: bool = False) -> bytes:
    """A message as a frame; `TidegateError` if it cannot be written.

    `in_turn` says that changes do not overtake events, either.
    """
    columns: list[Any] = []
    flags = 0
    if isinstance(message, Change | Advertise) and (in_turn or _takes_back(message)):
        flags = IN_TURN
    if isinstance(message, Change | Advertise) and len(message.add) >= _ALIKE:
        rest, columns = _apart(message.add)
        message = replace(message, add=tuple(rest))
    return frame(Sort.CONTROL, write([plain(message, kind), columns]), flags=flags)


def _takes_back(message: Told) -> bool:
    """Whether it takes back an advertisement."""
    return isinstance(message, Advertise) and bool(
        message.remove or message.update or message.whole
    )


def read_control(body: bytes, kind: Kind, known: Known, heard: int | None = None) -> Message:
    """The message in the body of a frame; `FrameError` if there is none.

    `UnreadableChange` if it is a change, or an advertisement, with a filter that cannot be read.
    Of one that is not the next after those that were `heard`, nothing but its number is read: it is
    answered and changes nothing, and it may have come again because there is much to be read.
    """
    match read(body):
        case [[str(name), int(seq), *_], list()] if (
            name in _NUMBERED and heard is not None and seq != heard + 1
        ):
            return _NUMBERED[name](seq)
        case [[str(name), int(seq), *_] as spelled, list(columns)] if name in _NUMBERED:
            try:
                message = read_spelled(spelled, kind, known)
                if not columns:
                    return message
                entries = [entry for each in columns for entry in _entries(each, kind)]
            except FrameError:
                raise
            except TidegateError as error:
                raise UnreadableChangeError(_NUMBERED[name], seq, str(error)) from None
            assert isinstance(message, Change | Advertise)
            return replace(message, add=(*message.add, *entries))
        case [list(spelled), []]:
            try:
                return read_spelled(spelled, kind, known)
            except TidegateError as error:
                raise FrameError(str(error)) from None
    raise FrameError("a control frame is a message and its columns")


class UnreadableChangeError(TidegateError):
    """A change with something in it that cannot be read: it is refused, and the link goes on."""

    def __init__(self, of: type[Told], seq: int, reason: str) -> None:
        super().__init__(reason)
        self.of = of
        self.seq = seq


_NUMBERED: Final[dict[str, type[Told]]] = {"change": Change, "advertise": Advertise}


def _apart(entries: Iterable[Entry]) -> tuple[list[Entry], list[Any]]:
    """Entries that travel one by one, and columns of the others."""
    rest: list[Entry] = []
    alike: dict[int, list[Entry]] = {}
    for entry in entries:
        f = entry.filter
        if isinstance(f, AttributeFilter) and f.origin and f.origin[1] and not entry.counted:
            alike.setdefault(id(f.origin[0]), []).append(entry)
        else:
            rest.append(entry)
    columns = []
    for group in alike.values():
        if len(group) < _ALIKE:
            rest += group
        else:
            columns.append(_columns(group))
    return rest, columns


def _columns(group: Sequence[Entry]) -> list[Any]:
    origins = [entry.filter.origin for entry in group]  # type: ignore[attr-defined]  # as above
    names = list(origins[0][1])
    values = [[_spelled(given[name]) for _, given in origins] for name in names]
    return [str(origins[0][0]), [entry.id for entry in group], names, values]


def _entries(columns: Any, kind: Kind) -> list[Entry]:
    match columns:
        case [str(text), list(ids), list(names), list(values)]:
            columns = [_column(column, len(ids)) for column in values]
            if len(columns) != len(names) or not all(map(is_id, ids)):
                raise FrameError("columns have a name each, and ids are whole numbers of 64 bits")
            if not all(type(name) is str for name in names) or len(set(names)) < len(names):
                raise FrameError("the names of parameters are texts, each of them there once")
            own = dict(zip(names, columns, strict=True))
            return list(map(Entry, ids, _bound(text, own, len(ids), kind)))
    raise FrameError("columns are a text, ids, names of parameters and their values")


def _bound(
    text: str, columns: Mapping[str, Sequence[Constant]], count: int, kind: Kind
) -> Sequence[Filter]:
    """Filters of one text, as many as there are rows of values for its parameters."""
    if columns and isinstance(kind, Attributes):
        return kind.parse_many(text, columns)
    if not isinstance(kind, Language):
        raise TidegateError(f"filters of the kind {kind.name} have no texts")
    template = kind.template(text)
    rows = zip(*columns.values(), strict=True) if columns else repeat((), count)
    return [template.bind(dict(zip(columns, row, strict=True))) for row in rows]


def _column(spelled: Any, count: int) -> list[Constant]:
    if type(spelled) is not list or len(spelled) != count:
        raise FrameError("a column has a value for each id")
    return [value if type(value) in _PLAIN else _read_value(value) for value in spelled]


def _spelled(value: Constant) -> Any:
    return value if type(value) in _PLAIN else [spell(value)]


def _read_value(spelled: Any) -> Constant:
    match spelled:
        case [str(text)]:
            try:
                return decode_literal(text)
            except (TidegateError, ValueError) as error:
                raise FrameError(f"this is no value: {error}") from None
    raise FrameError("a value is a number, a text, a truth value, nil, or spelled in a list of one")
