"""Figure 6 of the queueing paper with 10^9 arrivals at each point, in pieces.

``python -m benchmarks.borg [--jobs N] [--file FILE]``: each policy at each rate is a line of a file
(build/figure-6.jsonl), written as it is done; run again, it goes on where it stopped. Once all are
there they are judged, and build/figure-6.json is what ``schedopt reproduce --json`` would say, for
``python -m benchmarks.reproduction --results``. (``make borg`` does both.)
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from itertools import product
from pathlib import Path

import msgspec
from rich.table import Table

from benchmarks.timing import machine, out
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


class Point(msgspec.Struct, frozen=True):
    """A policy at a rate, and in how many seconds it was simulated."""

    rate: float
    label: str
    arrivals: int
    seconds: float
    found: Simulated


def kept(file: Path, arrivals: int) -> dict[tuple[float, str], Point]:
    """Return what a file holds of so many arrivals; a last line cut short counts for nothing."""
    found: dict[tuple[float, str], Point] = {}
    for line in file.read_bytes().splitlines() if file.exists() else ():
        try:
            point = msgspec.json.decode(line, type=Point)
        except msgspec.DecodeError:
            continue
        if point.arrivals == arrivals:
            found[point.rate, point.label] = point
    return found


def simulate(file: Path, arrivals: int, jobs: int) -> dict[tuple[float, str], Point]:
    """Simulate what a file does not hold yet, and add it."""
    found = kept(file, arrivals)
    for rate, label in product(BORG_RATES, COMPARED):
        if (rate, label) in found:
            continue
        began = time.perf_counter()
        with bar("arrivals") as watch:
            result = borg_point(rate, label, arrivals=arrivals, jobs=jobs, watch=watch)
        point = Point(rate, label, arrivals, time.perf_counter() - began, result)
        with file.open("ab") as lines:
            lines.write(msgspec.json.encode(point) + b"\n")
        found[rate, label] = point
        out.print(f"rate {rate:g}, {label}: {duration(point.seconds)}", highlight=False)
    return found


def main() -> None:
    """Simulate what is missing, print the points, and write what the ledger says of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, default=Path("build/figure-6.jsonl"))
    parser.add_argument("--arrivals", type=lambda text: int(float(text)), default=BORG_ARRIVALS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    given.file.parent.mkdir(parents=True, exist_ok=True)
    try:
        points = simulate(given.file, given.arrivals, given.jobs)
    except KeyboardInterrupt:
        sys.exit(f"interrupted; run it again to go on, {given.file} keeps what is done")
    spent = sum(point.seconds for point in points.values())
    table = Table(
        "rate",
        *COMPARED,
        title=f"(figure 6) {given.arrivals:,} arrivals",
        title_justify="left",
    )
    for rate in BORG_RATES:
        cells = [points[rate, label].found for label in COMPARED]
        table.add_row(f"{rate:g}", *(_shown(found) for found in cells))
    out.print(machine("numba"), highlight=False)
    out.print(table)
    out.print(f"{len(points)} points in {duration(spent)}", highlight=False)
    outcome = figure_6_of(
        {rate: {label: points[rate, label].found for label in COMPARED} for rate in BORG_RATES}
    )
    entry = told(ledger()["msfq/figure-6"], outcome, quick=False, seconds=spent)
    write_bytes(given.file.with_suffix(".json"), msgspec.json.encode([entry]))


def _shown(found: Simulated) -> str:
    sure = f" ± {number(found.confidence)}" if found.confidence else ""
    return f"{number(found.weighted_response_time)}{sure}"


if __name__ == "__main__":
    main()
