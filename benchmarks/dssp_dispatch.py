"""Dispatching a season: the compiled simulator beside its plain definition, and SimPy for scale."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import numpy as np
import simpy
from rich.table import Table

from benchmarks.ceilings import cpu, part_of
from benchmarks.timing import beside, best_of, out, verdict
from schedopt.policies.dssp import dispatchers
from schedopt.policies.dssp.plain import play_plainly
from schedopt.verbs.generate import generate

PROCESSORS = 1_000
BEFORE = {"lcpf": 6.6, "stcpu": 7.0, "first": 8.4, "cpa": 4.1}
"""Million tasks a second while processors and jobs stood in heaps."""
TARGETS = {"lcpf": 12.1, "stcpu": 15.2, "first": 17.6, "cpa": 7.4}


def dispatch() -> None:
    """Time each sort of dispatcher on all tasks of a season; the keys are part of the time."""
    season = generate("dssp", seed=1, options={"nights": 56})
    season = msgspec.structs.replace(season, processors=PROCESSORS)
    jobs = np.arange(len(season.jobs))
    tasks = len(season.tasks.lengths)
    title = f"(e) {tasks:,} tasks of {len(jobs):,} jobs on {PROCESSORS:,} processors: best of 5"
    heads = ("dispatcher", "M tasks/s", "before", "target", "of the limit", "plain Python tasks/s",
             "ratio", "SimPy tasks/s")  # fmt: skip
    table = Table(*heads, title=title, title_justify="left")
    slow, _ = best_of(1, partial(_by_simpy, season))
    rates, ratios = {}, []
    for name in ("lcpf", "stcpu", "first", "cpa"):
        key = dispatchers.KEYS[name]
        dispatchers.simulated(season, name, jobs)  # compiles
        work = partial(dispatchers.simulated, season, name, jobs)
        ours, played = cpu(work, 9), work()
        plain, again = best_of(1, partial(_plainly, season, jobs, key))
        if not all(np.array_equal(a, b) for a, b in zip(played, again, strict=True)):
            raise SystemExit(f"{name}: the two simulations differ")
        rates[name] = tasks / ours
        ratios.append(plain / ours)
        part = part_of(rates[name], "replays of a tournament of 1,024")
        cells = (f"{rates[name] / 1e6:.1f}", f"{BEFORE[name]}", f"{TARGETS[name]}", part,
                 f"{tasks / plain:,.0f}", f"{plain / ours:.0f}")  # fmt: skip
        table.add_row(name, *cells, f"{tasks / slow:,.0f}" if name == "first" else "")
    out.print(table)
    for name, target in TARGETS.items():
        beside(name, rates[name] / 1e6, target, BEFORE[name], "million tasks a second")
    verdict(min(ratios) >= 5, f"5 times plain Python (least {min(ratios):.1f})")


def _plainly(season: Any, jobs: Any, key: Any) -> Any:
    return play_plainly(season, jobs, keys=key(season))


def _by_simpy(season: Any) -> None:
    """Run the jobs in SimPy, first come first served: for scale, since it breaks ties otherwise."""
    environment = simpy.Environment()
    processors = simpy.Resource(environment, PROCESSORS)

    def run_task(length: float) -> Any:
        with processors.request() as turn:
            yield turn
            yield environment.timeout(length)

    def run_job(stages: Any) -> Any:
        for stage in stages:
            yield environment.all_of([environment.process(run_task(length)) for length in stage])

    for job in season.jobs:
        environment.process(run_job(job.stages))
    environment.run()
