"""Windows of logs: of how many is the best schedule proven, and how soon.

``python -m benchmarks.msfq_windows --windows 1000 --limit 60`` takes that many windows of 40 jobs,
as many from each log and evenly over its rows, from the logs of the Parallel Workloads Archive that
lie beside the project, or from those that are named, of which .json are instances. ``--by-rows``
takes them evenly over the rows of all logs together. ``--part 2/25`` takes every 25th of them, from
the second on: a sample, or a share of the work. ``--output FILE`` keeps a line of JSON for each
window; what is there already, with the same limit, is not solved again, so that an interrupted run
goes on where it was.
"""

from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Annotated

import msgspec
import typer

import schedopt
from benchmarks.tables import Measured, measurement, resumed, row
from benchmarks.timing import best_of, spent
from schedopt.formulations.msfq import LogBound, Window
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.log_converters import convert

LOGS = Path(__file__).parents[1].parent / "shared" / "data" / "swf"
COUNT = 40
TARGET = 0.9
Key = tuple[str, int, float]  # log, first row and time limit


class Cell(msgspec.Struct, frozen=True):
    """What came of a window: seconds by clock, and of processor time."""

    log: str
    first: int
    limit: float
    proven: bool
    gap: float
    seconds: float
    work: float
    over: float = 0.0  # what is found over the bound by prices of the same jobs, as a part of it

    @property
    def key(self) -> Key:
        """Which window it is."""
        return self.log, self.first, self.limit


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
        first = number * sum(rows) // windows
        for queue, size in zip(queues, rows, strict=True):
            if first < size:
                found.append((queue, first))
                break
            first -= size
    return found


def solved(queues: dict[str, Instance], key: Key) -> Cell:
    """Solve a window."""
    name, first, limit = key
    queue = queues[name]
    model = Window(queue, first=first, count=min(COUNT, len(queue.jobs)))
    solve = partial(schedopt.solve, model, time_limit=limit)
    work, (seconds, result) = spent(partial(best_of, 1, solve))
    gap = 1.0 if result.gap is None else result.gap
    bound = schedopt.solve(LogBound(queue.with_jobs(model.jobs)), time_limit=limit).bound or 0.0
    over = (result.objective or 0.0) / bound - 1 if bound else 0.0
    return Cell(*key, result.proven, gap, seconds, work, over)


@measurement
def windows_of(queues: list[Instance], keys: list[Key], output: Path | None) -> Measured:
    """Say how many windows are proven, how soon, and how near the others are."""
    work = partial(solved, {queue.name: queue for queue in queues})
    cells = resumed(output, Cell, lambda cell: cell.key, keys, work)
    yield f"windows of {COUNT} jobs proven within {keys[0][2]:g} s"
    every = [cells[key] for key in keys]
    for name in (*(queue.name for queue in queues), "together"):
        mine = [cell for cell in every if name in (cell.log, "together")]
        if not mine:
            continue
        proven = [cell.seconds for cell in mine if cell.proven]
        gaps = [cell.gap for cell in mine if not cell.proven]
        told = {"proven": f"{len(proven)} of {len(mine)}"}
        if proven:
            told["half within, the last"] = f"{median(proven):.2f} s, {max(proven):.1f} s"
            lost = [cell.over for cell in mine if cell.proven]
            told["prices lose on them on average, at most"] = f"{fmean(lost):.2%}, {max(lost):.2%}"
        if gaps:
            told["others: half within, all"] = f"{median(gaps):.3%}, {max(gaps):.3%}"
        least = TARGET if name == "together" else None
        seconds = sum(cell.work for cell in mine)
        yield row(name, len(proven) / len(mine), least=least, **told, processor_time_s=seconds)


def main(
    logs: Annotated[list[Path] | None, typer.Argument()] = None,
    *,
    windows: int = 1000,
    limit: float = 60.0,
    part: str = "1/1",
    by_rows: bool = False,
    output: Path | None = None,
) -> None:
    """Print how many windows are proven; the limit is the seconds for a window."""
    first, every = map(int, part.split("/"))
    queues = [
        schedopt.load(path, problem="msfq") if path.suffix == ".json" else convert(path)
        for path in logs or sorted(LOGS.glob("*.swf*"))
    ]
    chosen = places(queues, windows, by_rows=by_rows)[first - 1 :: every]
    windows_of(queues, [(queue.name, row, limit) for queue, row in chosen], output)


if __name__ == "__main__":
    typer.run(main)
