"""How far solves overrun their time limit, by size (``python -m benchmarks.limits``).

For each formulation, at 10^3 to 10^6 of what makes it large, a solve under a limit of 1 and 10 s:
how long it took from the instance in memory to the checked answer told, and what is in hand then. A
line of build/limits.jsonl for each, written as it is done: run again, it goes on where it stopped.
Each is a process of its own, in which a small one was solved before, so that nothing is compiled.
"""

import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import msgspec
import typer

from benchmarks.tables import Measured, measurement, out, resumed, row
from benchmarks.timing import machine, peak_mb

SIZES = (10**3, 10**4, 10**5, 10**6)
LIMITS = (1.0, 10.0)
OVER, SHARE = 1.0, 0.1
"""What a run may take beyond its limit: seconds, or a share of it, whichever is more."""
PATIENCE = 90.0  # seconds beyond the limit after which a run is ended
SMALL, COMPILED = 40, 2000
"""The sizes that are solved before the clock starts: of so few kernels may run as Python."""
GENERATED = 10**5  # jobs of one draw; of more there are several


def drawn(problem: str, generator: str, **options: Any) -> Any:
    """Return a random instance."""
    from schedopt.verbs.generate import generate

    return generate(problem, generator, seed=1, options=options)


def several(size: int, draw: Callable[[int], Any]) -> Any:
    """Return an instance with the jobs of as many draws as there must be."""
    one = draw(min(size, GENERATED))
    jobs = [
        msgspec.structs.replace(job, name=f"{job.name}-{number}")
        for number in range(max(1, size // GENERATED))
        for job in one.jobs
    ]
    return msgspec.structs.replace(one, jobs=tuple(jobs))


def selection(size: int) -> Any:
    """Draw jobs to choose from, without rules."""
    return drawn("dssp", "uncorrelated", jobs=size)


def shares(size: int) -> Any:
    """Draw jobs of 20 teams: ten with a cap, two with a floor."""
    from schedopt.instances.constraints import FairShare

    night = drawn("dssp", "uncorrelated", jobs=size, groups=20)
    names = sorted(night.groups["team"])
    rule = FairShare(
        by="team",
        at_most=dict.fromkeys(names[:10], 0.03),
        at_least=dict.fromkeys(names[10:12], 0.06),
    )
    return msgspec.structs.replace(night, constraints=(rule,))


def crossing(size: int) -> Any:
    """Draw jobs under rules of every kind, that cross."""
    return drawn("dssp", "crossing", jobs=size, rules="all")


def uncertain(size: int) -> Any:
    """Draw jobs whose run times are guesses."""
    night = drawn("dssp", "uncorrelated", jobs=size)
    jobs = tuple(msgspec.structs.replace(job, spread=0.3) for job in night.jobs)
    return msgspec.structs.replace(night, jobs=jobs)


def changing(size: int) -> Any:
    """Draw jobs whose run times are guesses, on a machine that is away in between, in windows."""
    night = uncertain(size)
    last = night.deadline
    jobs = tuple(
        msgspec.structs.replace(job, release=last * (k % 4) / 10, deadline=last * (7 + k % 4) / 10)
        for k, job in enumerate(night.jobs)
    )
    away = ((last / 3, 0), (last / 2, night.processors))
    return msgspec.structs.replace(night, jobs=jobs, changes=away)


def season(size: int) -> Any:
    """Draw jobs over nights, 44 or so on each."""
    nights = max(2, size // 44)
    few = drawn("dssp", "season", nights=min(nights, 300), processors=1000)
    if len(few.jobs) >= size or nights <= 300:
        return few
    jobs = [
        msgspec.structs.replace(job, name=f"{job.name}-{number}")
        for number in range(size // len(few.jobs))
        for job in few.jobs
    ]
    return msgspec.structs.replace(few, jobs=tuple(jobs))


def schedule(size: int) -> Any:
    """Draw tasks to be dispatched: those of as many nights as there must be."""
    return drawn("dssp", "render-night", nights=max(1, round(size / 4300)), processors=1000)


def allocation(size: int) -> Any:
    """Draw jobs with sizes, speedups, weights and teams of their own."""
    return several(size, lambda jobs: drawn("hesrpt", "mixed", jobs=jobs))


def epochs(size: int) -> Any:
    """Draw jobs to be packed."""
    return several(size, lambda jobs: drawn("epoch", "uniform", jobs=jobs, load=max(1.0, jobs / 8)))


def one_or_all(size: int) -> Any:
    """Draw a queue of so many servers."""
    return drawn("msfq", "one-or-all", k=size, load=0.9)


def log(size: int) -> Any:
    """Draw a log."""
    from benchmarks.msfq_replay import log as made

    return made(size)


class Kind(NamedTuple):
    """A formulation, with what makes it large, and what draws an instance of a size."""

    formulation: str
    unit: str
    draw: Callable[[int], Any]
    options: Mapping[str, Any] = MappingProxyType({})
    sizes: tuple[int, ...] = SIZES


KINDS = {
    "selection": Kind("selection", "jobs", selection),
    "selection, caps and floors": Kind("selection", "jobs", shares),
    "selection, crossing rules": Kind("selection", "jobs", crossing),
    "selection, a machine that changes": Kind("selection", "jobs", changing),
    "selection, mean": Kind("selection", "jobs", uncertain, {"risk": "mean"}),
    "selection, cvar:0.9": Kind("selection", "jobs", changing, {"risk": "cvar:0.9"}),
    "selection, chance:0.9": Kind("selection", "jobs", uncertain, {"risk": "chance:0.9"}),
    "season": Kind("season", "jobs", season),
    "schedule": Kind("schedule", "tasks", schedule),
    "allocation": Kind("allocation", "jobs", allocation),
    "partition": Kind("partition", "jobs", epochs),
    "rectangles": Kind("rectangles", "jobs", epochs),
    "threshold": Kind("threshold", "servers", one_or_all, sizes=(64, 192, 512, *SIZES)),
    "optimal-policy": Kind("optimal-policy", "servers", one_or_all, sizes=(16, 128, *SIZES)),
    "bound": Kind("bound", "jobs", log),
}


class Seen(msgspec.Struct, frozen=True):
    """What came of a run of a kind at a size under a limit."""

    kind: str
    size: int
    limit: float
    seconds: float | None = None  # by the clock, compiling aside; None of a run that was ended
    cpu: float = 0.0
    steps: dict[str, float] = {}  # the result's own seconds
    told: float = 0.0  # the seconds that telling the answer took
    found: str = ""  # the answer in hand, and why the run stopped
    gap: float | None = None
    memory: float = 0.0  # the most, in MB


Cell = tuple[str, int, float]


def key(seen: Seen) -> Cell:
    """Return which cell of the table a run is."""
    return seen.kind, seen.size, seen.limit


def work(cell: Cell) -> Seen:
    """Measure a cell in a process of its own."""
    name, size, limit = cell
    words = [sys.executable, "-m", "benchmarks.limits", "--one", name, str(size), str(limit)]
    try:
        done = subprocess.run(  # noqa: S603  ours
            words, capture_output=True, text=True, check=False, timeout=10 * limit + PATIENCE
        )
    except subprocess.TimeoutExpired:
        return Seen(name, size, limit, found=f"ended after {10 * limit + PATIENCE:g} s")
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.strip()] or ["killed"]
        return Seen(name, size, limit, found=last[-1][:80])
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Seen)


def one(name: str, size: int, limit: float) -> Seen:
    """Measure a cell in this process."""
    from schedopt.solvers.clock import now

    kind = KINDS[name]
    answered(kind, min(SMALL, size), 0.2)
    if kind.unit != "servers":
        answered(kind, min(COMPILED, size), 0.5)
    instance = kind.draw(size)
    began, spent = now(), time.process_time()
    result, told = answer(kind, instance, size, limit)
    unchecked = "" if result.checked else ", not checked"
    return Seen(
        name,
        size,
        limit,
        seconds=now() - began,
        cpu=time.process_time() - spent,
        steps=msgspec.to_builtins(result.seconds),
        told=told,
        found=f"{result.solution_status}, {result.termination}{unchecked}",
        gap=result.gap,
        memory=peak_mb(),
    )


def answered(kind: Kind, size: int, limit: float) -> None:
    """Answer a small instance."""
    answer(kind, kind.draw(size), size, limit)


def answer(kind: Kind, instance: Any, size: int, limit: float) -> tuple[Any, float]:
    """Solve an instance and tell the answer as the command does, and say what telling took."""
    from schedopt.instances.files import encode
    from schedopt.solvers.clock import now
    from schedopt.terminal.results import result as show
    from schedopt.verbs.solve import solve

    options = dict(kind.options)
    result = solve(instance, formulation=kind.formulation, time_limit=limit, options=options)
    began = now()
    with redirect_stdout(io.StringIO()):
        encode(result.written())
        show(instance, result)
    return result, now() - began


@measurement
def limits(done: list[Seen]) -> Measured:
    """Print a table for each limit."""
    for limit in sorted({seen.limit for seen in done}):
        most = limit + max(OVER, SHARE * limit)
        yield f"--time-limit {limit:g}: asked are {most:g} s, and something in hand"
        for seen in done:
            if seen.limit != limit:
                continue
            steps = {part: seconds for part, seconds in seen.steps.items() if seconds >= 0.05}
            beside = {
                "CPU": seen.cpu,
                **steps,
                "told": seen.told if seen.told >= 0.05 else None,
                "in hand": seen.found,
                "gap": None if seen.gap is None else f"{seen.gap:.2%}",
                "MB": round(seen.memory),
            }
            what = f"{seen.kind}, {seen.size:,} {KINDS[seen.kind].unit}"
            took = seen.seconds if seen.seconds is not None else float("inf")
            yield row(what, took, "s", most=most, **beside)


def main(
    kind: Annotated[list[str] | None, typer.Option(help="Only this one; repeatable.")] = None,
    limit: Annotated[list[float] | None, typer.Option(help="1 and 10 by default.")] = None,
    largest: Annotated[float, typer.Option(help="The largest size.")] = SIZES[-1],
    file: Path = Path("build/limits.jsonl"),
    one_of: Annotated[tuple[str, int, float], typer.Option("--one", hidden=True)] = ("", 0, 0.0),
) -> None:
    """Measure what the file does not hold yet, and print the table."""
    if one_of[0]:
        print(json.dumps(msgspec.to_builtins(one(*one_of))))
        return
    cells = list(todo(kind or list(KINDS), limit or list(LIMITS), int(largest)))
    out.print(machine("highspy", "ortools", "numba"), highlight=False)
    done = resumed(file, Seen, key, cells, work)
    limits([done[cell] for cell in cells])


def todo(kinds: list[str], of: list[float], largest: int) -> Iterator[Cell]:
    """Yield the cells of the table."""
    for name in kinds:
        for size in KINDS[name].sizes:
            yield from ((name, size, limit) for limit in of if size <= largest)


if __name__ == "__main__":
    typer.run(main)
