"""Windows of logs: of how many is the best schedule proven, and how soon.

``python -m benchmarks.msfq_windows --windows 1000 --limit 60`` takes that many windows of 40 jobs,
as many from each log and evenly over its rows, from the logs of the Parallel Workloads Archive that
lie beside the project, or from those that are named. ``--by-rows`` takes them evenly over the rows
of all logs together. ``--part 2/25`` takes every 25th of them, from the second on: a sample, or a
share of the work. ``--output FILE`` keeps a line of JSON for each window; what is there already,
with the same limit, is not solved again, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import NamedTuple

import schedopt
from benchmarks.msfq_logs import LOGS
from schedopt.formulations.msfq import Window
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.log_converters import convert

COUNT = 40
TARGET = 0.9


class Measured(NamedTuple):
    """What came of a window: seconds by clock, and of processor time."""

    log: str
    first: int
    limit: float
    proven: bool
    gap: float
    seconds: float
    work: float


def places(queues: list[Instance], windows: int, *, by_rows: bool) -> list[tuple[Instance, int]]:
    """Return so many windows, evenly over the rows of each log or of all: log and first row."""
    rows = [max(0, len(queue.jobs) - COUNT) + 1 for queue in queues]
    found = []
    if not by_rows:
        for i, (queue, size) in enumerate(zip(queues, rows, strict=True)):
            many = windows * (i + 1) // len(queues) - windows * i // len(queues)
            found += [(queue, number * size // many) for number in range(many)]
        return found
    for number in range(windows):
        row = number * sum(rows) // windows
        for queue, size in zip(queues, rows, strict=True):
            if row < size:
                found.append((queue, row))
                break
            row -= size
    return found


def measured(queue: Instance, first: int, limit: float) -> Measured:
    """Solve a window."""
    began, worked = time.perf_counter(), time.process_time()
    model = Window(queue, first=first, count=min(COUNT, len(queue.jobs)))
    result = schedopt.solve(model, time_limit=limit)
    gap = 1.0 if result.gap is None else result.gap
    clock, work = time.perf_counter() - began, time.process_time() - worked
    return Measured(queue.name, first, limit, result.proven, gap, clock, work)


def told(name: str, got: list[Measured], limit: float) -> str:
    """Say how many windows are proven, how soon, and how near the others are."""
    proven = sorted(one.seconds for one in got if one.proven)
    gaps = sorted(one.gap for one in got if not one.proven)
    lines = [
        f"{name}: {len(proven)} of {len(got)} windows of {COUNT} jobs proven within {limit:g} s, "
        f"{len(proven) / len(got):.1%}; {sum(one.work for one in got):.0f} s of processor time"
    ]
    if proven:
        lines.append(
            f"  proven: half within {proven[len(proven) // 2]:.2f} s, last {proven[-1]:.1f} s"
        )
    if gaps:
        lines.append(f"  others: half within {gaps[len(gaps) // 2]:.3%}, all within {gaps[-1]:.3%}")
    return "\n".join(lines)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("logs", nargs="*", type=Path)
    words.add_argument("--windows", type=int, default=1000)
    words.add_argument("--limit", type=float, default=60.0, help="seconds for a window")
    words.add_argument("--part", default="1/1")
    words.add_argument("--by-rows", action="store_true")
    words.add_argument("--output", type=Path, help="a line of JSON for each window")
    given = words.parse_args()
    first, every = map(int, given.part.split("/"))
    queues = [convert(path) for path in given.logs or sorted(LOGS.glob("*.swf*"))]
    chosen = places(queues, given.windows, by_rows=given.by_rows)[first - 1 :: every]
    began = time.perf_counter()
    known: dict[tuple[str, int], Measured] = {}
    if given.output and given.output.exists():
        for line in given.output.read_text().splitlines():
            one = Measured(**json.loads(line))
            if one.limit == given.limit:
                known[one.log, one.first] = one
    got: list[Measured] = []
    for queue, row in chosen:
        one = known.get((queue.name, row)) or measured(queue, row, given.limit)
        if given.output and (queue.name, row) not in known:
            with given.output.open("a") as file:
                file.write(json.dumps(one._asdict()) + "\n")
        got.append(one)
    for queue in queues:
        mine = [one for one in got if one.log == queue.name]
        if mine:
            print(told(queue.name, mine, given.limit))
    proven = sum(one.proven for one in got)
    print(f"together: {proven} of {len(got)}, {proven / len(got):.1%} (target {TARGET:.0%}); "
          f"{time.perf_counter() - began:.0f} s")  # fmt: skip


if __name__ == "__main__":
    main()
