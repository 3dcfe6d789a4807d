"""Weights tuned on the first half of a log, judged on the second beside a bound and other policies.

``python -m benchmarks.tuned LOG.json ... --output build/tuned.jsonl`` keeps a line for each log and
goes on there; what is printed is the table of docs/howto/log.md. An interval in time, not in jobs,
begins with an empty machine: so does the bound of the second half.
"""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import typer

import schedopt
from benchmarks.tables import Measured, measurement, resumed, row
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.site import Priority
from schedopt.policies.msfq.logs.registration import started
from schedopt.policies.msfq.logs.tuned import as_json, halves, mean_slowdowns, tune
from schedopt.policies.registry import NotApplicableError, registered

OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "easy": ("easy", {}),
    "easy-sjbf": ("easy-sjbf", {}),
    "conservative": ("conservative", {}),
    "first-fit": ("first-fit", {}),
    "fcfs": ("fcfs", {}),
    "msf": ("msf", {}),
    **{
        f"{name}, {fill}": (name, {"fill": fill})
        for name in ("saf", "sjf", "wfp3", "f1")
        for fill in ("easy", "skip", "stop")
    },
}
GAP = 0.10  # what is asked of the tuned policy on most logs
CLASSES = ((1, 1), (2, 8), (9, 2**31))  # sizes of jobs, in servers


class Cell(msgspec.Struct, frozen=True):
    """The results on a log's second half; pairs are of the tuned policy and of EASY."""

    log: str
    jobs: int
    site: Priority
    train: float
    bound: float
    proved: bool
    gaps: dict[str, float]  # over the bound, by policy
    hindsight: float  # the gap of weights tuned on the second half itself
    worst: tuple[float, float]  # the mean slowdown of the worst user
    users: tuple[int, int]  # users that fare better when tuned, and worse
    sizes: dict[str, float]  # mean response by size, tuned over EASY


def judged(queue: Instance, evaluations: int, seed: int) -> Cell:
    """Tune on a log's first half, and play the second."""
    registered("msfq")
    seen, rest = halves(queue, 0.5)
    known = "given" if queue.jobs.estimated else "exact"
    found = tune(seen, known, evaluations, seed)
    solved = schedopt.solve(rest, certificate=True)
    least, jobs = solved.bound or 0.0, rest.jobs
    all_of = {"tuned": ("weighted", {"priority": as_json(found.site)}), **OTHERS}
    starts, gaps = {}, {}
    for name, (policy, options) in all_of.items():
        try:
            starts[name] = started(rest, policy, known, **options)
        except NotApplicableError:
            continue
        gaps[name] = float((starts[name] + jobs.run - jobs.submit).mean()) / least - 1
    hindsight = tune(rest, known, evaluations, seed).objective / least - 1
    mine, easy = (mean_slowdowns(rest, starts[name]) for name in ("tuned", "easy"))
    sizes = {}
    for few, many in CLASSES:
        rows = (jobs.need >= few) & (jobs.need <= many)
        if rows.any():
            times = [
                (starts[name] + jobs.run - jobs.submit)[rows].mean() for name in ("tuned", "easy")
            ]
            name = str(few) if few == many else f"{few} to {many}" if many < 2**31 else f"{few}+"
            sizes[name] = float(times[0] / times[1])
    return Cell(
        queue.name,
        len(jobs),
        found.site,
        found.objective,
        least,
        bool(solved.bound_checked),
        gaps,
        hindsight,
        (float(mine.max(initial=1.0)), float(easy.max(initial=1.0))),
        (int((mine < easy - 1e-9).sum()), int((mine > easy + 1e-9).sum())),
        sizes,
    )


@measurement
def tuned(files: list[Path], output: Path | None, evaluations: int, seed: int) -> Measured:
    """Print how far the tuned policy is from the bound, beside the others."""
    logs = {path.stem: path for path in files}

    def work(name: str) -> Cell:
        return judged(schedopt.load(logs[name]), evaluations, seed)

    cells = resumed(output, Cell, lambda cell: cell.log, logs, partial(work))
    yield "second halves of logs: over the bound, by policies tuned on the first halves"
    near = fair = 0
    for name in logs:
        cell = cells[name]
        best = min((gap, other) for other, gap in cell.gaps.items() if other != "tuned")
        near += cell.gaps["tuned"] <= GAP
        fair += cell.worst[0] <= cell.worst[1] * (1 + 1e-9)
        yield row(
            name,
            f"{cell.gaps['tuned']:.1%}",
            in_hindsight=f"{cell.hindsight:.1%}",
            best_other=f"{best[0]:.1%} {best[1]}",
            easy=f"{cell.gaps['easy']:.1%}",
            bound=("re-proved" if cell.proved else "believed"),
            worst_user=f"{cell.worst[0]:.4g}, EASY {cell.worst[1]:.4g}",
            users="better {}, worse {}".format(*cell.users),
            by_size="; ".join(f"{size}: {ratio:.2f}" for size, ratio in cell.sizes.items()),
        )
    yield row("logs within 10% of the bound", near, least=float(np.ceil(len(logs) * 10 / 12)))
    yield row("logs whose worst user fares no worse than under EASY", fair, least=len(logs))


def main(
    logs: list[Path],
    output: Path | None = None,
    evaluations: Annotated[int, typer.Option(help="Weights tried on each log.")] = 150,
    seed: int = 0,
) -> None:
    """Print the table."""
    tuned(logs, output, evaluations, seed)


if __name__ == "__main__":
    typer.run(main)
