"""What is a comparison, for somebody with a browser?

One HTML file that needs nothing else: no script, no font, no picture from anywhere, and a policy in
its head that forbids them. It is light or dark as the reader's system is, fits a phone, and prints.
Names of scenarios may be anything, and are escaped. The text is well-formed XML as well.
"""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from tidegate.lab.comparison.columns import COLUMNS, TELLS, of
from tidegate.lab.comparison.contestants import CONTESTANTS
from tidegate.lab.comparison.measures import Comparison, Measures
from tidegate.lab.comparison.panels import SHOWN, panel

_STYLE: Final = """
:root { color-scheme: light dark; --paper: #fbfaf7; --ink: #1f2d3d; --soft: #566573;
  --line: #dcdfe3; --room: #e8ebee; --bar: #0072b2; --worse: #d55e00; --lost: #a3201a; }
@media (prefers-color-scheme: dark) { :root { --paper: #14191f; --ink: #e4e9ee; --soft: #9aa7b4;
  --line: #323b45; --room: #262e37; --bar: #56b4e9; --worse: #e69f00; --lost: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem 1rem 4rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.8rem 0 .3rem; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 0 0 .1rem; }
p { margin: .3rem 0 .8rem; max-width: 46rem; }
.soft { color: var(--soft); font-size: .9rem; }
.lost { color: var(--lost); fill: var(--lost); font-weight: 600; }
figure { margin: 1.2rem 0; display: grid; gap: 1.6rem 2.2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); }
figure > div { break-inside: avoid; }
figure p { margin: 0 0 .3rem; }
.panel { width: 100%; max-width: 26rem; height: auto; display: block; font-size: 12px; }
.panel text { fill: currentColor; } .panel .number { fill: var(--soft);
  font-variant-numeric: tabular-nums; } .panel .lost { fill: var(--lost); }
.panel .room { fill: var(--room); } .panel .bar { fill: var(--bar); }
.panel .worse { fill: var(--worse); }
.panel .plain { stroke: currentColor; stroke-width: 1; stroke-dasharray: 3 2; }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: separate; border-spacing: 0; font-size: .85rem; width: 100%; }
caption { text-align: left; padding: .5rem .7rem; color: var(--soft); }
th, td { padding: .25rem .6rem; text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; border-top: 1px solid var(--line); }
thead th { font-weight: normal; color: var(--soft); }
thead .group { text-align: center; border-left: 1px solid var(--line); color: var(--ink); }
.first { border-left: 1px solid var(--line); }
.policy { text-align: left; }
tbody th { text-align: left; font-weight: 600; position: sticky; left: 0;
  background: var(--paper); }
dl { max-width: 46rem; } dt { font-weight: 600; margin-top: .5rem; } dd { margin: 0; }
.aside { display: none; }
@media (max-width: 60rem) { .aside { display: inline; } }
@media (max-width: 40rem) { table { font-size: .78rem; } th, td { padding: .2rem .4rem; } }
@media print { .aside { display: none; }
  :root { --paper: #fff; --ink: #000; --soft: #333; --line: #bbb; --room: #eee; --bar: #0072b2;
  --worse: #d55e00; }
  @page { size: A4 landscape; margin: 12mm; }
  body { max-width: none; padding: 0; font-size: 11pt; }
  section + section > h2 { break-before: page; }
  figure { grid-template-columns: repeat(3, 1fr); gap: 6mm; }
  .wide { overflow: visible; border: 0; break-inside: avoid; } table { font-size: 7.5pt; }
  th, td { padding: .1rem .3rem; } tbody th { position: static; }
  .panel .room, .panel .bar { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def page(found: Sequence[Comparison]) -> str:
    """The page."""
    title = "Policies compared"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8"/>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; style-src 'unsafe-inline'\"/>",
            f"<title>{title}</title><style>{_STYLE}</style></head><body><main>",
            f"<h1>{title}</h1>",
            "<p>What brokers forward of the subscriptions they know of, by several policies, on "
            "the same network and the same workload. All deliver the same events to the same "
            "people; what differs is what that takes.</p>",
            *(line for number, each in enumerate(found) for line in _section(each, number)),
            *_explained(found),
            "</main></body></html>\n",
        ]
    )


def _section(found: Comparison, number: int) -> Iterator[str]:
    yield f'<section aria-labelledby="s{number}"><h2 id="s{number}">{escape(found.name)}</h2>'
    yield (
        f'<p class="soft">{found.brokers:,} brokers, {found.subscriptions:,} subscriptions, '
        f"{found.published:,} events with {found.plain.notifications:,} notifications, then "
        f"{found.cancellations:,} cancellations; seed {found.seed}.</p>"
    )
    yield from map(_loss, found.losers)
    yield "<figure>"
    for parameter, (_, what) in SHOWN.items():
        yield f'<div><h3>{parameter.capitalize()}</h3><p class="soft">{what}</p>'
        yield panel(found, parameter) + "</div>"
    yield "</figure>"
    yield (
        '<p class="soft">The dashed line is plain forwarding (simple); bars that go beyond it are '
        "orange. A bar with an arrow is longer than there is room for.</p>"
    )
    yield f'<div class="wide" role="region" aria-labelledby="t{number}" tabindex="0">'
    yield from _table(found, number)
    yield "</div></section>"


def _loss(each: Measures) -> str:
    lost = each.losses
    return (
        f'<p class="lost">{escape(each.policy)} is wrong: {lost.missed:,} notifications missed, '
        f"{lost.duplicated:,} duplicated, {lost.unwanted:,} that nobody asked for.</p>"
    )


def _table(found: Comparison, number: int) -> Iterator[str]:
    yield f'<table><caption id="t{number}">{escape(found.name)}, in numbers'
    yield '<span class="aside"> (it goes on to the right)</span></caption>'
    yield '<thead><tr><th scope="col" rowspan="2" class="policy">policy</th>' + "".join(
        f'<th class="group" scope="colgroup" colspan="{len(of(each))}">{each}</th>'
        for each in TELLS
    )
    yield "</tr><tr>" + "".join(
        f'<th scope="col"{_first(i)}>{column.name}</th>' for i, column in enumerate(COLUMNS)
    )
    yield "</tr></thead><tbody>"
    for each in found.policies:
        mark = ' class="lost"' if each.losses else ""
        yield f'<tr><th scope="row"{mark}>{escape(each.policy)}</th>' + "".join(
            f"<td{_first(i)}>{column.text(each)}</td>" for i, column in enumerate(COLUMNS)
        )
        yield "</tr>"
    yield "</tbody></table>"


def _first(number: int) -> str:
    """The mark of a parameter's first column."""
    fresh = not number or COLUMNS[number - 1].parameter != COLUMNS[number].parameter
    return ' class="first"' if fresh else ""


def _explained(found: Sequence[Comparison]) -> Iterator[str]:
    yield '<section aria-labelledby="how"><h2 id="how">What is measured</h2><dl>'
    for parameter, text in TELLS.items():
        yield f"<dt>{parameter.capitalize()}</dt><dd>{text}</dd>"
    yield "</dl><p>The parameters are those of Bittner and Hinze, “Subscription Tree Pruning: "
    yield "A Structure-Independent Routing Optimization for General-Purpose Publish/Subscribe "
    yield "Systems” (2006). CPU times are those of the machine that ran the comparison; all "
    yield "other numbers are the same on every machine.</p>"
    yield "<h3>The policies</h3><dl>"
    there = {each.policy for one in found for each in one.policies}
    for each in CONTESTANTS:
        if each.name in there:
            yield f"<dt>{escape(each.name)}</dt><dd>{escape(each.tells)}</dd>"
    yield "</dl></section>"
