"""Is the documentation true? Every example in README.md and docs/ is run.

- `python` fences are doctests; those of one file share their names.
- `console` fences are commands and what they print. `$ cat FILE` shows a file the commands read.
- `ebnf` fences are grammars: sentences are drawn from them, and must be read.
- Tables are checked row by row. What a table claims is told by its head (see `_CHECKS`); a line
  `Schema: ...` in front of it gives the attributes' types, and then Spark is asked as well.
"""

import datetime as dt
import doctest
import importlib
import random
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from math import inf, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest
from typer.testing import CliRunner

import tidegate as tg
from tests import ROOT
from tests.engine.events import odd_sources, odd_values
from tidegate.cli import app
from tidegate.filters.expression import Predicate
from tidegate.filters.literals import spell
from tidegate.lab.experiments.printed import claims, documents
from tidegate.lab.report.page import STATES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCUMENTS: Final = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ON_SPARK: Final = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / f"{n}.md"
        for n in ("analysis", "lab", "pipeline", "scale", "statistics", "xml")
    ),
]
"""Whose examples have a session and a folder."""
LANGUAGES: Final = {"python", "console", "ebnf", "sh"}

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_SCHEMA = re.compile(r"Schema( \(checked\))?: `(.+)`")


@dataclass(frozen=True)
class Fence:
    """A fenced block and where it stands."""

    path: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}"


@dataclass(frozen=True)
class Table:
    """A table, cell by cell, and the schema named in front of it."""

    path: Path
    line: int
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    ddl: str | None
    schema: tg.Schema | None

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}"


def fences(path: Path) -> list[Fence]:
    text = path.read_text(encoding="utf-8")
    return [
        Fence(path, text.count("\n", 0, found.start()) + 1, found[1], found[2])
        for found in _FENCE.finditer(text)
    ]


def tables(path: Path) -> list[Table]:
    text = path.read_text(encoding="utf-8")
    lines = _FENCE.sub(lambda found: "\n" * found[0].count("\n"), text).split("\n")
    result: list[Table] = []
    before = ""
    i = 0
    while i < len(lines):
        stop = i
        while stop < len(lines) and lines[stop].startswith("|"):
            stop += 1
        if stop > i:
            head, _, *rows = (_cells(line) for line in lines[i:stop])
            named = _SCHEMA.fullmatch(before)
            schema = None if named is None else tg.Schema(named[2], checked=bool(named[1]))
            ddl = None if named is None else named[2]
            result.append(Table(path, i + 1, head, tuple(rows), ddl, schema))
        elif lines[i].strip():
            before = lines[i].strip()
        i = max(stop, i + 1)
    return result


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


def codes(cell: str) -> list[str]:
    """What stands in a cell between back-quotes; in doubled ones, with a space on each side."""
    found = [text for _, text in _CODE.findall(cell)]
    return [t[1:-1] if t[0] == t[-1] == " " and t.strip() else t for t in found]


def plain(cell: str) -> str:
    """A cell's text; a cell that is one piece of code is that code."""
    inside = codes(cell)
    whole = len(inside) == 1 and _CODE.fullmatch(cell) is not None
    return inside[0] if whole else cell


def event(code: str) -> dict[str, Any]:
    names = {"date": dt.date, "datetime": dt.datetime, "Decimal": Decimal, "nan": nan, "inf": inf}
    found: dict[str, Any] = eval(code, names)
    return found


CLAIMS: Final = ("claim", "printed in", "state", "decided by")
FENCES: Final = [fence for path in DOCUMENTS for fence in fences(path)]
TABLES: Final = [table for path in DOCUMENTS for table in tables(path)]

# -- the forms of examples


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_document_has_examples(path: Path) -> None:
    run = [f for f in fences(path) if f.language in ("python", "console")]
    assert run or tables(path), "nothing in this document is checked"
    assert {f.language for f in fences(path)} <= LANGUAGES, "a fence that nothing checks"


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [path for path in DOCUMENTS if path not in ON_SPARK], ids=lambda path: path.name
)
def test_python_examples_print_what_is_shown(path: Path) -> None:
    run_examples(path, {})


