"""Figure 6 of the queueing paper with 10^9 arrivals at each point, in pieces.

``python -m benchmarks.borg [--jobs N] [--file FILE]``: each policy at each rate is a line of a file
(build/figure-6.jsonl), written as it is done; run again, it goes on where it stopped. Once all are
there they are judged, and build/figure-6.json is what ``schedopt reproduce --json`` would say, for
``python -m benchmarks.reproduction --results``. (``make borg`` does both.)
"""

import os
import sys
from functools import partial
from itertools import product
from pathlib import Path

import msgspec
import typer

from benchmarks.tables import Measured, measurement, resumed, row
from benchmarks.timing import best_of
from schedopt.formats import duration, number
from schedopt.instances.files import write_bytes
from schedopt.instances.msfq import Simulated
from schedopt.terminal.progress import bar
from schedopt.validation.reproduce.ledger import ledger
from schedopt.validation.reproduce.msfq_figures import (
    BORG_ARRIVALS,
    BORG_RATES,
    COMPARED,
    borg_point,
    figure_6_of,
)
from schedopt.verbs.reproduce import told

Key = tuple[float, str, int]


class Point(msgspec.Struct, frozen=True):
    """A policy at a rate, and in how many seconds it was simulated."""

    rate: float
    label: str
    arrivals: int
    seconds: float
    found: Simulated

    @property
    def key(self) -> Key:
        """Which point it is."""
        return self.rate, self.label, self.arrivals


def simulate(file: Path, arrivals: int, jobs: int) -> dict[Key, Point]:
    """Simulate what a file does not hold yet of so many arrivals, and add it."""
    todo = [(rate, label, arrivals) for rate, label in product(BORG_RATES, COMPARED)]
    points = resumed(file, Point, lambda point: point.key, todo, partial(_simulated, jobs))
    return {key: points[key] for key in todo}


def _simulated(jobs: int, key: Key) -> Point:
    rate, label, arrivals = key
    with bar("arrivals") as watch:
        work = partial(borg_point, rate, label, arrivals=arrivals, jobs=jobs, watch=watch)
        seconds, found = best_of(1, work)
    return Point(rate, label, arrivals, seconds, found)


@measurement
def figure_6(points: dict[Key, Point], arrivals: int) -> Measured:
    """Print every point."""
    seconds = sum(point.seconds for point in points.values())
    yield f"(figure 6) {arrivals:,} arrivals, {len(points)} points in {duration(seconds)}"
    for rate in BORG_RATES:
        shown = {}
        for label in COMPARED:
            found = points[rate, label, arrivals].found
            sure = f" ± {number(found.confidence)}" if found.confidence else ""
            shown[label] = f"{number(found.weighted_response_time)}{sure}"
        yield row(f"rate {rate:g}", **shown)


def main(
    file: Path = Path("build/figure-6.jsonl"),
    arrivals: float = BORG_ARRIVALS,
    jobs: int = os.cpu_count() or 1,
) -> None:
    """Simulate what is missing, print the points, and write what the ledger says of them."""
    count = int(arrivals)
    try:
        points = simulate(file, count, jobs)
    except KeyboardInterrupt:
        sys.exit(f"interrupted; run it again to go on, {file} keeps what is done")
    figure_6(points, count)
    rates = {
        rate: {label: points[rate, label, count].found for label in COMPARED} for rate in BORG_RATES
    }
    seconds = sum(point.seconds for point in points.values())
    entry = told(ledger()["msfq/figure-6"], figure_6_of(rates), quick=False, seconds=seconds)
    write_bytes(file.with_suffix(".json"), msgspec.json.encode([entry]))


if __name__ == "__main__":
    typer.run(main)
