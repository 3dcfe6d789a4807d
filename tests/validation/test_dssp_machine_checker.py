"""Selections and plans on machines that change, judged: each one as trial judges it."""

from typing import Any

import msgspec
from builders.dssp import a_night

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
