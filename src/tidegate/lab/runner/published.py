"""How do rows leave a machine, and how are they taken up again?

A report keeps the rows behind its figures beside them: `rows/EXPERIMENT-SCALE.jsonl`, a line of
JSON for each point and seed, sorted, so that two versions of a file can be compared. Whoever adopts
such a folder goes on with the run that made it, on another machine or another day: the rows are put
among those of a run, and only what is missing is computed.

Invariant: a row that is there is never replaced by one that was published.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from tidegate.errors import LabError
from tidegate.lab.experiments.experiment import BESIDE, Experiment
from tidegate.lab.runner.results import Results

_ENDING: Final = ".jsonl"


def publish(rows: Iterable[tuple[Experiment, str]], results: Results, folder: Path) -> None:
    """Write the rows of experiments at their scales, a file for each."""
    folder.mkdir(parents=True, exist_ok=True)
    for experiment, scale in rows:
        lines = sorted(
            json.dumps(dict(row), ensure_ascii=False)
            for row in results.rows(experiment.name, scale)
        )
        file = folder / f"{experiment.name}-{scale}{_ENDING}"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def adopt(folder: Path, results: Results, experiments: Iterable[Experiment]) -> tuple[int, int]:
    """Put published rows among those of a run; how many are new, and how many were there.

    A row of an experiment or a scale that there is no more is refused.
    """
    files = sorted(folder.glob(f"*{_ENDING}"))
    if not files:
        raise LabError(
            f"there are no published rows in {folder}; tidegate lab report writes them "
            "into results/rows"
        )
    known = {
        f"{experiment.name}-{scale}": (experiment, scale)
        for experiment in experiments
        for scale in experiment.sizes
    }
    results.require_room()
    new = before = 0
    for file in files:
        if file.stem not in known:
            raise LabError(f"{file}: there is no experiment and scale {file.stem}")
        experiment, scale = known[file.stem]
        parameters = list(experiment.size(scale).points[0])
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            row = _row(line, f"{file}, line {number}", (*parameters, *BESIDE))
            point = {name: row[name] for name in parameters}
            path = results.path(experiment.name, scale, point, row["seed"])
            if path.exists():
                before += 1
            else:
                results.write(path, row)
                new += 1
    return new, before


def _row(line: str, where: str, needed: Iterable[str]) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise LabError(f"{where} is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise LabError(f"{where} is not a row of the lab: {line[:60]}")
    lacking = sorted(set(needed) - set(row))
    if lacking:
        raise LabError(f"{where} is not a row of this experiment: it has no {lacking[0]}")
    return row
