"""Does the runner work here?

Points that cost some CPU time and need nothing: to try a cluster, to see how a grid spreads over
executors, and for the tests of the runner. It reproduces nothing.
"""

from math import isqrt

from tidegate.lab.experiments.experiment import (
    Claim,
    Experiment,
    Plot,
    Point,
    Row,
    Size,
    Verdict,
    grid,
)
from tidegate.lab.experiments.rows import Rows
from tidegate.lab.stopwatch import timed


def primes(point: Point, seed: int) -> Row:
    """Count primes from a number on, one division after the other."""
    start, count = int(point["start"]), int(point["count"])
    if start < 2:
        raise ValueError(f"primes begin at 2, not at {start}")
    with timed() as watch:
        found = sum(_prime(number) for number in range(start + seed, start + seed + count))
    return {"primes": found, "cpu": watch.seconds}


def _prime(number: int) -> bool:
    return all(number % divisor for divisor in range(2, isqrt(number) + 1))


def _thin_out(rows: Rows) -> Verdict:
    curve = [each.mean for each in rows.curve("start", "primes")]
    fewer = curve[-1] < curve[0]
    return Verdict("held" if fewer else "not", f"{curve[0]:.0f} of them, then {curve[-1]:.0f}")


REHEARSAL = Experiment(
    "rehearsal",
    "none",
    "Counts primes: to try a cluster, and how a grid spreads over its executors.",
    (),
    primes,
    {
        "small": Size(grid(start=range(1_000, 9_000, 1_000), count=[500])),
        "paper": Size(grid(start=range(1_000_000, 3_000_000, 10_000), count=[20_000])),
    },
    frozenset({"cpu"}),
    (Plot("Primes thin out", "start", ("primes",), "start", "primes"),),
    (Claim("rehearsal-primes", _thin_out),),
)
