"""How time and memory grow with size (``make growth``): a table, and docs/growth.png.

Each point is a process of its own, so that its peak memory is its own; what is compiled or imported
is warmed up on a small size before the clock starts. An exponent is the slope of the least-squares
line through the logarithms, over the sizes of a tenth of a millisecond and more.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import log10
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import schedopt
from benchmarks.msfq_replay import log
from benchmarks.tables import Measured, measurement, out, row
from benchmarks.timing import best_of, machine, peak_mb
from schedopt.policies.hesrpt.simulator import hesrpt_times
from schedopt.sweep.sources import generated

PICTURE = Path(__file__).parent.parent / "docs" / "growth.png"
LIMIT = 60.0  # seconds that one point may take; a series ends with the first that takes more
LEAST = 1e-4  # seconds below which a time says more about overheads than about growth
BEND = 0.35  # change of the exponent, from one decade to the next, that is worth a word
FIXED = "a call's own cost up to there"
Work = Callable[[], Any]


class Kind(NamedTuple):
    """A kind of work: its sizes, the unit that they count, and a function that prepares a size."""

    unit: str
    sizes: tuple[int, ...]
    prepare: Callable[[int], Work]
    why: str = FIXED  # why its exponent changes, where it does


class Point(NamedTuple):
    """What one size took: seconds, peak MB beyond those of a small size, whether it was proven."""

    size: int
    seconds: float
    memory: float
    proven: bool


def _generated(problem: str, name: str, **options: Any) -> Any:
    return schedopt.generate(problem, name, seed=1, options=options)


def reading(size: int) -> Work:
    """Read a file of jobs."""
    path = Path(tempfile.mkdtemp()) / "jobs.json"
    schedopt.dump(_generated("dssp", "uncorrelated", jobs=size), path)
    return partial(schedopt.load, path)


def knapsack(size: int) -> Work:
    """Select without side constraints."""
    night = _generated("dssp", "uncorrelated", jobs=size)
    return partial(schedopt.solve, night, solver="core", time_limit=LIMIT)


def shares(size: int) -> Work:
    """Select under the caps of twenty teams."""
    night = _generated("dssp", "uncorrelated", jobs=size, groups=20)
    rule = schedopt.FairShare(by="team", at_most={f"team-{i:02}": 0.03 for i in range(1, 11)})
    return partial(schedopt.solve, night, constraints=[rule], time_limit=LIMIT)


def dispatch(size: int) -> Work:
    """Dispatch tasks, the longest critical path first."""
    one = _generated("dssp", "render-night")
    per_night = sum(len(stage) for job in one.jobs for stage in job.stages)
    nights = max(1, round(size / per_night))
    night = one if nights == 1 else _generated("dssp", "render-night", nights=nights)
    return partial(schedopt.evaluate, night, "lcpf")


def simulation(size: int) -> Work:
    """Simulate arrivals at a queue, each job's time kept."""
    queue = schedopt.example("one-or-all")
    return partial(schedopt.evaluate, queue, "msfq", options={"arrivals": size})


def replay(size: int) -> Work:
    """Replay a log under EASY."""
    return partial(schedopt.evaluate, log(size), "easy", options={"estimates": "exact"})


def closed_form(size: int) -> Work:
    """Find heSRPT's completion times in closed form; its shares in every epoch are n^2 numbers."""
    jobs = _generated("hesrpt", "pareto", jobs=size)
    return partial(hesrpt_times, jobs.sizes, 0.5, 1e6)


def orders(size: int) -> Work:
    """Certify an allocation over all completion orders, each job with a speedup of its own."""
    jobs = _generated("hesrpt", "mixed", jobs=size)
    return partial(schedopt.solve, jobs, time_limit=LIMIT)


def partition(size: int) -> Work:
    """Pack jobs into epochs."""
    jobs = _generated("epoch", "uniform", jobs=size, load=max(1.0, size / 8))
    return partial(schedopt.solve, jobs, time_limit=LIMIT)


def rows(size: int) -> Work:
    """Compare two selectors with the optimum on small instances."""
    made = generated("dssp", "uncorrelated", seeds=range(size), options={"jobs": 30})
    return partial(schedopt.bench, generated=made, policies=["greedy", "greedy-half"])


