"""The optimal policy of the paper's setting: between which bounds, how soon, how far others are.

``python -m benchmarks.msfq_optimal`` takes k = 4, 8, 16 and 32 servers at six loads, nine jobs in
ten small, for a minute each at most: 25 minutes in all at most. ``--servers 4,8`` and ``--loads``
take fewer cells, ``--weighted`` the weighted response time, and ``--rows FILE`` keeps the cells
that are done, and takes them from there the next time.

How far a policy is from the optimum is told against the upper end of the optimum's interval. MSFQ
with its best threshold, MSF and FCFS are exact; the others are played, and
what is said of them holds to within the half-width of their 95% intervals.
"""

import time
from functools import partial
from itertools import product
from pathlib import Path

import msgspec
import typer

import schedopt
from benchmarks.msfq import at_load
from benchmarks.tables import Measured, all_of, measurement, out, resumed, row
from benchmarks.timing import best_of, spent

SMALL = 0.9  # the part of the jobs that needs one server
NEAR = 1e-4  # the relative gap that is asked for
ARRIVALS = 2_000_000
PLAYED = {
    "first-fit": ARRIVALS,
    "adaptive-quickswap": ARRIVALS,
    "smash": 200_000,
    "kill-smart": 200_000,
    "dual-kill": 200_000,
}
"""Policies that are played, and with how many arrivals: fewer of those in plain Python."""

Key = tuple[int, float, str, float]  # servers, load, objective and time limit


class Cell(msgspec.Struct, frozen=True):
    """The optimum's interval of a system, and policies' means with their half-widths."""

    key: Key
    least: float
    most: float
    seconds: float  # by the clock, for the optimum
    work: float  # of the processor, likewise
    others: dict[str, tuple[float, float]]

    @property
    def gap(self) -> float:
        """The interval's relative length."""
        return (self.most - self.least) / self.most

    def above(self, name: str) -> str:
        """Return how far a policy is above the optimum, in percent."""
        if name not in self.others:
            return "unstable"
        value, half = self.others[name]
        told = f"{100.0 * (value / self.most - 1.0):.1f}%"
        return f"{told} ± {100.0 * half / self.most:.1f}" if half else told


def measured(key: Key) -> Cell:
    """Bound the optimum of one system, and evaluate the other policies on it."""
    k, load, objective, limit = key
    queue = at_load(k, {1: SMALL, k: 1.0 - SMALL}, load, objective=objective)
    solve = partial(schedopt.solve, queue, formulation="optimal-policy", gap=NEAR, time_limit=limit)
    work, (seconds, best) = spent(partial(best_of, 1, solve))
    assert best.objective is not None  # noqa: S101  there is always a threshold
    assert best.bound is not None  # noqa: S101  and what service takes
    curve = schedopt.solve(queue).solution.curve
    others = {"msfq": (min(curve), 0.0), "msf": (curve[0], 0.0)}
    fcfs = schedopt.evaluate(queue, "fcfs", options={"times": "exact"})
    if fcfs.objective is not None:
        others["fcfs"] = fcfs.objective, 0.0
    for name, arrivals in PLAYED.items():
        played = schedopt.evaluate(queue, name, options={"arrivals": arrivals})
        if played.objective is not None and played.confidence is not None:
            others[name] = played.objective, played.confidence
    cell = Cell(key, best.bound, best.objective, seconds, work, others)
    out.print(f"k={k} load {load}: gap {cell.gap:.1e}, {seconds:.1f} s, {work:.1f} s of processor")
    return cell


@measurement
def optimal(keys: list[Key], rows: Path | None) -> Measured:
    """Print the optimum's interval of each cell, and how far others are above it."""
    began = time.perf_counter()
    cells = resumed(rows, Cell, lambda cell: cell.key, keys, measured)
    _, _, objective, limit = keys[0]
    yield (
        f"The optimal policy, {objective} response time, p1 = {SMALL}: how far others are above it "
        f"({time.perf_counter() - began:.0f} s)"
    )
    for key in keys:
        cell = cells[key]
        beside = {"gap": f"{cell.gap:.1e}", "seconds": f"{cell.seconds:.1f}"}
        beside |= {name: cell.above(name) for name in ("msfq", "msf", "fcfs", *PLAYED)}
        yield row(f"k = {key[0]}, load {key[1]}", f"{cell.least:.5g} to {cell.most:.5g}", **beside)
    near = sum(cells[key].gap <= NEAR for key in keys)
    yield all_of(f"within {NEAR:g} in {limit:g} s", near, len(keys))


def main(
    limit: float = 60.0,
    servers: str = "4,8,16,32",
    loads: str = "0.5,0.6,0.7,0.8,0.9,0.95",
    weighted: bool = False,
    rows: Path | None = None,
) -> None:
    """Print the table; the limit is the seconds for an optimum."""
    objective = "weighted" if weighted else "mean"
    cells = product(map(int, servers.split(",")), map(float, loads.split(",")))
    optimal([(k, load, objective, limit) for k, load in cells], rows)


if __name__ == "__main__":
    typer.run(main)
