"""Coverage of the intervals of `schedopt.start_times` on the last third of a log.

``python -m benchmarks.start_times LOG...`` replays each log under EASY. At forty moments at which
jobs wait it predicts their starts, and compares with the starts of the replay.
"""

import sys
from pathlib import Path

import schedopt
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.log_converters import convert
from schedopt.policies.msfq.logs.registration import replay_log
from schedopt.policies.msfq.logs.start_times import Snapshot, moments
from schedopt.policies.registry import registered


def coverage(queue: Instance, count: int = 40, level: float = 0.9) -> tuple[int, int]:
    """Return the number of starts within their intervals, and the number of intervals."""
    starts = replay_log(queue, "easy", "given" if queue.jobs.estimated else "exact")
    times = moments(queue, starts, float(starts.max()), 3 * count)
    held = intervals = 0
    for time in times[2 * len(times) // 3 :]:
        rows = schedopt.start_times(queue, time, level=level).rows
        for row, start in zip(rows, starts[Snapshot(queue, starts, time).waiting], strict=True):
            if row.earliest is not None and row.latest is not None:
                intervals += 1
                held += row.earliest <= start <= row.latest
    return held, intervals


def main() -> None:
    """Print the coverage of each log."""
    registered("msfq")
    for path in map(Path, sys.argv[1:]):
        is_instance = path.name.endswith((".json", ".json.gz"))
        queue = schedopt.load(path) if is_instance else convert(path)
        held, intervals = coverage(queue)
        share = f"{held / intervals:.1%}" if intervals else "none"
        print(f"{path.name}: {share} of {intervals:,} intervals hold", flush=True)


if __name__ == "__main__":
    main()
