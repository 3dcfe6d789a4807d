"""Windows of logs: of how many is the best schedule proven, and how soon.

``python -m benchmarks.msfq_windows --windows 1000 --limit 60`` takes that many windows of 40 jobs,
evenly over the rows of the logs together, from those of the Parallel Workloads Archive that lie
beside the project, or from those that are named. ``--part 2/25`` takes every 25th of them, from the
second on: a sample, or a share of the work.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import schedopt
from benchmarks.msfq_logs import LOGS
from formulations.msfq import Window
from instances.msfq import Instance
from instances.msfq.log_converters import convert

COUNT = 40


def places(queues: list[Instance], windows: int) -> list[tuple[Instance, int]]:
    """Return so many windows, evenly over the rows of all logs: log and first row."""
    rows = [max(0, len(queue.jobs) - COUNT) + 1 for queue in queues]
    found = []
    for number in range(windows):
        row = number * sum(rows) // windows
        for queue, size in zip(queues, rows, strict=True):
            if row < size:
                found.append((queue, row))
                break
            row -= size
    return found


def measured(queue: Instance, first: int, limit: float) -> tuple[bool, float, float, float]:
    """Solve a window; return whether that is proven, the gap, and seconds by clock and in work."""
    began, worked = time.perf_counter(), time.process_time()
    model = Window(queue, first=first, count=min(COUNT, len(queue.jobs)))
    result = schedopt.solve(model, time_limit=limit)
    gap = 1.0 if result.gap is None else result.gap
    return result.proven, gap, time.perf_counter() - began, time.process_time() - worked


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("logs", nargs="*", type=Path)
    words.add_argument("--windows", type=int, default=1000)
    words.add_argument("--limit", type=float, default=60.0, help="seconds for a window")
    words.add_argument("--part", default="1/1")
    given = words.parse_args()
    first, every = map(int, given.part.split("/"))
    queues = [convert(path) for path in given.logs or sorted(LOGS.glob("*.swf*"))]
    chosen = places(queues, given.windows)[first - 1 :: every]
    began = time.perf_counter()
    all_proven = 0
    for queue in queues:
        mine = [row for other, row in chosen if other is queue]
        got = [measured(queue, row, given.limit) for row in mine]
        if not got:
            continue
        proven = sorted(one[2] for one in got if one[0])
        gaps = sorted(one[1] for one in got if not one[0])
        all_proven += len(proven)
        work = sum(one[3] for one in got)
        print(
            f"{queue.name}: {len(proven)} of {len(got)} windows of {COUNT} jobs proven within "
            f"{given.limit:g} s; {work:.0f} s of processor time"
        )
        if proven:
            print(
                f"  proven: half within {proven[len(proven) // 2]:.2f} s, last {proven[-1]:.1f} s"
            )
        if gaps:
            print(f"  others: half within {gaps[len(gaps) // 2]:.3%}, all within {gaps[-1]:.3%}")
    share = all_proven / len(chosen)
    print(f"together: {all_proven} of {len(chosen)}, {share:.1%} (target 90%); "
          f"{time.perf_counter() - began:.0f} s")  # fmt: skip


if __name__ == "__main__":
    main()
