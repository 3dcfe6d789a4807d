"""Selections and plans on machines that change, judged: each one as trial judges it."""

from copy import deepcopy
from random import Random
from typing import Any

import msgspec
from builders.dssp_moving import SETS, Slots, a_night, nights
from builders.effort import examples

import schedopt
from schedopt.formulations.dssp import Schedule, Selection
from schedopt.instances.dssp import Instance, Job
from schedopt.solvers.result import Document
from schedopt.validation.documents import check


def the_plan(night: Instance) -> dict[str, Any]:
    result = schedopt.solve(Schedule(night))
    assert result.objective == 12
    document: dict[str, Any] = msgspec.to_builtins(result.document())
    return document


def test_a_job_is_not_run_without_those_that_it_waits_for() -> None:
    night = a_night()
    plan = the_plan(night)
    assert check(night, msgspec.convert(plan, Document)).violations == []
    solution = plan["solution"]
    solution["tasks"] = [task for task in solution["tasks"] if task["job"] != "a"]
    solution["selected"].remove("a")
    del solution["completion"]["a"]
    found = check(night, msgspec.convert(plan, Document)).violations
    assert any("after: b is run, a is not" in what for what in found), found


def runs(night: Instance, tasks: list[dict[str, Any]]) -> bool:
    """Tell whether tasks obey everything, but for being in time: by stage, by job, by slot."""
    slots = Slots(night)
    numbers = [(p, k) for p, level in slots.pools.items() for k in range(max(level))]
    spans = [(t, round(t["start"] / slots.unit), round(t["end"] / slots.unit)) for t in tasks]
    for task, start, _ in spans:
        job = slots.jobs[task["job"]]
        before = [
            end
            for t, _, end in spans
            if t["job"] in job.after or (t["job"] == job.name and t["stage"] < task["stage"])
        ]
        if start < max([slots.release[job.name], *before]):
            return False
    for now in range(max(end for _, _, end in spans)):
        running = [(slots.jobs[t["job"]], t) for t, start, end in spans if start <= now < end]
        taken: list[int] = []
        for job, task in running:
            on = task.get("processors", [task["processor"]])
            taken += on
            places = [numbers[k] for k in on if 0 <= k < len(numbers)]
            there = all(k < slots.pools[pool][now] for pool, k in places)
            pools = {pool for pool, _ in places}
            right = len({*on}) == len(places) == len(on) == job.processors
            if not (right and there and len(pools) == 1 and pools <= {*slots.allowed[job.name]}):
                return False
            mine = sum(other.processors for other, _ in running if other is job)
            if job.max_processors is not None and mine > job.max_processors:
                return False
        if len({*taken}) < len(taken):
            return False
        for name, level in slots.resources.items():
            if sum(job.holds.get(name, 0.0) for job, _ in running) > level[now]:
                return False
    return True


TOLD_BESIDE = ("completion", "makespan", "utilization", "objective")
"""What follows from tasks, and is not forged along."""


@SETS
def test_plans_are_judged_as_trial_judges_them(keys: tuple[str, ...]) -> None:
    draw, verdicts = Random(f"plans {keys}"), set()  # noqa: S311
    for night in nights(keys, examples(20), seed=5):
        unit = float(Slots(night).unit)
        plan = msgspec.to_builtins(schedopt.evaluate(night, "first").document())
        for _ in range(20):
            forged = deepcopy(plan)
            tasks = forged["solution"]["tasks"]
            long = [task for task in tasks if task["start"] < task["end"]]
            if not long:
                break
            one, by = draw.choice(long), draw.choice((-2, -1, -1, 1, 2)) * unit
            moving = [one] if draw.random() < 0.5 else [t for t in tasks if t["job"] == one["job"]]
            if draw.random() < 0.6:
                for task in moving:
                    task |= {"start": task["start"] + by, "end": task["end"] + by}
            else:
                on = one.get("processors", [one["processor"]])
                on = draw.choices(range(-1, 6), k=max(1, len(on) + draw.choice((0, 0, 0, 1, -1))))
                one |= {"processor": on[0], "processors": on}
            told = check(night, msgspec.convert(forged, Document)).violations
            found = [what for what in told if not what.startswith(TOLD_BESIDE)]
            right = runs(night, tasks)
            verdicts.add(right)
            assert (not found) == right, (night, tasks, found)
    assert verdicts == {True, False}


def test_many_pools_are_judged_as_few() -> None:
    jobs = tuple(
        Job(name=f"j{i}", reward=1.0, stages=((4.0,),), pools=("p0", "p1")[: 1 + i // 2])
        for i in range(4)
    )
    for pools in (3, 12, 40):
        sizes = dict.fromkeys((f"p{i}" for i in range(pools)), 1)
        night = Instance(name="many", processors=0, deadline=5, pools=sizes, jobs=jobs)
        result = schedopt.solve(night)
        assert (result.objective, result.violations) == (2, ())
        for chosen, right in (((0, 2), True), ((0, 1), False), ((0, 2, 3), False)):
            solution = Selection(night).selected(list(chosen))
            worth = float(len(chosen))
            claim = msgspec.structs.replace(
                result, solution=solution, objective=worth, bound=worth, gap=0.0
            )
            assert right == (not check(night, claim.document()).violations)