@pytest.mark.parametrize("path", ON_SPARK, ids=lambda path: path.name)
def test_examples_on_spark_print_what_is_shown(
    path: Path, spark: "SparkSession", tmp_path: Path
) -> None:
    run_examples(path, {"spark": spark, "folder": tmp_path})


def run_examples(path: Path, names: dict[str, Any]) -> None:
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    complaints: list[str] = []
    for fence in fences(path):
        if fence.language != "python":
            continue
        test = parser.get_doctest(fence.text, names, path.name, str(path), fence.line)
        assert test.examples, f"{fence}: Python that is not run; write >>> before it"
        runner.run(test, out=complaints.append, clear_globs=False)
        names = test.globs
    assert not complaints, "".join(complaints)


@pytest.mark.parametrize("fence", [f for f in FENCES if f.language == "console"], ids=str)
def test_commands_print_what_is_shown(
    fence: Fence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", fence.text, re.MULTILINE)
    assert commands, "a console without a command"
    for command, shown in commands:
        program, *arguments = shlex.split(command)
        if program == "cat":
            Path(arguments[0]).write_text(shown, encoding="utf-8")
            continue
        assert program == "tidegate"
        printed = CliRunner().invoke(app, arguments).output
        assert printed.split() == shown.split(), printed


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_tables_are_true(table: Table) -> None:
    assert table.rows, "a table without rows"
    wrong = list(_check_of(table)(table))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), *DOCUMENTS[1:]], ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    text = _FENCE.sub("", path.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        assert there.exists(), f"{target} does not exist"
        assert not anchor or anchor in _anchors(there), f"{target}: no such heading"


def _anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", path.read_text("utf-8")), re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in kept}


# -- what tables claim

_MARKS: Final = {"✓": True, "–": False}


def _cases(table: Table) -> Iterator[tuple[str, str, bool]]:
    """Filter, event, and whether the table says that the event passes."""
    for row in table.rows:
        if table.head == ("filter", "event", "passes"):
            pairs = [(row[1], row[2])]
        else:
            pairs = list(zip(table.head[1:], row[1:], strict=True))
        for text in codes(row[0]):
            for events, mark in pairs:
                assert codes(events), f"no event in {events!r}"
                yield from ((text, each, _MARKS[mark]) for each in codes(events))


def _check_passes(table: Table) -> Iterator[str]:
    for text, code, passes in _cases(table):
        if tg.parse(text, table.schema).matches(event(code)) is not passes:
            yield f"{text} on {code}: the table says {passes}"


def _check_refusals(table: Table) -> Iterator[str]:
    for text, error, reason, instead in table.rows:
        try:
            yield f"{text} is read as {tg.parse(plain(text), table.schema)}"
        except tg.FilterError as found:
            said = (type(found).__name__, found.reason, found.instead or "–")
            if said != (plain(error), plain(reason), plain(instead)):
                yield f"{text}: {said}"


def _check_relations(table: Table) -> Iterator[str]:
    for one, other, relation in table.rows:
        f, g = tg.parse(plain(one), table.schema), tg.parse(plain(other), table.schema)
        found = tg.relate(f, g)
        if str(found) != relation:
            yield f"{one} and {other}: {found}"
        if tg.covers(f, g) and relation not in ("equal", "covers", "unknown"):
            yield f"{one} covers {other}"
        if tg.overlaps(f, g) is not (relation != "disjoint"):
            yield f"{one} overlaps {other}: {tg.overlaps(f, g)}"


_NAMES: Final = {
    bool: "boolean",
    int: "bigint",
    float: "double",
    Decimal: "decimal",
    str: "string",
    dt.date: "date",
    dt.datetime: "timestamp",
    type(None): "NULL",
}


def _check_literals(table: Table) -> Iterator[str]:
    for spellings, kind, printed in table.rows:
        assert codes(spellings)
        for spelling in codes(spellings):
            tree = tg.parse(f"x = {spelling}").tree
            assert isinstance(tree, Predicate)
            constant: Any = tree.constants[0]
            found = (_NAMES[type(constant)], spell(constant))
            if found != (kind, plain(printed)):
                yield f"{spelling}: {found}"


def _check_equalities(table: Table) -> Iterator[str]:
    for one, other, mark in table.rows:
        f, g = tg.parse(plain(one), table.schema), tg.parse(plain(other), table.schema)
        if (f == g) is not _MARKS[mark] or (f == g and hash(f) != hash(g)):
            yield f"{one} and {other}: {f == g}"


def _check_limits(table: Table) -> Iterator[str]:
    for _, where, value in table.rows:
        module, _, name = plain(where).rpartition(".")
        found = getattr(importlib.import_module(module), name)
        if f"{getattr(found, 'pieces', found):,}" != value:
            yield f"{where} is {found}"


def _check_figures(table: Table) -> Iterator[str]:
    """Only a benchmark can check what was measured; here, whether a row agrees with itself."""
    names = [row[0] for row in table.rows]
    yield from (f"{name} stands there twice" for name in names if names.count(name) > 1)
    for name, *cells, _ in table.rows:
        found = [re.match(r"×?([\d,]+(?:\.\d+)?)|–$", cell) for cell in cells]
        if not all(found):
            yield f"{name}: neither a number nor –: {cells}"
            continue
        ours, baseline, ratio = (float((f[1] or "nan").replace(",", "")) for f in found if f)
        times = baseline / ours  # of costs; of rates, the other way round
        if min(abs(times / ratio - 1), abs(1 / times / ratio - 1)) > 0.05:
            yield f"{name}: {baseline} is not {ratio} times {ours}"


def _check_measured(table: Table) -> Iterator[str]:
    """Figures in columns of their own: rows are different, no cell is blank, times are right."""
    names = [row[0] for row in table.rows]
    yield from (f"{name} stands there twice" for name in names if names.count(name) > 1)
    for row in table.rows:
        yield from (f"{row[0]}: {c!r}" for c in row[1:] if not re.match(r"[-+]?\d|–$|none$", c))
        if "times" in table.head:
            cells = (row[table.head.index(name)] for name in ("ours", "scan", "times"))
            ours, scan, times = (float(cell.replace(",", "")) for cell in cells)
            if abs(scan / ours / times - 1) > 0.05:
                yield f"{row[0]}: {scan} is not {times} times {ours}"


def _check_claims(table: Table) -> Iterator[str]:
    """Claims of the lab as they are restated, where they are printed, and in a state."""
    stated = {each.text: f"{each.where}, l. {each.lines}" for each in claims().values()}
    for text, where, state, _ in table.rows:
        if stated.get(text) != where:
            yield f"{text}: printed in {stated.get(text)}, not {where}"
        if plain(state).strip("*") not in STATES:
            yield f"{text}: {state}"


def _check_summary(table: Table) -> Iterator[str]:
    """How many claims of a document are in which state: as the tables after it have it."""
    document = {each.text: documents()[each.document].title for each in claims().values()}
    decided = [
        (document[row[0]], row[2].strip("*"))
        for other in tables(table.path)
        if other.head == CLAIMS
        for row in other.rows
    ]
    for title, *counts in table.rows:
        right = [str(decided.count((title, state))) for state in STATES]
        if counts != right:
            yield f"{title}: {counts}, not {right}"


def _check_rows(tested: Callable[[], list[tuple[str, ...]]]) -> Callable[[Table], Iterator[str]]:
    """A table that another test has: row by row, as that has it."""

    def check(table: Table) -> Iterator[str]:
        right = tested()
        yield from (f"the tests have no such row: {row}" for row in table.rows if row not in right)
        yield from (f"there is no row | {' | '.join(r)} |" for r in right if r not in table.rows)

    return check


_CHECKS: Final[dict[tuple[str, ...], Callable[[Table], Iterator[str]]]] = {
    ("filter", "event", "passes"): _check_passes,
    ("text", "error", "reason", "write instead"): _check_refusals,
    ("f", "g", "relation"): _check_relations,
    ("spelling", "type", "printed as"): _check_literals,
    ("one way", "another way", "equal"): _check_equalities,
    ("limit", "constant", "value"): _check_limits,
    ("figure", "ours", "baseline", "ratio", "aim"): _check_figures,
    ("column", *odd_sources.SOURCES, "mappings"): _check_rows(odd_sources.by_type),
    CLAIMS: _check_claims,
    ("document", *STATES): _check_summary,
    ("only in", "columns or values", "filters see"): _check_rows(odd_values.by_library),
}


def _check_of(table: Table) -> Callable[[Table], Iterator[str]]:
    if table.head[0] == "filter" and len(table.head) > 1 and all(map(codes, table.head[1:])):
        return _check_passes
    if table.head[0] == "measured":
        return _check_measured
    check = _CHECKS.get(table.head)
    assert check is not None, f"{table}: a table that nothing checks"
    return check


def test_spark_agrees_with_the_tables(spark: "SparkSession") -> None:
    from pyspark.sql import functions as F  # noqa: N812

    asked = [t for t in TABLES if t.ddl is not None and _check_of(t) is _check_passes]
    columns = sorted({column.strip() for t in asked for column in str(t.ddl).split(", ")})
    names = [column.split()[0] for column in columns]
    assert len(names) == len(set(names)), f"one name, two types, for a single job: {columns}"
    cases = [(table, *case) for table in asked for case in _cases(table)]
    texts = list(dict.fromkeys(text for _, text, _, _ in cases))
    rows = [
        (code, *(_for_spark(event(code).get(name)) for name in names))
        for code in dict.fromkeys(code for _, _, code, _ in cases)
    ]
    passes = [F.coalesce(F.expr(text), F.lit(False)) for text in texts]
    data = spark.createDataFrame(rows, ", ".join(["`the event` STRING", *columns]))
    answers = data.select(F.col("the event"), F.array(*passes)).collect()
    found = {code: dict(zip(texts, said, strict=True)) for code, said in answers}
    assert cases
    for table, text, code, expected in cases:
        said = found[code][text]
        assert said is expected, f"{table}: {text} on {code} is {said} in Spark"


def test_spark_agrees_with_the_literals(spark: "SparkSession") -> None:
    rows = [row for t in TABLES if _check_of(t) is _check_literals for row in t.rows]
    asked = [(each, row) for row in rows for each in codes(row[0])]
    assert asked
    claims = [f"typeof({each}), ({each}) <=> {plain(row[2])}" for each, row in asked]
    said = list(spark.sql(f"SELECT {', '.join(claims)}").collect()[0])
    for (each, (_, kind, printed)), type_, same in zip(asked, said[::2], said[1::2], strict=True):
        assert same is True, f"{each} is not {printed} in Spark"
        name = re.sub(r"\(.*|_ntz", "", type_)
        assert _SPARK_NAMES.get(name, name) == kind, f"{each} is a {type_} in Spark"


_SPARK_NAMES: Final = {
    "tinyint": "bigint",
    "smallint": "bigint",
    "int": "bigint",
    "float": "double",
    "void": "NULL",
}


def _for_spark(value: Any) -> Any:
    """Spark takes a naive datetime for local time; ours are in UTC."""
    naive = isinstance(value, dt.datetime) and value.tzinfo is None
    return value.replace(tzinfo=dt.UTC) if naive else value


# -- the grammar

Rule: TypeAlias = tuple[str, Any]

_LEXICAL: Final = {
    "word": ["x", "price", "Volume", "a_1"],
    "quoted name": ["`limit price`", "`größe`", "`a``b`", "`AND`"],
    "string": ["'a'", "'it''s'", '"b%"', "r'\\d'", "'!'", "''"],
    "number": ["1", "2.5", "1e3", "7L", ".5", "3BD", "0.1F"],
    "day": ["'2024-01-31'", "'2024'"],
    "moment": ["'2024-01-31 12:00:00'", "'2024-01-31'"],
    "character": ["'!'", "'$'"],
    "not finite": ["'NaN'", "'Infinity'", "'-Infinity'"],
}


@cache
def grammar() -> dict[str, Rule]:
    """The rules of the language's grammar as nested (kind, content)."""
    [text] = [fence.text for fence in FENCES if fence.language == "ebnf"]
    tokens = re.findall(r'"[^"]*"|\?[^?]*\?|\w+|[=|;{}()\[\]]', text)
    rules: dict[str, Rule] = {}
    while tokens:
        name, sign = tokens.pop(0), tokens.pop(0)
        assert sign == "=", f"{name} {sign}"
        rules[name] = _alternatives(tokens)
        assert tokens.pop(0) == ";", name
    return rules


def _alternatives(tokens: list[str]) -> Rule:
    options = [_sequence(tokens)]
    while tokens[0] == "|":
        tokens.pop(0)
        options.append(_sequence(tokens))
    return ("one of", options)


def _sequence(tokens: list[str]) -> Rule:
    closing = {"{": "}", "[": "]", "(": ")"}
    parts: list[Rule] = []
    while tokens[0] not in ("|", ";", *closing.values()):
        token = tokens.pop(0)
        if token in closing:
            parts.append((token, _alternatives(tokens)))
            assert tokens.pop(0) == closing[token]
        elif token[0] == '"':
            parts.append(("literally", token[1:-1]))
        else:
            parts.append(("lexical" if token[0] == "?" else "rule", token.strip("? ")))
    return ("all of", parts)


def sentence(rule: Rule, draw: random.Random, depth: int = 0) -> list[str]:
    """Words drawn from a rule; deep inside, the first alternative and nothing optional."""
    kind, content = rule
    deep = depth > 24
    if kind == "literally":
        return [str(content)]
    if kind == "lexical":
        return [draw.choice(_LEXICAL[content])]
    if kind == "rule":
        return sentence(grammar()[content], draw, depth + 1)
    if kind == "one of":
        return sentence(content[0] if deep else draw.choice(content), draw, depth + 1)
    if kind == "all of":
        return [word for part in content for word in sentence(part, draw, depth + 1)]
    times = {"(": 1, "[": draw.randint(0, 1), "{": draw.choice((0, 0, 1, 2))}[kind]
    times = times if kind == "(" or not deep else 0
    return [word for _ in range(times) for word in sentence(content, draw, depth + 1)]


@cache
def sentences() -> Sequence[str]:
    draw = random.Random(2)
    start = next(iter(grammar()))
    drawn = (" ".join(sentence(("rule", start), draw)) for _ in range(3000))
    return list(dict.fromkeys(drawn))


def test_what_the_grammar_allows_is_read() -> None:
    read = 0
    for text in sentences():
        try:
            tg.parse(text)
            read += 1
        except tg.FilterTypeError:  # LIKE 5, or a list of numbers and strings
            continue
    assert read > len(sentences()) / 2


def test_every_part_of_the_grammar_is_drawn() -> None:
    [text] = [fence.text for fence in FENCES if fence.language == "ebnf"]
    words = " ".join(sentences()).split()
    assert set(re.findall(r'"([^"]+)"', text)) <= set(words)
    assert set(re.findall(r"\? (.+?) \?", text)) == set(_LEXICAL)


def test_spark_reads_what_the_grammar_allows(spark: "SparkSession") -> None:
    parser: Any = spark._jsparkSession.sessionState().sqlParser()
    for text in sentences():
        parser.parseExpression(text)
