"""What has an analysis found, for somebody with a browser?

One HTML file that needs nothing else: no script, no font, no picture from anywhere, and a policy in
its head that forbids them. It is light or dark as the reader's system is, and readable on a phone.
What comes from the store, ids and filters, may be anything, and is escaped.
"""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from tidegate.pipeline.analysis.bars import bars
from tidegate.pipeline.analysis.findings import Analysis, Example, Kind, Slice, shortened

_ID: Final = 80  # characters of an id that are shown

_STYLE: Final = """
:root { color-scheme: light dark; --paper: #fbfaf7; --ink: #1f2d3d; --soft: #5c6b7a;
  --line: #dcdfe3; --room: #e8ebee; --bar: #15608c; --card: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --paper: #14191f; --ink: #e4e9ee; --soft: #9aa7b4;
  --line: #323b45; --room: #262e37; --bar: #62b0dd; --card: #1b222a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .3rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
p { margin: .3rem 0 .8rem; max-width: 46rem; }
.soft { color: var(--soft); }
.figures { display: grid; gap: .8rem; margin: 1.2rem 0;
  grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); }
.figure { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .7rem .9rem; }
.figure b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.figure a { color: inherit; }
.plots { display: grid; gap: 1.5rem 3rem; grid-template-columns: repeat(auto-fit,
  minmax(min(20rem, 100%), 1fr)); }
.plot { width: 100%; max-width: 34rem; height: auto; display: block; font-size: 12px; }
.plot text { fill: currentColor; } .plot .count { fill: var(--soft); }
.plot .room { fill: var(--room); } .plot .bar { fill: var(--bar); }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; table-layout: fixed; }
.ids th:first-child { width: 10rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .8rem .45rem 0;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: normal; font-size: .85rem; border-top: 0; }
.name { font-weight: 600; }
code { font: .85em/1.45 ui-monospace, monospace; unicode-bidi: isolate; white-space: pre-wrap; }
ul { margin: .2rem 0; padding-left: 1.1rem; }
@media (max-width: 40rem) { thead { display: none; } tr { display: block; padding: .5rem 0;
  border-top: 1px solid var(--line); } td { display: block; border: 0;
  padding: .1rem 0; } td[data-name]::before { content: attr(data-name) " "; color: var(--soft);
  font-size: .8rem; } }
"""


def page(found: Analysis) -> str:
    """The page."""
    title = f"{found.subscriptions:,} subscriptions, looked through"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
            *_head(found),
            *_kinds(found),
            *_events(found),
            *_distributions(found),
            *_limits(found),
            "</body></html>\n",
        ]
    )


def _head(found: Analysis) -> Iterator[str]:
    yield f"<h1>{found.subscriptions:,} subscriptions, looked through</h1>"
    yield (
        f'<p class="soft">Version {found.version} of the store '
        f"<code>{escape(shortened(found.store))}</code></p>"
    )
    yield (
        f"<p>They ask for {found.filters:,} different things. "
        f"<b>{found.spare:,}</b> ({_share(found.spare, found.subscriptions)}) could go without any "
        "event being missed by the system as a whole: others ask for the same or for more, or "
        "they can match nothing. Their owners still want their own notifications, of course: this "
        "is about what has to be forwarded, indexed and kept, not about who is told.</p>"
    )
    yield '<div class="figures">'
    for anchor, label, kind in _listed(found):
        yield (
            f'<div class="figure"><b>{kind.subscriptions:,}</b><a href="#{anchor}">{label}</a> '
            f'<span class="soft">{_share(kind.subscriptions, found.subscriptions)}</span></div>'
        )
    yield "</div>"
    slices = [Slice(label, kind.subscriptions) for _, label, kind in _listed(found)]
    yield bars(slices, "subscriptions of each kind", found.subscriptions)


def _listed(found: Analysis) -> Iterator[tuple[str, str, Kind]]:
    yield "duplicate", "duplicates", found.duplicate
    yield "covered", "covered", found.covered
    yield "subsumed", "subsumed", found.subsumed
    yield "mergeable", "mergeable", found.mergeable
    yield "never", "can match nothing", found.never
    yield "refused", "refused by the schema", found.refused
    yield "always", "match everything", found.always
    if found.unmatched is not None:
        yield "unmatched", "matched by no event", found.unmatched
    if found.almost is not None:
        yield "almost", f"match {found.almost_share:.0%} or more", found.almost


def _kinds(found: Analysis) -> Iterator[str]:
    groups = found.duplicate.groups or 0
    yield from _kind(
        "duplicate",
        "Duplicates",
        "They mean the same as another subscription, however they are written. There are "
        f"{groups:,} such groups; of each, one is not counted here.",
        found.duplicate,
        "the same as",
    )
    yield from _kind(
        "covered",
        "Covered",
        "Every event that such a subscription wants, another one wants as well, and more. "
        f"There are {found.covered.filters:,} different filters of this kind.",
        found.covered,
        "covered by",
    )
    yield from _kind(
        "subsumed",
        "Subsumed",
        "No single other subscription covers it, but several together leave nothing out. "
        + _undecided(found.subsumed),
        found.subsumed,
        "by these together",
    )
    mergers = found.mergeable.groups or 0
    yield from _kind(
        "mergeable",
        "Mergeable",
        "With one or more others it could be written as a single filter, no longer than the "
        f"longest of them, that matches exactly the same events. {mergers:,} such mergers were "
        "found.",
        found.mergeable,
        "made of",
        first="merger",
    )
    yield from _kind(
        "never", "Can match nothing", "The conditions contradict each other.", found.never
    )
    yield from _kind(
        "refused",
        "Refused by the schema",
        "The filter cannot be asked about such events, so no event ever matches it.",
        found.refused,
    )
    yield from _kind(
        "always",
        "Match everything",
        "Whatever an event holds, it matches. Such subscriptions cover all others; that is not "
        "counted above, because it would say nothing about the others.",
        found.always,
    )


