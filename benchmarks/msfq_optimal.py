"""The optimal policy of the paper's setting: between which bounds, how soon, how far others are.

``python -m benchmarks.msfq_optimal`` takes k = 4, 8, 16 and 32 servers at six loads, nine jobs in
ten small, for a minute each at most: 25 minutes in all at most. ``--servers`` and ``--loads`` take
fewer cells, ``--weighted`` the weighted response time, and ``--rows FILE`` keeps the cells that are
done, and takes them from there the next time.

How far a policy is from the optimum is told against the upper end of the optimum's interval. MSFQ
with its best threshold, MSF and FCFS are exact; First-Fit and Adaptive Quickswap are played, and
what is said of them holds to within the half-width of their 95% intervals.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import msgspec
from rich.table import Table

import schedopt
from benchmarks.timing import out, verdict
from schedopt.instances.msfq import Instance, JobClass

SERVERS = (4, 8, 16, 32)
LOADS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
SMALL = 0.9
"""The part of the jobs that needs one server."""
NEAR = 1e-4
"""The relative gap that is asked for."""
ARRIVALS = 2_000_000
PLAYED = ("first-fit", "adaptive-quickswap")


class Cell(msgspec.Struct, frozen=True):
    """What one number of servers and load gave.

    Attributes
    ----------
    key : tuple
        Servers, load, objective and time limit.
    least, most : float
        The optimum's interval.
    seconds, work : float
        By the clock, and of the processor.
    others : dict
        What policies get, and the half-widths of their intervals (0 where they are exact).
    """

    key: tuple[int, float, str, float]
    least: float
    most: float
    seconds: float
    work: float
    others: dict[str, tuple[float, float]]

    @property
    def gap(self) -> float:
        """The interval's relative length."""
        return (self.most - self.least) / self.most


def system(k: int, load: float, objective: str) -> Instance:
    """Return a one-or-all system of unit sizes."""
    rate = load / (SMALL / k + 1.0 - SMALL)
    small = JobClass(need=1, arrival_rate=SMALL * rate, service_rate=1)
    large = JobClass(need=k, arrival_rate=(1.0 - SMALL) * rate, service_rate=1)
    return Instance(
        name=f"k={k} load={load}",
        servers=k,
        classes=(small, large),
        objective="weighted" if objective == "weighted" else "mean",
    )


def measured(k: int, load: float, objective: str, limit: float) -> Cell:
    """Bound the optimum of one system, and evaluate the other policies on it."""
    queue = system(k, load, objective)
    began, worked = time.perf_counter(), time.process_time()
    found = schedopt.solve(queue, formulation="optimal-policy", gap=NEAR, time_limit=limit)
    seconds, work = time.perf_counter() - began, time.process_time() - worked
    assert found.objective is not None  # noqa: S101  there is always a threshold
    assert found.bound is not None  # noqa: S101  and what service takes
    thresholds = schedopt.solve(queue)
    others = {
        "msfq": (min(thresholds.solution.curve), 0.0),
        "msf": (thresholds.solution.curve[0], 0.0),
    }
    fcfs = schedopt.evaluate(queue, "fcfs", options={"times": "exact"})
    if fcfs.objective is not None:
        others["fcfs"] = fcfs.objective, 0.0
    for name in PLAYED:
        played = schedopt.evaluate(queue, name, options={"arrivals": ARRIVALS})
        if played.objective is not None and played.confidence is not None:
            others[name] = played.objective, played.confidence
    key = k, load, objective, limit
    return Cell(key, found.bound, found.objective, seconds, work, others)


def above(cell: Cell, name: str) -> str:
    """Return how far a policy is above the optimum, in percent."""
    if name not in cell.others:
        return "unstable"
    value, half = cell.others[name]
    told = f"{100.0 * (value / cell.most - 1.0):.1f}%"
    return f"{told} ± {100.0 * half / cell.most:.1f}" if half else told


def main() -> None:
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("--limit", type=float, default=60.0, help="seconds for an optimum")
    words.add_argument("--servers", type=int, nargs="+", default=SERVERS)
    words.add_argument("--loads", type=float, nargs="+", default=LOADS)
    words.add_argument("--weighted", action="store_true")
    words.add_argument("--rows", type=Path, help="where cells are kept, a line each")
    given = words.parse_args()
    objective = "weighted" if given.weighted else "mean"
    kept: dict[tuple[int, float, str, float], Cell] = {}
    if given.rows and given.rows.exists():
        lines = given.rows.read_bytes().splitlines()
        kept = {cell.key: cell for cell in (msgspec.json.decode(line, type=Cell) for line in lines)}
    began, cells = time.perf_counter(), []
    for k in given.servers:
        for load in given.loads:
            cell = kept.get((k, load, objective, given.limit))
            if cell is None:
                cell = measured(k, load, objective, given.limit)
                if given.rows:
                    with given.rows.open("ab") as file:
                        file.write(msgspec.json.encode(cell) + b"\n")
            cells.append(cell)
            out.print(
                f"k={k} load {load}: {cell.least:.6g} to {cell.most:.6g}, gap {cell.gap:.1e}, "
                f"{cell.seconds:.1f} s, {cell.work:.1f} s of processor time"
            )
    table = Table("servers", "load", "optimum", "gap", "seconds", "MSFQ, best l", "MSF",
                  "FCFS", "First-Fit", "Adaptive Quickswap",
                  title=f"The optimal policy, {objective} response time, p1 = {SMALL}: how far "
                  "others are above it", title_justify="left")  # fmt: skip
    for cell in cells:
        k, load, _, _ = cell.key
        table.add_row(
            str(k), str(load), f"{cell.least:.5g} to {cell.most:.5g}", f"{cell.gap:.1e}",
            f"{cell.seconds:.1f}",
            *(above(cell, name) for name in ("msfq", "msf", "fcfs", *PLAYED)),
        )  # fmt: skip
    out.print(table)
    near = [cell for cell in cells if cell.gap <= NEAR]
    verdict(
        len(near) == len(cells),
        f"within {NEAR:g} in {given.limit:g} s: {len(near)} of {len(cells)} "
        f"({time.perf_counter() - began:.0f} s)",
    )


if __name__ == "__main__":
    main()
