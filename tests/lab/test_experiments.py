"""Experiments are whole, and small ones say what the papers say.

There are data for every claim, and columns for every plot.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tidegate.lab.experiments import (
    mbd,
    mbd_growth,
    parametric,
    pruning,
    ratings,
    subsumption,
    xnet_failures,
    xnet_graphs,
    xnet_routing,
    xnet_search,
)
from tidegate.lab.experiments.catalogue import EXPERIMENTS
from tidegate.lab.experiments.experiment import SCALES, Experiment, Point
from tidegate.lab.experiments.printed import claims, documents, printed
from tidegate.lab.experiments.rehearsal import REHEARSAL
from tidegate.lab.experiments.rows import Rows
from tidegate.lab.report.findings import Finding

EVERY = (*EXPERIMENTS, REHEARSAL)


@pytest.mark.parametrize("experiment", EVERY, ids=lambda each: each.name)
def test_a_declaration_is_whole(experiment: Experiment) -> None:
    assert experiment.document in documents()
    assert set(experiment.sizes) == set(SCALES)
    for scale in SCALES:
        assert experiment.size(scale).points
    for claim in experiment.claims:
        assert claims()[claim.name].document == experiment.document
    for plot in experiment.plots:
        if plot.printed:
            theirs = printed(plot.printed)
            assert all(len(ys) <= len(theirs.x) for ys in theirs.series.values())
        parameters = set(experiment.size("small").points[0])
        assert {*plot.by, *plot.where} <= parameters


def test_every_claim_is_decided_by_one_experiment() -> None:
    decided = [claim.name for experiment in EVERY for claim in experiment.claims]
    assert sorted(decided) == sorted(claims())
    names = [experiment.name for experiment in EVERY]
    assert len(names) == len(set(names))


def measured(experiment: Experiment, points: Sequence[Point]) -> Rows:
    """The rows of some points, and no column missing that is drawn or marked as a timing."""
    rows: list[Mapping[str, Any]] = []
    for point in points:
        row = experiment.measure(point, 1)
        assert experiment.timings <= set(row)
        assert not set(row) & set(point)
        rows.append({**point, **row, "seed": 1})
    for plot in experiment.plots:
        for row in rows if plot.made is None else plot.made(Rows(rows)):
            assert {plot.x, *plot.columns} <= set(row)
    return Rows(rows)


def verdicts(experiment: Experiment, rows: Rows) -> dict[str, str]:
    return {claim.name: claim.rule(rows).state for claim in experiment.claims}


@pytest.mark.slow
def test_subsumption_finds_more_than_covering_and_less_in_more_dimensions() -> None:
    own = subsumption.REDUNDANT
    points = [{**point, "count": 400} for point in own.size("small").points]
    rows = measured(own, points)
    found = verdicts(own, rows)
    assert found["subsumption-more-than-covering"] == "held"
    assert found["subsumption-fewer-in-more-dimensions"] == "held"
    assert found["subsumption-rectangles-grow"] == "held"
    again = own.measure(points[0], 1)
    assert again["rectangles"] == rows.rows[0]["rectangles"]


def test_a_larger_k_finds_no_less() -> None:
    own = subsumption.WAYS_TO_CHOOSE
    rows = measured(own, [{**point, "count": 120} for point in own.size("small").points])
    beyond = [rows.where(k=k, choose="ratio").mean("beyond") for k in (10, 50, 100)]
    missed = [rows.where(k=k, choose="ratio").mean("missed") for k in (10, 50, 100)]
    assert beyond == sorted(beyond)
    assert missed == sorted(missed, reverse=True)
    assert 0 <= missed[-1] < 0.2


@pytest.mark.slow
def test_diagrams_keep_less_by_covering_and_less_still_by_merging() -> None:
    own = mbd.TABLES
    small = [{**p, "count": 1_500, "distinct": 150, "events": 10} for p in own.size("small").points]
    rows = measured(own, [point for point in small if point["set"] == "A"])
    left = [rows.where(stage=stage).mean("left") for stage in mbd.STAGES[:4]]
    assert left == sorted(left, reverse=True)
    assert left[0] == 1_500
    assert 0.1 < left[1] / left[0] < 0.5
    assert left[3] < left[1]


def test_advertisements_let_more_be_merged() -> None:
    own = mbd.THRESHOLD
    small = [point for point in own.size("small").points if point["count"] == 1_000]
    points = [{**point, "count": 300, "events": 60} for point in small]
    rows = measured(own, points)
    assert own.claims[-1].rule(rows).state == "held"
    assert all(row["left"] <= row["covered"] for row in rows)


def test_one_phase_and_two_keep_the_same() -> None:
    own = mbd_growth.INSERTION
    points = [{**p, "count": 400, "asked": 4} for p in own.size("small").points]
    rows = measured(own, points)
    assert len(set(rows.values("kept"))) == 1
    first, *others = rows.rows
    assert first["at"] == [4, 20, 100, 200, 400]
    assert all(each["diagrams"] == first["diagrams"] for each in others)
    assert first["diagrams"][-1] <= first["kept"]
    assert verdicts(own, rows)["mbd-diagrams-slow-down"] != "not"


def test_pruning_saves_memory_before_it_lets_much_through() -> None:
    own = pruning.BROKER
    points = [{**p, "count": 600, "events": 300, "asked": 2} for p in own.size("small").points]
    rows = measured(own, [point for point in points if point["classes"] in ("1", "3")])
    for row in rows:
        for column in ("removed", "matching"):
            assert row[column] == sorted(row[column])
        assert row["removed"][0] == 0
        assert row["removed"][-1] == 1
        assert 0.3 < row["cutoff"] < 1
        assert 0.4 < row["relief"] < 1


def test_a_line_that_prunes_carries_more_and_delivers_the_same() -> None:
    own = pruning.LINE
    [point] = [p for p in own.size("small").points if p["classes"] == "3"]
    [row] = measured(own, [{**point, "count": 100, "learned": 100, "events": 30}])
    assert row["carried"] == sorted(row["carried"])
    assert row["removed"][-1] == 1


def test_an_update_takes_fewer_messages_than_a_new_subscription() -> None:
    own = parametric.REACTION
    points = [
        {**point, "clients": 10, "lasting": 0.1}
        for point in own.size("small").points
        if (point["workload"], point["index"], point["rate"]) == ("trading", "boxes", 100)
    ]
    rows = measured(own, points)
    ours, theirs = (
        rows.where(strategy=each).mean("messages") for each in ("parametric", "subscribe first")
    )
    assert ours < theirs
    assert all(row["lost"] == 0 for row in rows)


@pytest.mark.slow
def test_counting_tables_get_smaller_beside_simple_ones() -> None:
    own = xnet_routing.TABLES
    points = [{**p, "documents": 1} for p in own.size("small").points if p["population"] != 1_000]
    rows = measured(own, points)
    found = {claim.name: claim for claim in own.claims}
    assert found["xnet-ratio-falls"].rule(rows).state == "held"
    assert found["xnet-at-consumers"].rule(rows).state == "held"
    [plot] = [each for each in own.plots if "Fig. 6.9" in each.title]
    ours, printed_ones = Finding(own, "small", rows).curves(plot)
    entries = {(row["protocol"], row["population"]): row["entries"] for row in rows}
    assert [(each.x, each.mean) for each in ours.points] == [
        (n, entries["XNet", n] / entries["Simple", n]) for n in (100, 300)
    ]
    assert printed_ones.label == ours.label
    assert len(xnet_routing.beside_simple(rows.where(protocol="XNet"))) == 0
    managed = measured(
        xnet_routing.MANAGEMENT, [{"tried": 3, "protocol": "XNet", "population": 50}]
    )
    kinds = [managed.rows[0][kind] for kind in ("duplicate", "supplementary", "new")]
    assert sum(kinds) == pytest.approx(1)


def test_patterns_share_a_tree_and_searches_answer_as_one_by_one() -> None:
    rows = measured(xnet_search.SPACE, [{"patterns": 100}, {"patterns": 400}])
    assert xnet_search.SPACE.claims[0].rule(rows).state in ("held", "partly")
    assert rows.where(patterns=400).mean("tree") < rows.where(patterns=400).mean("nodes")
    point = {"questions": 5, "ellipsis": 0.05, "branching": 0.1, "patterns": 60}
    measured(xnet_search.SEARCH, [point])  # which compares answers itself


@pytest.mark.slow
def test_routers_catch_up_in_a_fraction_of_the_time_they_were_away() -> None:
    grid = [{"router": r, "crash": 60, "population": n} for r in (2, 19) for n in (20, 60)]
    rows = measured(xnet_failures.RECOVERY, grid)
    claims_of = {claim.name: claim for claim in xnet_failures.RECOVERY.claims}
    for name in ("xnet-three-percent", "xnet-few-seconds", "xnet-routers-alike"):
        assert claims_of[name].rule(rows).state == "held"
    with pytest.raises(LookupError, match="several values of crash"):
        claims_of["xnet-recovery-grows"].rule(rows)
    assert all(row["recovery"] == pytest.approx(row["percent"] * 600) for row in rows)
    ways = [*xnet_failures.SCENARIOS, "8 is back after 60 s"]
    lost = measured(
        xnet_failures.FAILOVER, [{"way": w, "population": n} for w in ways for n in (20, 60)]
    )
    assert all(0.1 < row["delay"] < 2 for row in lost)
    assert verdicts(xnet_failures.FAILOVER, lost)["xnet-fig6.22"] in ("held", "partly")


def test_links_are_what_takes_time_across_the_internet() -> None:
    grid = [{"documents": 4, "tried": 4, "population": n} for n in (20, 60)]
    found = verdicts(xnet_failures.NORMAL, measured(xnet_failures.NORMAL, grid))
    assert found["xnet-links-share"] == found["xnet-fig6.19-routing"] == "held"
    assert found["xnet-table6.9"] == "held"


@pytest.mark.slow
def test_covering_forwards_no_event_more_and_is_graded_by_bounds() -> None:
    point: Point = {"workload": "books", "subscriptions": 16, "lasting": 2, "policy": "covering"}
    rows = measured(ratings.COMPARED, [point])
    assert rows.rows[0]["network load"] == 1
    assert 0 <= rows.rows[0]["applicability"] < 1
    every = Rows([{**rows.rows[0], "policy": name} for name in ratings.RATED.values()])
    found = verdicts(ratings.COMPARED, every)
    assert found["pruning-table1-network-load"] == "partly"  # all as good as covering
    grade = ratings.GRADES["memory"]
    assert [grade(each) for each in (0.2, 0.5, 0.9)] == ["poor", "suitable", "excellent"]
    grade = ratings.GRADES["deregistration"]
    assert [grade(each) for each in (2.0, 1.4, 1.0)] == ["poor", "suitable", "excellent"]


def test_graphs_are_measured_on_documents_of_both_sizes_at_each_rho() -> None:
    own = xnet_graphs.GRAPHS
    rows = measured(own, [{"documents": 20, "peers": n, "near": 10} for n in (60, 240)])
    for row in rows:
        for tags in (22, 58):
            for measure in ("vain", "missed"):
                found = [row[f"{measure}_{tags}_{rho}"] for rho in ("never", "half", "always")]
                assert found == sorted(found, reverse=measure == "missed")
                assert all(0 <= each <= 1 for each in found)
        assert 10 <= row["mean"] <= 22  # each link that a peer chose is one of another, too
        assert row["largest"] >= row["mean"]
    titles = [plot.title for plot in own.plots]
    for figure in own.reproduces:
        assert any(figure in title for title in titles), figure
    assert [title for title in titles if "9.12" in title] == [
        "Mean degree (Table 9.4, Fig. 9.12)",
        "Standard deviation of degrees (Table 9.4, Fig. 9.12)",
    ]
    for tags, figures in ((22, ("Fig. 9.8", "Fig. 9.10")), (58, ("Fig. 9.9", "Fig. 9.11"))):
        for figure in figures:
            drawn = [plot for plot in own.plots if figure in plot.title]
            assert all(f"_{tags}_" in column for plot in drawn for column in plot.columns)
            assert {column.split("_")[0] for plot in drawn for column in plot.columns} == {
                "vain",
                "missed",
            }


def test_searches_are_timed_by_both_parameters_in_sets_of_all_sizes() -> None:
    own = xnet_search.INFLUENCE
    points = own.size("paper").points
    for varied, fixed in (("ellipsis", "branching"), ("branching", "ellipsis")):
        largest = [p for p in points if p["patterns"] == 100_000]
        usual = 0.1 if fixed == "branching" else 0.05
        assert {p[varied] for p in largest if p[fixed] == usual} == {0, 0.05, 0.1, 0.15, 0.2}
    for at in ((0.0, 0.0), (0.0, 0.2), (0.2, 0.0), (0.2, 0.2)):
        sizes = [p["patterns"] for p in points if (p["ellipsis"], p["branching"]) == at]
        assert sorted(sizes) == [1_000, 5_000, 20_000, 100_000]
    tiny = [
        {**point, "questions": 2, "patterns": 10 if point["patterns"] == 100 else 20}
        for point in own.size("small").points
    ]
    rows = measured(own, tiny)
    assert all(row[mode] > 0 for row in rows for mode in ("containing", "contained"))
    decided = verdicts(own, rows)  # of so few patterns, whatever they are
    assert set(decided) == {claim.name for claim in own.claims}
    drawn = [Finding(own, "small", rows).curves(plot) for plot in own.plots]
    assert [len(curves) for curves in drawn] == [6, 6, 2, 2]


def test_modes_are_opposite_only_if_they_are_so_at_each_number_of_branches() -> None:
    """Times that are made up: the first mode gets slower by more //, the other one faster."""
    own = next(c for c in xnet_search.INFLUENCE.claims if c.name == "xnet-ellipsis-opposite")
    made = [
        {"patterns": 100, "ellipsis": e, "branching": b, "containing": 1 + e, "contained": 2 - e}
        for e in (0.0, 0.2)
        for b in (0.0, 0.1, 0.2)
    ]
    assert own.rule(Rows(made)).state == "held"
    made[-1] = {**made[-1], "containing": 0.5}
    assert own.rule(Rows(made)).state == "partly"
    larger = {**made[0], "patterns": 200}
    assert own.decided(Rows([*made, larger])) is None