def _undecided(kind: Kind) -> str:
    if not kind.undecided:
        return "Every filter was decided."
    return f"Of {kind.undecided:,} more filters it is not known: that would have taken too long."


def _kind(
    anchor: str, title: str, text: str, kind: Kind, others: str = "", first: str = "subscription"
) -> Iterator[str]:
    yield f'<h2 id="{anchor}">{title}: {kind.subscriptions:,}</h2>'
    if not kind.subscriptions:
        yield '<p class="soft">None.</p>'
        return
    yield f"<p>{text}</p>"
    yield from _table(kind.examples, others, first)
    shown = len(kind.examples)
    if kind.subscriptions > shown:
        examples = f"{shown} example{'s' * (shown != 1)}"
        yield f'<p class="soft">{examples} of {kind.subscriptions:,}.</p>'


def _table(examples: Sequence[Example], others: str, first: str) -> Iterator[str]:
    has_ids = any(example.id for example in examples)
    has_notes = any(example.note for example in examples)
    names = [first] if has_ids else []
    names += ["filter" if has_ids else first]
    names += ["about it"] if has_notes else []
    names += [others] if others else []
    form = ' class="ids"' if has_ids else ""
    yield (
        f"<table{form}><thead><tr>"
        + "".join(f"<th>{name}</th>" for name in names)
        + "</tr></thead>"
    )
    for example in examples:
        cells = [_name(example.id)] if has_ids else []
        cells.append(_code(example.filter))
        if has_notes:
            cells.append(escape(example.note))
        if others:
            inside = "".join(
                f"<li>{_name(each.id)} {_code(each.filter)}</li>" for each in example.others
            )
            cells.append(f"<ul>{inside}</ul>" if inside else "")
        yield "<tr>" + "".join(map(_cell, names, cells)) + "</tr>"
    yield "</table>"


def _cell(name: str, inside: str) -> str:
    return f'<td data-name="{escape(name)}">{inside}</td>'


def _name(id: str) -> str:
    return f'<code class="name">{escape(shortened(id, _ID))}</code>'


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _events(found: Analysis) -> Iterator[str]:
    cost = found.cost
    if cost is None:
        yield "<h2>What events would tell</h2>"
        yield (
            '<p class="soft">No events were given. With --events, this page also says which '
            "subscriptions no event matched, which match nearly all, and which cost the most.</p>"
        )
        return
    if found.unmatched is not None:
        yield from _kind(
            "unmatched",
            "Matched by no event",
            f"They could match, but none of the {cost.events:,} events did.",
            found.unmatched,
        )
    if found.almost is not None:
        yield from _kind(
            "almost",
            "Match almost everything",
            f"They match {found.almost_share:.0%} of the events or more.",
            found.almost,
        )
    yield '<h2 id="cost">What costs the most</h2>'
    yield (
        f"<p>An event matches {cost.matches:,.1f} subscriptions on average. Weighed by the size of "
        f"their filters, the dearest 1% of the subscriptions have {cost.top:.0%} of that.</p>"
    )
    yield from _table(cost.dearest, "", "subscription")
    yield '<div class="plots"><div><h3>How many events a subscription matches</h3>'
    yield bars(cost.shares, "subscriptions by the share of events that they match")
    yield "</div>"
    if cost.structures:
        yield "<div><h3>Where the index keeps them</h3>"
        yield bars(cost.structures, "subscriptions in each structure of the index")
        yield (
            '<p class="soft">Those in partitions are found by the value of an attribute. The '
            "others are looked at for every event.</p></div>"
        )
    yield "</div>"


def _distributions(found: Analysis) -> Iterator[str]:
    yield '<h2>How they are spread</h2><div class="plots">'
    if found.coverers:
        yield "<div><h3>Who covers the most others</h3>"
        slices = [Slice(f"{each.id}: {each.filter}", each.covers) for each in found.coverers]
        yield bars(slices, "filters that cover the most others") + "</div>"
    if any(each.count for each in found.group_sizes):
        yield "<div><h3>How many mean the same</h3>"
        yield bars(found.group_sizes, "groups of duplicates by their size") + "</div>"
    if found.attributes:
        yield "<div><h3>Attributes that are asked for</h3>"
        yield bars(found.attributes, "subscriptions by attribute", found.subscriptions) + "</div>"
    yield "</div>"


def _limits(found: Analysis) -> Iterator[str]:
    yield "<h2>How sure this is</h2>"
    yield (
        "<p>What is said to be a duplicate or covered is so, by proof. All of them are found among "
        "filters of comparisons, lists, prefixes and tests for NULL. "
        f"{found.texts:,} filters have conditions such as LIKE or contains, of which only certain "
        f"facts are used, and {found.long:,} have too many alternatives to be compared with "
        "others: there may be more among these.</p>"
    )
    if found.uncompared:
        yield (
            f"<p>There was no room to compare others with {found.uncompared:,} filters: it is "
            "known who covers these, but what they cover or subsume is not counted.</p>"
        )
    took = ", ".join(f"{name} {seconds:,.0f} s" for name, seconds in found.seconds.items())
    if took:
        yield f'<p class="soft">{escape(took)}; compared in {found.cells:,} cells.</p>'


def _share(part: int, whole: int) -> str:
    if not whole or not part:
        return ""
    share = part / whole
    return f"{share:.1%}" if share >= 0.001 else "less than 0.1%"
