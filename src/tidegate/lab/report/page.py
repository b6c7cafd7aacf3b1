"""What does a run say, for somebody with a browser?

One HTML file that needs nothing else: no script, no font, no picture from anywhere, and a policy in
its head that forbids them. It is light or dark as the reader's system is, fits a phone, and prints.
First comes what a reader wants to know first: how many claims of each document hold. Then all
claims, each with the number that decides it; then every figure, with its numbers under it.
"""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from tidegate.lab.experiments.experiment import Experiment
from tidegate.lab.experiments.printed import documents
from tidegate.lab.report.findings import Decided, Finding
from tidegate.lab.report.plots import draw, spread, told

STATES: Final = ("held", "partly", "not", "open")
_MARKS: Final = {"held": "✓", "partly": "~", "not": "✗", "open": "?"}
_STYLE: Final = """
:root { color-scheme: light dark; --paper: #fbfaf7; --ink: #1f2d3d; --soft: #566573;
  --line: #dcdfe3; --held: #0072b2; --partly: #b07800; --not: #c04e00; --open: #777; }
@media (prefers-color-scheme: dark) { :root { --paper: #14191f; --ink: #e4e9ee; --soft: #9aa7b4;
  --line: #323b45; --held: #56b4e9; --partly: #e69f00; --not: #ff8c50; --open: #999; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 4rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .4rem; } h3 { font-size: 1rem; margin: 1.6rem 0 .2rem; }
p { margin: .3rem 0 .8rem; max-width: 46rem; } .soft { color: var(--soft); font-size: .9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; width: 100%; }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top;
  border-top: 1px solid var(--line); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.held { color: var(--held); } .partly { color: var(--partly); } .not { color: var(--not); }
.open { color: var(--open); } .state { font-weight: 600; white-space: nowrap; }
.bar { padding: 0 .6rem .5rem; border: 0; line-height: 0; }
.bar span { display: inline-block; height: .5rem; background: currentColor; }
.bar .partly { opacity: .75; } .bar .not { opacity: .9; }
.figures { display: grid; gap: 1.4rem 2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); }
figure { margin: 0; break-inside: avoid; } figcaption { font-weight: 600; margin-bottom: .3rem; }
.plot { width: 100%; max-width: 36rem; height: auto; display: block; }
summary { cursor: pointer; color: var(--soft); font-size: .9rem; }
code { font-size: .85em; overflow-wrap: anywhere; }
.title { font-weight: 400; }
@media (max-width: 40rem) { .title { display: none; }
  .wide th, .wide td { padding: .3rem .2rem; font-size: .85rem; }
  .claims thead { display: none; }
  .claims td { display: block; border: 0; padding: .1rem 0; }
  .claims tr { display: block; border-top: 1px solid var(--line); padding: .5rem 0; } }
@media print { :root { --paper: #fff; --ink: #000; --soft: #333; --line: #bbb; }
  @page { margin: 14mm; } body { max-width: none; padding: 0; font-size: 10pt; }
  .figures { grid-template-columns: 1fr 1fr; } tr { break-inside: avoid; } }
"""


def page(found: Sequence[Finding], absent: Sequence[Experiment] = ()) -> str:
    """The page; `absent` are experiments that were not run."""
    decided = [each for finding in found for each in finding.decided()]
    title = "The documents' claims, rerun"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8"/>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; style-src 'unsafe-inline'\"/>",
            f"<title>{title}</title><style>{_STYLE}</style></head><body><main>",
            f"<h1>{title}</h1>",
            *_summary(found, decided, absent),
            *(line for name in _named(found) for line in _document(name, found)),
            "</main></body></html>\n",
        ]
    )


def state(each: Decided) -> str:
    """What became of a claim, in a word."""
    return each.verdict.state if each.verdict is not None else "open"


def number(each: Decided) -> str:
    """What decides it."""
    return each.verdict.number if each.verdict is not None else "rows are missing"


def rerun(finding: Finding) -> str:
    """The command that computes it again."""
    return f"tidegate lab run {finding.experiment.name} --scale {finding.scale}"


def sizes(found: Sequence[Finding]) -> str:
    """At which scales experiments were run."""
    small = sum(each.scale == "small" for each in found)
    whole = sum(each.scale == "paper" and not each.missing for each in found)
    parts = len(found) - small - whole
    counts = {"of the papers' size": whole, "of a part of it": parts, "small": small}
    told = "Experiments: " + ", ".join(f"{n} {each}" for each, n in counts.items() if n) + "."
    rest = " What is claimed of large populations need not hold in small ones." if small else ""
    return told + rest


def _bar(own: Sequence[Decided]) -> str:
    """How many claims are in which state, as a strip; the numbers are above it."""
    shares = {each: sum(state(d) == each for d in own) / len(own) for each in STATES}
    return "".join(
        f'<span class="{each}" style="width:{100 * share:.1f}%"></span>'
        for each, share in shares.items()
        if share
    )


