"""What do tables that count save, and what do counts cost?

The experiments of Chand, "Large scale diffusion of information in Publish/Subscribe systems"
(2005), sections 6.2.3 and 6.2.4, on our brokers: 64 routers in a transit-stub network, one producer
that advertises every document, 24 consumer nodes at the edge, and patterns and documents of NITF by
the thesis's parameters. *Simple* is what the thesis calls so: equal filters once, which is our
policy `identity`.

**Tables** are the distinct filters of a router, in the mean over those that have any, without
consumer nodes, as in Table 6.5, with their standard deviation. **Throughput** is one over the time
of the busiest router, in the mean over documents, **delay** the time that routers on the way take,
in the mean over consumer nodes that a document reaches: Figs. 6.10 and 6.11, without links.
**Registration** and **cancellation** are the time of all brokers together, and that of a broker to
which a registration is duplicate, supplementary or new: Figs. 6.16 and 6.17. **Messages** are
changes between brokers until all is quiet, of registrations that are drawn with their duplicates. A
consumer that registers a pattern again changes counts only, so the large tables are made of what
differs at each consumer.

What happens across the Internet, and when routers fail, is in `xroute_failures`.

`TIDEGATE_XROUTE` in the environment is how many registrations there are in the end; 5,000 if it is
not given, and 200,000 in the thesis.

Patterns end in a named element at least three nodes deep, `//` counted as one (the *m* of Table
6.1): the generator of the thesis is not printed, and where patterns may end in `*`, one of the
first thousand covers all others, which its tables exclude.
"""

from __future__ import annotations

import os
from random import Random
from statistics import mean, pstdev
from typing import TYPE_CHECKING

from bench import xroute_failures
from bench.figure import Figure
from tidegate.lab.experiments.xroute_overlay import Consumers, Overlay
from tidegate.lab.workloads.dtds import news
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.overlay.work import NEWS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.lab.experiments.xroute_overlay import Way
    from tidegate.overlay.pattern_filter import PatternFilter

LARGEST = int(os.environ.get("TIDEGATE_XROUTE", "5000"))
PRINTED = {
    1_000: (34, 58, 31, 74),
    2_000: (52, 105, 44, 130),
    5_000: (86, 225, 67, 273),
    10_000: (120, 408, 88, 496),
    20_000: (176, 714, 122, 876),
    50_000: (258, 1_533, 162, 1_899),
    100_000: (334, 2_729, 206, 3_402),
    200_000: (415, 4_862, 232, 6_113),
}  # entries of a table and of Simple's, and their standard deviations: Table 6.5
SIZES = (*(size for size in PRINTED if size < LARGEST), LARGEST)
MOVED = {1_000, 20_000, LARGEST}  # sizes at which registrations and cancellations are timed
TRIED = 150  # of each
MESSAGES = min(10_000, LARGEST)
DOCUMENTS = 60
TOGETHER = 1_000  # registrations that are made at once where tables are to grow


def run() -> Iterator[Figure]:
    """Messages first, then tables as they grow, then what they are for."""
    yield from messages()
    yield from xroute_failures.run(Consumers(seed=3))
    counting, simple = Overlay("xroute"), Overlay("identity")
    consumers, seen = Consumers(seed=1), set[tuple[int, object]]()
    drawn = 0
    for size in SIZES:
        fresh = []
        for _ in range(size - drawn):
            each = consumers.draw()
            if each not in seen:
                seen.add(each)
                fresh.append(each)
        drawn = size
        for overlay in (counting, simple):
            for start in range(0, len(fresh), TOGETHER):
                overlay.register_many(fresh[start : start + TOGETHER])
        yield tables(size, counting, simple)
        if size in MOVED:
            yield from moved(size, counting)
    yield from routed(drawn, counting, simple)


def messages() -> Iterator[Figure]:
    """What is said until all is quiet."""
    made = {name: Overlay(name) for name in ("xroute", "covering", "identity")}
    consumers = Consumers(seed=2)
    registered = [consumers.draw() for _ in range(MESSAGES)]
    for overlay in made.values():
        for consumer, f in registered:
            overlay.register(consumer, f)
    ours, theirs = made["xroute"], made["covering"]
    assert ours.tables() == theirs.tables(), "counting has changed what is forwarded"
    assert ours.counted() == MESSAGES, "the producer does not count every registration"
    simple = made["identity"]
    for what, unit, a, b, c in (
        ("changes", "messages", ours.changes, theirs.changes, simple.changes),
        ("bytes", "bytes", ours.bytes, theirs.bytes, simple.bytes),
    ):
        yield Figure(
            f"xroute: {what} for {MESSAGES:,} registrations",
            a,
            b,
            b / a,
            unit,
            note=f"baseline covering; Simple {c:,}",
        )