ORDERS = "a search: how long it takes depends on the draw too"
PACKING = "nothing has to be searched of small draws, and packings of large ones"
KINDS = {
    "reading": Kind("jobs", (10**2, 10**3, 10**4, 10**5, 10**6), reading),
    "knapsack": Kind("jobs", (10**2, 10**3, 10**4, 10**5, 10**6), knapsack),
    "fair shares": Kind("jobs", (10**2, 10**3, 10**4, 10**5), shares),
    "dispatch": Kind("tasks", (4 * 10**3, 4 * 10**4, 4 * 10**5, 4 * 10**6), dispatch),
    "simulation": Kind("arrivals", (10**4, 10**5, 10**6, 10**7, 10**8), simulation),
    "replay": Kind("jobs", (10**3, 10**4, 10**5, 10**6), replay),
    "closed form": Kind("jobs", (10**2, 10**3, 10**4, 10**5, 10**6), closed_form),
    "all orders": Kind("jobs", (2, 4, 6, 8, 10, 12), orders, ORDERS),
    "partition": Kind("jobs", (10, 30, 100, 300, 1000, 3000), partition, PACKING),
    "bench rows": Kind("instances", (10, 100, 1000, 10_000), rows),
}


def measure(kind: Kind, size: int) -> Point:
    """Measure one size in this process: the least of three times, of one where it takes long."""
    kind.prepare(kind.sizes[0])()
    work = kind.prepare(size)
    before = peak_mb()
    seconds, done = best_of(1, work)
    if seconds < 2.5:
        seconds = min(seconds, best_of(2, work)[0])
    proven = getattr(done, "proven", True) or getattr(done, "policy", None) is not None
    return Point(size, seconds, max(0.0, peak_mb() - before), bool(proven))


def series(name: str, largest: int) -> list[Point]:
    """Measure the sizes of a kind, each in a process of its own, until one takes too long."""
    found: list[Point] = []
    for size in KINDS[name].sizes:
        if size > largest:
            break
        command = [sys.executable, "-m", "benchmarks.growth", name, str(size)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        point = Point(*json.loads(done.stdout.splitlines()[-1]))
        found.append(point)
        if point.seconds > LIMIT / 4 or not point.proven:
            break
    return found


def exponent(points: list[Point]) -> float | None:
    """Return the slope of log(time) over log(size); None of fewer than two points."""
    kept = [p for p in points if p.seconds >= LEAST]
    if len(kept) < 2:
        return None
    x, y = np.log10([p.size for p in kept]), np.log10([p.seconds for p in kept])
    return float(np.polyfit(x, y, 1)[0])


def bend(points: list[Point]) -> str:
    """Say where the exponent changes most from one step to the next, if by much."""
    kept = [p for p in points if p.seconds >= LEAST]
    slopes = [
        (b.size, log10(b.seconds / a.seconds) / log10(b.size / a.size)) for a, b in pairwise(kept)
    ]
    turns = [
        (abs(after - before), at, before, after) for (at, before), (_, after) in pairwise(slopes)
    ]
    change, at, before, after = max(turns, default=(0.0, 0, 0.0, 0.0))
    return f"at {at:,}: {before:.1f} to {after:.1f}" if change > BEND else ""


def draw(found: dict[str, list[Point]]) -> None:
    """Draw time and memory over size."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
    for name, points in found.items():
        slope = exponent(points)
        label = name if slope is None else f"{name}: {slope:.2f}"
        sizes = [p.size for p in points]
        (line,) = left.plot(sizes, [p.seconds for p in points], marker="o", ms=3, label=label)
        right.plot(sizes, [max(p.memory, 0.1) for p in points], marker="o", ms=3, c=line.get_c())
        for p in points:
            if not p.proven:
                left.plot(p.size, p.seconds, "x", ms=9, c=line.get_c())
    for axes, label in ((left, "seconds"), (right, "peak memory, MB beyond a small size's")):
        axes.set(xscale="log", yscale="log", xlabel="size", ylabel=label)
        axes.grid(alpha=0.3)
    figure.legend(title="work: exponent\n(x: not proven)", fontsize="small", loc="outside right")
    figure.savefig(PICTURE, dpi=90, pil_kwargs={"optimize": True})


@measurement
def growth(largest: int = 10**9) -> Measured:
    """Measure every kind of work, print the table, and draw."""
    yield "growth"
    found: dict[str, list[Point]] = {}
    for name, kind in KINDS.items():
        points = series(name, largest)
        if not points:  # all of its sizes are larger
            continue
        found[name] = points
        last, slope, turn = points[-1], exponent(points), bend(points)
        beside = {
            "largest": f"{last.size:,} {kind.unit}" + ("" if last.proven else " (not proven)"),
            "MB": last.memory,
            "exponent": "" if slope is None else f"{slope:.2f}",
            "bend": turn,
            "why": kind.why if turn else "",
        }
        yield row(name, last.seconds, "s", **beside)
    draw(found)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [name, size]:
            print(json.dumps(measure(KINDS[name], int(size))))
        case sizes:
            out.print(machine("highspy", "ortools", "numba"), highlight=False)
            growth(*(int(float(largest)) for largest in sizes))
            out.print(f"drawn: {PICTURE.name}", highlight=False)