def drawn_from(found: Sequence[Finding]) -> str:
    """Which data of others it was drawn from, as a sentence behind another one."""
    told = sorted({str(row["data"]) for finding in found for row in finding.rows} - {""})
    return f" Patterns and documents are of {' and '.join(told)}." if told else ""


def not_run(absent: Sequence[Experiment]) -> str:
    """Which experiments there are no rows of."""
    told = "; ".join(f"{each.name} ({', '.join(each.reproduces)})" for each in absent)
    return f"Not run: {told}."


def _named(found: Sequence[Finding]) -> list[str]:
    return list(dict.fromkeys(each.experiment.document for each in found))


def _summary(
    found: Sequence[Finding], decided: Sequence[Decided], absent: Sequence[Experiment]
) -> Iterator[str]:
    held = sum(state(each) == "held" for each in decided)
    yield f"<p><strong>{held} of {len(decided)} claims hold.</strong> "
    yield "Counts are exact and the same on every machine; times are CPU times, one task at a "
    yield "time on a core. Bands reach from the least to the greatest over seeds.</p>"
    yield f"<p>{escape(sizes(found))}</p>"
    yield '<div class="wide"><table><thead><tr><th scope="col">document</th>'
    for each in STATES:
        yield f'<th scope="col" class="number {each}">{_MARKS[each]} {each}</th>'
    yield "</tr></thead><tbody>"
    for name in _named(found):
        own = [each for each in decided if each.stated.document == name]
        title = f'<br/><span class="soft title">{escape(documents()[name].title)}</span>'
        yield f'<tr><th scope="row">{escape(name)}{title}</th>'
        for each_state in STATES:
            count = sum(state(each) == each_state for each in own)
            yield f'<td class="number">{count or "·"}</td>'
        yield "</tr>"
        yield f'<tr><td class="bar" colspan="{1 + len(STATES)}">{_bar(own)}</td></tr>'
    yield "</tbody></table></div>"
    if absent:
        yield f'<p class="soft">{escape(not_run(absent))}</p>'
    machines = sorted({str(row["machine"]) for finding in found for row in finding.rows})
    versions = sorted({str(row["version"]) for finding in found for row in finding.rows})
    yield f'<p class="soft">Computed by {escape(", ".join(versions))} on '
    yield f"{escape('; '.join(machines) + '.' + drawn_from(found))}</p>"


def _document(name: str, found: Sequence[Finding]) -> Iterator[str]:
    own = [each for each in found if each.experiment.document == name]
    yield f'<section><h2 id="{escape(name)}">{escape(documents()[name].title)}</h2>'
    yield '<table class="claims"><thead><tr><th scope="col">claim</th><th scope="col">printed</th>'
    yield '<th scope="col"></th><th scope="col">decided by</th></tr></thead><tbody>'
    for finding in own:
        for each in finding.decided():
            yield _claim(each, finding)
    yield "</tbody></table>"
    for finding in own:
        yield from _experiment(finding)
    yield "</section>"


def _claim(each: Decided, finding: Finding) -> str:
    own = state(each)
    why = f'<br/><span class="soft">{escape(each.claim.why)}</span>' if each.claim.why else ""
    return (
        f"<tr><td>{escape(each.stated.text)}</td>"
        f'<td class="soft">{escape(each.stated.where)}, l. {escape(each.stated.lines)}</td>'
        f'<td class="state {own}">{_MARKS[own]} {own}</td>'
        f"<td>{escape(number(each))}{why if own != 'held' else ''}<br/>"
        f"<code>{escape(rerun(finding))}</code></td></tr>"
    )


def _experiment(finding: Finding) -> Iterator[str]:
    experiment, rows = finding.experiment, finding.rows
    yield f"<h3>{escape(experiment.name)}: {escape(', '.join(experiment.reproduces))}</h3>"
    seconds = sum(row["seconds"] for row in rows)
    left = f", {finding.missing} missing" if finding.missing else ""
    marked = f"; CPU times: {', '.join(sorted(experiment.timings))}" if experiment.timings else ""
    yield (
        f'<p class="soft">{escape(experiment.tells)} Scale {finding.scale}, '
        f"{len(rows)} rows{left}, {seconds:,.0f} s in all{escape(marked)}.</p>"
    )
    yield '<div class="figures">'
    for plot in experiment.plots:
        curves = finding.curves(plot)
        if not curves:
            continue
        yield f"<figure><figcaption>{escape(plot.title)}</figcaption>{draw(plot, curves)}"
        yield "<details><summary>the numbers</summary><div class='wide'><table><tbody>"
        for curve in curves:
            name = f"{curve.label}, printed" if curve.printed else curve.label
            cells = "".join(
                f'<td class="number">{escape(told(p.x))}: {escape(spread(p))}</td>'
                for p in curve.points
            )
            yield f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'
        yield "</tbody></table></div></details></figure>"
    yield "</div>"
