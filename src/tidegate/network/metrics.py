"""How a broker fares, as text that Prometheus reads.

`Driver.status` has the figures; here they get names. Counters of a link begin anew when it comes up
again. Refusals are counted by their **sort**: their texts name values, and there would be as many
counters as texts.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tidegate.overlay.messages import Refuse

SIZES: Final = (1, 10, 100, 1_000, 10_000)  # of batches, up to which they are counted together

_SORTS: Final = (
    ("the event is not among what its publisher has advertised", "not advertised"),
    ("the event is not among what its publisher may publish", "no right"),
    ("this client may", "no right"),
    ("the event takes", "event too large"),
    ("the number was used", "number used"),
    ("no paths lead", "no paths"),
    ("the value of", "schema"),
    ("a client may have", "too many subscriptions"),
    ("what is told as a whole", "message"),
    ("this is no message", "message"),
    ("the id", "id"),
    ("an id", "id"),
)


def sort_of(refusal: Refuse) -> str:
    """The sort of a refusal; of an event, a change or another message that cannot be read, that.

    >>> sort_of(Refuse(None, 7, "the event takes 2,000 bytes; 1,000 are allowed"))
    'event too large'
    >>> sort_of(Refuse(None, 7, "the document is not well-formed: syntax error: line 1, column 0"))
    'no event'
    >>> sort_of(Refuse(3, None, "the filter with id 5 cannot be taken: it is larger than 9 bytes"))
    'filter'
    """
    unread = "no event" if refusal.number is not None else "message"
    unread = "filter" if refusal.seq is not None else unread
    return next((sort for begins, sort in _SORTS if refusal.reason.startswith(begins)), unread)


def size_of(count: int) -> int:
    """The size up to which a batch is counted together with others; 0 if it is larger than all."""
    return next((size for size in SIZES if count <= size), 0)


def prometheus(found: Mapping[str, Any]) -> str:
    """The status of a broker in Prometheus's text format."""
    return "".join(f"{line}\n" for line in _lines(found))


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    own = {"broker": found["broker"]}
    counted = found["counted"]
    for name, key, what in _COUNTERS:
        yield from _family(name, "counter", what, [(own, counted.get(key, 0))])
    matching = [(own, found["matching seconds"])]
    what = "Time for matching events and routing them."
    yield from _family("matching_seconds_total", "counter", what, matching)
    yield from _family("entries", "gauge", "Filters in the table.", [(own, found["entries"])])
    missing = [({**own, "link": name}, 1) for name in found["missing"]]
    yield from _family("missing", "gauge", "Neighbours that there is no link to.", missing)
    yield from _batches(own, found["batches"], counted.get("events in", 0))
    refused = [({**own, "reason": sort}, n) for sort, n in found["refused"].items()]
    yield from _family("refused_total", "counter", "What was refused.", refused)
    for name, what in _REGISTERED:
        sorts = [({**own, "sort": sort}, n) for sort, n in found[name].items()]
        yield from _family(f"{name}_total", "counter", what, sorts)
    asked = [(own, found["questions"])]
    yield from _family("questions_total", "counter", "Questions who covers whom.", asked)
    took = [(own, found["recovery seconds"])]
    what = "Time after a restart until all neighbours had been told everything."
    yield from _family("recovery_seconds", "gauge", what, took)
    links = [
        ({**own, "link": link["name"], "to": "client" if link["client"] else "broker"}, link)
        for link in found["links"]
    ]
    for name, key, kind, what in _OF_LINKS:
        rows = [(labels, int(link[key])) for labels, link in links]
        yield from _family(name, kind, what, rows)


_COUNTERS: Final = (
    ("events_in_total", "events in", "Events that came in."),
    ("events_out_total", "events out", "Events that were passed on to brokers."),
    ("deliveries_total", "deliveries", "Events that were delivered to clients."),
    ("messages_in_total", "messages in", "Messages that are no events and came in."),
    ("messages_out_total", "messages out", "Messages that are no events and were sent."),
    ("slow_cut_total", "cut", "Connections that were cut because they did not read."),
    ("slow_dropped_total", "dropped", "Events that were dropped for clients that did not read."),
)

_REGISTERED: Final = (
    ("registrations", "Registrations, by how much of them was news; where they are counted."),
    ("cancellations", "Cancellations, of a count or of an entry; where they are counted."),
)

_OF_LINKS: Final = (
    ("link_up", "up", "gauge", "Whether a link is up."),
    ("link_entries", "entries", "gauge", "Filters that came on a link."),
    ("link_forwarded", "forwarded", "gauge", "Filters that were forwarded on a link."),
    ("link_events_in_total", "events in", "counter", "Events that came on a link."),
    ("link_events_out_total", "events out", "counter", "Events that were sent on a link."),
    ("link_waiting_bytes", "waiting", "gauge", "Bytes that wait to be sent on a link."),
    ("link_full", "full", "gauge", "Whether others get no credits until a link is read."),
    ("link_credits_bytes", "credits", "gauge", "Bytes of events that may be sent on a link."),
    ("link_given_bytes", "given", "gauge", "Bytes of events that may come on a link."),
)


def _batches(own: Mapping[str, str], batches: Mapping[str, int], events: int) -> Iterator[str]:
    """How many events were handled together, as a histogram."""
    name, total = "tidegate_batch_events", 0
    yield f"# HELP {name} Events that were handled together."
    yield f"# TYPE {name} histogram"
    for size in SIZES:
        total += batches.get(str(size), 0)
        yield _line(f"{name}_bucket", {**own, "le": str(size)}, total)
    total += batches.get("0", 0)
    yield _line(f"{name}_bucket", {**own, "le": "+Inf"}, total)
    yield _line(f"{name}_sum", own, events)
    yield _line(f"{name}_count", own, total)


def _family(
    name: str, kind: str, what: str, rows: Iterable[tuple[Mapping[str, str], float]]
) -> Iterator[str]:
    yield f"# HELP tidegate_{name} {what}"
    yield f"# TYPE tidegate_{name} {kind}"
    for labels, value in rows:
        yield _line(f"tidegate_{name}", labels, value)


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    told = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{told}}} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
