"""A night with failures, replanned each quarter of an hour: what that earns.

``python -m benchmarks.replanning`` draws nights of 300 jobs. Of every seventh job whatever has
started before some time fails at that time, and is lost; and twice an hour, a tenth of the
processors goes for an hour: the jobs that began last fail until what is left holds the others. Four
ways through the same night:

- nothing: the jobs that were chosen at first, in their order, what failed again;
- replan: `schedopt.replan` each quarter of an hour, and with ``stay=0.02``;
- clairvoyant: planned once by whoever knows the machine and the failures beforehand.

The bound is the best selection on the machine as it will be, as if no job failed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from random import Random
from statistics import median
from time import process_time
from typing import Any

import msgspec
import polars as pl

import schedopt
from schedopt.formats import percent
from schedopt.instances.dssp import Instance, Job, selected
from schedopt.problems.dssp.observing import Old, Task, observed, state_of
from schedopt.problems.dssp.replanning import in_old_order, old_of
from schedopt.problems.dssp.resting import rest_of

JOBS, HOURS, QUARTER = 300, 10, 900.0
DEADLINE = HOURS * 4 * QUARTER
OVER = 1.3  # how much more is asked for than fits


def drawn(seed: int) -> tuple[Instance, dict[str, float], list[tuple[float, float]]]:
    """Draw a night, when which job fails, and from when to when a tenth of the machine is away."""
    draw = Random(seed)  # noqa: S311
    jobs = []
    for n in range(JOBS):
        stages = tuple(
            (draw.randint(3, 40) * 60.0,) * draw.randint(1, 10)
            for _ in range(draw.choice((1, 1, 2, 3)))
        )
        demand = sum(map(sum, stages))
        reward = round(demand / 600 * draw.uniform(0.3, 1.7), 1)
        jobs.append(
            Job(name=f"job-{n}", reward=reward, groups={"team": "abcde"[n % 5]}, stages=stages)
        )
    work = sum(job.planned_demand for job in jobs)
    caps = schedopt.FairShare(name="cap", by="team", at_most={"a": 0.25, "b": 0.2})
    night = Instance(
        name=f"failing-{seed}",
        processors=round(work / DEADLINE / OVER),
        deadline=DEADLINE,
        jobs=tuple(jobs),
        constraints=(caps,),
    )
    hits = {job.name: draw.uniform(0.1, 0.8) * DEADLINE for job in draw.sample(jobs, JOBS // 7)}
    away = [(at := draw.randint(1, 8 * HOURS // 2) * QUARTER, at + 4 * QUARTER) for _ in range(2)]
    return night, hits, away


def level(night: Instance, away: Sequence[tuple[float, float]], time: float) -> int:
    """Return how many processors there are at a time."""
    gone = any(start <= time < end for start, end in away)
    return night.processors - gone * (night.processors // 10)


def told(
    night: Instance,
    old: Old,
    hits: dict[str, float],
    away: Sequence[tuple[float, float]],
    at: float,
) -> pl.DataFrame | None:
    """Return what has failed in the last quarter, and how many processors there are now."""
    running = {
        name: [task for task in tasks if task.start < at < task.end]
        for name, tasks in old.tasks.items()
    }
    rows = []
    for name, tasks in old.tasks.items():
        hit = hits.get(name, -1.0)
        begun = min(task.start for task in tasks) < hit < max(task.end for task in tasks)
        if begun and at - QUARTER < hit <= at:
            rows.append((name, "failed", "", f"{hit!r}"))
            running[name] = []
    held = sum(map(len, running.values()))
    latest = sorted((n for n in running if running[n]), key=lambda n: running[n][0].start)
    while held > level(night, away, at):
        name = latest.pop()
        held -= len(running[name])
        rows.append((name, "failed", "", ""))
    if level(night, away, at) != level(night, away, at - QUARTER):
        rows.append(("", "", str(level(night, away, at)), ""))
    titles = ["job", "status", "processors", "end"]
    return pl.DataFrame(rows, schema=titles, orient="row") if rows else None


def nothing(night: Instance, first: Any, hits: Any, away: Any) -> float:
    """Return what is earned by who goes on with the jobs that were chosen at first."""
    old = old_of(night, first)
    for at in quarters():
        state = state_of(night, told(night, old, hits, away, at), at)
        begun, _ = observed(night, old, state, at)
        rest = rest_of(night, begun, at, state.levels)
        night = rest.night
        index = rest.instance.index
        names = {part for part, (name, _) in rest.tasks.items() if name in old.spans}
        made = in_old_order(rest, old, selected(rest.instance, sorted(index[n] for n in names)))
        tasks = {
            job.name: list(one.past)
            for job, one in zip(night.jobs, begun, strict=True)
            if job.name in old.spans
        }
        for task in made.tasks:
            name, places = rest.tasks[task.job]
            if places:
                place = places[task.stage][task.task]
                tasks[name].append(Task(*place, task.start, task.end))
        spans = {
            n: (min(t.start for t in ts), max(t.end for t in ts)) for n, ts in tasks.items() if ts
        }
        old = Old(spans, dict.fromkeys(spans, 1), {n: tasks[n] for n in spans})
    return earned(night, old)


def earned(night: Instance, old: Old) -> float:
    """Return the reward of the jobs that are done in time."""
    return sum(
        job.reward
        for job in night.jobs
        if (span := old.spans.get(job.name)) and span[1] <= DEADLINE * (1 + 1e-9)
    )


def quarters() -> Iterator[float]:
    """Yield each quarter of an hour but the first and the last."""
    yield from (k * QUARTER for k in range(1, HOURS * 4))


def replanned(
    night: Instance, first: Any, hits: Any, away: Any, stay: float
) -> tuple[float, list[float]]:
    """Return what is earned by replanning, and the seconds of each replan."""
    plan: Any = first
    old, seconds = old_of(night, first), []
    for at in quarters():
        state = told(night, old, hits, away, at)
        began = process_time()
        plan = schedopt.replan(plan, at=at, state=state, instance=night, stay=stay)
        seconds.append(process_time() - began)
        if plan.plan is None or plan.result.violations:
            raise SystemExit(f"{night.name} at {at}: {plan.result.violations or 'no plan'}")
        night, old = plan.night, plan.old
    return earned(night, old), seconds


def knowing(night: Instance, hits: dict[str, float], away: Any) -> tuple[float, float]:
    """Return what is earned by who knows all beforehand, and a bound on what anybody can earn."""
    times = sorted({time for span in away for time in span})
    changes = tuple((time, level(night, away, time)) for time in times)
    machine = msgspec.structs.replace(night, changes=changes)
    bound = schedopt.solve(machine).bound
    jobs = tuple(
        msgspec.structs.replace(job, release=hits.get(job.name, 0.0)) for job in night.jobs
    )
    known = msgspec.structs.replace(machine, jobs=jobs)
    return earned(night, old_of(known, schedopt.solve(known))), float(bound or 0.0)


def main(seeds: Sequence[int]) -> None:
    """Print a row for each night and way."""
    print("night,way,reward,of the bound,replans,median seconds,most seconds")
    for seed in seeds:
        night, hits, away = drawn(seed)
        first = schedopt.solve(night)
        best, bound = knowing(night, hits, away)

        rows: list[tuple[str, float, Sequence[float]]] = [
            ("bound", bound, ()),
            ("clairvoyant", best, ()),
            ("nothing", nothing(night, first, hits, away), ()),
        ]
        rows += [
            (f"replan --stay {stay:g}", *replanned(night, first, hits, away, stay))
            for stay in (0.0, 0.02)
        ]
        for way, reward, seconds in rows:
            took = f"{median(seconds):.2f},{max(seconds):.2f}" if seconds else ","
            print(f"{seed},{way},{reward:.1f},{percent(reward / bound)},{len(seconds)},{took}")
        sys.stdout.flush()


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [1, 2, 3])
