"""How time and memory grow with size (``make growth``): a table, and docs/growth.png.

Each point is a process of its own, so that its peak memory is its own; what is compiled or imported
is warmed up on a small size before the clock starts. An exponent is the slope of the least-squares
line through the logarithms, over the sizes of a tenth of a millisecond and more; it bends where it
changes most from one step to the next.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import schedopt
from benchmarks.msfq import log
from benchmarks.tables import Measured, best_of, machine, measurement, out, peak_mb, row
from schedopt.policies.hesrpt.simulator import hesrpt_times
from schedopt.sweep.sources import generated_sources

PICTURE = Path(__file__).parent.parent / "docs" / "growth.png"
LIMIT = 60.0  # seconds that one point may take; a series ends with the first that takes more
LEAST = 1e-4  # seconds below which a time says more about overheads than about growth
BEND = 0.35  # change of the exponent, from one decade to the next, that is worth a word
Work = Callable[[], Any]
solved = partial(partial, schedopt.solve, time_limit=LIMIT)


class Kind(NamedTuple):
    """A kind of work: its sizes, the unit that they count, and a function that prepares a size."""

    unit: str
    sizes: tuple[int, ...]
    prepare: Callable[[int], Work]


class Point(NamedTuple):
    """What one size took: seconds, peak MB beyond those of a small size, whether it was proven."""

    size: int
    seconds: float
    memory: float
    proven: bool


def draw_instance(problem: str, generator: str, **options: Any) -> Any:
    """Return a random instance."""
    return schedopt.generate(problem, generator, seed=1, options=options)


def reading(size: int) -> Work:
    """Read a file of jobs."""
    path = Path(tempfile.mkdtemp()) / "jobs.json"
    schedopt.dump(draw_instance("dssp", "uncorrelated", jobs=size), path)
    return partial(schedopt.load, path)


def shares(size: int) -> Work:
    """Select jobs of 20 teams: ten with a cap, two with a floor."""
    night = draw_instance("dssp", "uncorrelated", jobs=size, groups=20)
    names = sorted(night.groups["team"])
    caps, floors = dict.fromkeys(names[:10], 0.03), dict.fromkeys(names[10:12], 0.06)
    rule = schedopt.FairShare(by="team", at_most=caps, at_least=floors)
    return solved(night, constraints=[rule])


def dispatch(size: int) -> Work:
    """Dispatch tasks: those of as many nights as there must be."""
    nights = max(1, round(size / 4300))
    season = draw_instance("dssp", "render-night", nights=nights, processors=1000)
    return partial(schedopt.evaluate, season, "lcpf")


def simulation(size: int) -> Work:
    """Simulate arrivals at a queue, each job's time kept."""
    queue = schedopt.example("one-or-all")
    return partial(schedopt.evaluate, queue, "msfq", options={"arrivals": size})


def partition(size: int) -> Work:
    """Pack jobs into epochs."""
    return solved(draw_instance("epoch", "uniform", jobs=size, load=max(1.0, size / 8)))


def rows(size: int) -> Work:
    """Compare two selectors with the optimum on small instances."""
    sources = generated_sources("dssp", "uncorrelated", seeds=range(size), options={"jobs": 30})
    return partial(schedopt.bench, generated=sources, policies=["greedy", "greedy-half"])


JOBS = (10**3, 10**4, 10**5, 10**6)
KINDS = {
    "reading": Kind("jobs", (100, *JOBS), reading),
    "knapsack": Kind(
        "jobs",
        (100, *JOBS),
        lambda size: solved(draw_instance("dssp", "uncorrelated", jobs=size), solver="knapsack"),
    ),
    "fair shares": Kind("jobs", (100, *JOBS), shares),
    "dispatch": Kind("tasks", (4 * 10**3, 4 * 10**4, 4 * 10**5, 4 * 10**6), dispatch),
    "simulation": Kind("arrivals", (10**4, 10**5, 10**6, 10**7, 10**8), simulation),
    "replay": Kind(
        "jobs",
        JOBS,
        lambda size: partial(schedopt.evaluate, log(size), "easy", options={"estimates": "exact"}),
    ),
    "closed form": Kind(
        "jobs",
        (100, *JOBS),
        lambda size: partial(
            hesrpt_times, draw_instance("hesrpt", "pareto", jobs=size).sizes, 0.5, 1e6
        ),
    ),
    "all orders": Kind(
        "jobs",
        (2, 4, 6, 8, 10, 12),
        lambda size: solved(draw_instance("hesrpt", "mixed", jobs=size)),
    ),
    "partition": Kind("jobs", (10, 30, 100, 300, 1000, 3000), partition),
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
    points: list[Point] = []
    for size in KINDS[name].sizes:
        if size > largest:
            break
        command = [sys.executable, "-m", "benchmarks.growth", name, str(size)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        point = Point(*json.loads(done.stdout.splitlines()[-1]))
        points.append(point)
        if point.seconds > LIMIT / 4 or not point.proven:
            break
    return points


def exponent(points: list[Point]) -> tuple[str, str]:
    """Return the slope of log(time) over log(size), and where it changes by much."""
    kept = [point for point in points if point.seconds >= LEAST]
    if len(kept) < 2:
        return "", ""
    x, y = np.log10([p.size for p in kept]), np.log10([p.seconds for p in kept])
    steps = [*zip(kept[1:], (np.diff(y) / np.diff(x)).tolist(), strict=True)]
    turns = [(abs(b - a), at.size, a, b) for (at, a), (_, b) in pairwise(steps)]
    change, size, before, after = max(turns, default=(0.0, 0, 0.0, 0.0))
    bend = f"at {size:,}: {before:.1f} to {after:.1f}" if change > BEND else ""
    return f"{np.polyfit(x, y, 1)[0]:.2f}", bend


def draw(found: dict[str, list[Point]]) -> None:
    """Draw time and memory over size."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
    for name, points in found.items():
        label = f"{name}: {exponent(points)[0]}".removesuffix(": ")
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
    curves = {name: points for name in KINDS if (points := series(name, largest))}
    for name, points in curves.items():
        last, (slope, bend) = points[-1], exponent(points)
        size = f"{last.size:,} {KINDS[name].unit}" + ("" if last.proven else " (not proven)")
        beside = {"largest": size, "MB": last.memory, "exponent": slope, "bend": bend}
        yield row(name, last.seconds, "s", **beside)
    draw(curves)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [name, size]:
            print(json.dumps(measure(KINDS[name], int(size))))
        case sizes:
            out.print(machine("highspy", "ortools", "numba"), highlight=False)
            growth(*(int(float(largest)) for largest in sizes))
            out.print(f"drawn: {PICTURE.name}", highlight=False)
