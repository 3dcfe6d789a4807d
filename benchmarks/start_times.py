"""How often starts lie in their intervals (``python -m benchmarks.start_times LOG.json ...``).

At moments of the last two thirds of each log at which somebody waits, the starts of who waits are
told from what is known by then, and held against those of the replay.
"""

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.tables import out


def walk(file: Path, policy: str, level: float, count: int) -> dict[str, float]:
    """Return what came of a walk through a log."""
    import schedopt
    from schedopt.policies.msfq.logs.registration import replay_log
    from schedopt.policies.msfq.logs.start_times import Snapshot, moments
    from schedopt.policies.registry import registered

    registered("msfq")
    queue: Any = schedopt.load(file)
    jobs = queue.jobs
    starts = replay_log(queue, policy, "given" if jobs.estimated else "exact")
    first = float(jobs.submit[0]) + jobs.span / 3
    times = [t for t in moments(queue, starts, float(starts.max()), 2 * count) if t > first]
    held, widths, misses, requested, spent = [], [], [], [], 0.0
    by_moment: list[list[bool]] = []
    for at in times[:: max(1, len(times) // count)]:
        began = time.process_time()
        told = schedopt.start_times(queue, at, policy, level=level)
        spent += time.process_time() - began
        by_moment.append([])
        real = starts[Snapshot(queue, starts, at).waiting]
        for row, start in zip(told.rows, real.tolist(), strict=True):
            held.append(row.earliest <= start <= row.latest)
            by_moment[-1].append(held[-1])
            widths.append(row.latest - row.earliest)
            misses.append(abs(row.median - start))
            requested.append(abs(row.requested - start))
    if not held:
        return {"starts": 0}
    share = float(np.mean(held))  # whose error is that of a ratio of sums over moments
    errors = [sum(some) - share * len(some) for some in by_moment]
    return {
        "starts": len(held),
        "held": share,
        "give or take": 1.96 * float(np.linalg.norm(errors)) / len(held),
        "width": float(np.median(widths)),
        "off, median": float(np.median(misses)),
        "off, as requested": float(np.median(requested)),
        "CPU s a call": spent / len(times[:: max(1, len(times) // count)]),
    }


def main(
    logs: list[Path],
    policy: str = "easy",
    level: float = 0.9,
    moments: Annotated[int, typer.Option(help="Of each log.")] = 40,
) -> None:
    """Print a line for each log."""
    for log in logs:
        told = walk(log, policy, level, moments)
        words = ", ".join(f"{name} {value:,.3g}" for name, value in told.items())
        out.print(f"{log.stem}: {words}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