def tables(size: int, counting: Overlay, simple: Overlay) -> Figure:
    """How large tables are, in the mean over routers."""
    sizes = [overlay.tables() for overlay in (counting, simple)]
    ours, theirs = (mean(each) for each in sizes)
    spread = " and ".join(f"{pstdev(each):.0f}" for each in sizes)
    note = f"baseline Simple; {ours / theirs:.3f} of it; standard deviations {spread}"
    told = PRINTED.get(size)
    aim, met = "", True
    if told is not None:
        share = round(told[0] / told[1], 3)
        aim, met = f"at most {share} of Simple's", ours / theirs <= share
        note += f"; printed {told[0]}, {told[1]:,}, {share}; {told[2]} and {told[3]:,}"
    title = f"xroute: entries of a table at {size:,} registrations"
    return Figure(title, ours, theirs, theirs / ours, "entries", note, aim, met)


def moved(size: int, overlay: Overlay) -> Iterator[Figure]:
    """Registrations of patterns that are drawn, each cancelled again; and total cancellations."""
    draws, taken = Consumers(seed=3), Random(3)
    registered: list[float] = []
    cancelled: list[float] = []
    times: dict[str, list[float]] = {kind: [] for kind in NEWS}  # of single brokers
    for _ in range(TRIED):
        consumer, f = draws.draw()
        own, told = overlay.register_timed(consumer, f)
        registered.append(told.seconds)
        for kind, seconds in told.kinds:
            times[kind].append(seconds)
        overlay.cancel(consumer, own)
        consumer, own, f = overlay.any_of(taken)
        cancelled.append(overlay.cancel(consumer, own))
        overlay.register(consumer, f)
    for what, found in (("registration", registered), ("cancellation", cancelled)):
        within = [sum(x < most for x in found) / TRIED for most in (1e-3, 0.25)]
        yield Figure(
            f"xroute: a {what} at {size:,} registrations",
            mean(found) * 1e3,
            None,
            None,
            "ms",
            note=f"all brokers on its way; within 1 and 250 ms {within[0]:.0%}, {within[1]:.0%}",
        )
    every = [seconds for each in times.values() for seconds in each]
    for kind, found in times.items():
        if found:
            yield Figure(
                f"xroute: a broker to which it is {kind}, at {size:,} registrations",
                mean(found) * 1e6,
                mean(every) * 1e6,
                mean(every) / mean(found),
                "µs",
                note=f"baseline all brokers on the way; {len(found) / len(every):.0%} of them",
            )


def handed(overlay: Overlay, way: Way) -> dict[int, set[PatternFilter]]:
    """The filters that a document was delivered for, by consumer."""
    known = overlay.registered
    return {i: {known[i][own] for own in owns} for i, owns in way.delivered.items()}


def routed(size: int, counting: Overlay, simple: Overlay) -> Iterator[Figure]:
    """How fast documents are routed, and how long they are under way."""
    source = DocumentSource(news(), DocumentChoices(), seed=4)
    documents = [source.draw() for _ in range(DOCUMENTS)]
    busiest: list[list[float]] = [[], []]
    delays: list[list[float]] = [[], []]
    for document in documents:
        counting.publish(document)  # once unmeasured: automata come to know new states
        simple.publish(document)
    for document in documents:
        found = [overlay.publish(document) for overlay in (counting, simple)]
        assert handed(counting, found[0]) == handed(simple, found[1]), "it went elsewhere"
        for place, each in enumerate(found):
            busiest[place].append(each.busiest)
            if each.delays:
                delays[place].append(mean(each.delays))
    assert counting.expected(documents[-1]) == found[0].delivered, "a document was lost"
    ours, theirs = (1 / mean(each) for each in busiest)
    yield Figure(
        f"xroute: throughput at {size:,} registrations",
        ours,
        theirs,
        ours / theirs,
        "documents/s",
        note="baseline Simple; printed ×4.2 at 200,000",
    )
    ours, theirs = (mean(each) * 1e3 for each in delays)
    yield Figure(
        f"xroute: delay at {size:,} registrations",
        ours,
        theirs,
        theirs / ours,
        "ms",
        note=f"baseline Simple; {ours / theirs:.2f} of it, printed 0.34 at 200,000",
    )
