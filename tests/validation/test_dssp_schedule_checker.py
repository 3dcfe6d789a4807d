"""The schedule checker: what is right passes, and every way to be wrong is told."""

from typing import Any

import msgspec
import pytest

from schedopt.instances.constraints import FairShare
from schedopt.instances.dssp import Instance, Job
from schedopt.solvers.result import Document
from schedopt.validation.documents import check


def a_night(**changes: Any) -> Instance:
    jobs = (
        Job(name="a", reward=5, groups={"team": "fx"}, stages=((2.0, 3.0), (4.0,))),
        Job(name="b", reward=4, groups={"team": "light"}, stages=((3.0,), (0.0, 2.0))),
    )
    return msgspec.structs.replace(
        Instance(name="hand", processors=2, deadline=7.5, jobs=jobs), **changes
    )


def document() -> dict[str, Any]:
    """Return a schedule by hand: a on both processors first, then b."""
    rows = [
        ("a", 0, 0, 0, 0, 2),
        ("a", 0, 1, 1, 0, 3),
        ("a", 1, 0, 1, 3, 7),
        ("b", 0, 0, 0, 2, 5),
        ("b", 1, 0, 0, 5, 5),
        ("b", 1, 1, 0, 6, 8),
    ]
    fields = ("job", "stage", "task", "processor", "start", "end")
    return {
        "instance": "hand",
        "problem": "dssp",
        "policy": "hand",
        "termination": "completed",
        "solution_status": "feasible",
        "sense": "maximize",
        "objective": 5.0,
        "solution": {
            "selected": ["a", "b"],
            "demand": 14.0,
            "capacity": 15.0,
            "shares": {"team": {"fx": 9 / 15, "light": 5 / 15}},
            "tasks": [dict(zip(fields, row, strict=True)) for row in rows],
            "completion": {"a": 7.0, "b": 8.0},
            "makespan": 8.0,
            "utilization": 13.5 / 15,
        },
    }


def judged(changed: dict[str, Any], night: Instance | None = None) -> list[str]:
    return check(night or a_night(), msgspec.convert(changed, Document)).violations


def test_check_schedule_passes_a_right_one() -> None:
    assert judged(document()) == []


BROKEN = {
    "tasks that are missing: b[1][1]": lambda s: s["tasks"].pop(),
    "tasks that are listed twice: a[0][0]": lambda s: s["tasks"].append(dict(s["tasks"][0])),
    "not of a job that is run: c[0][0]": lambda s: s["tasks"][0].update(job="c"),
    "completion: wrong for: b": lambda s: s["completion"].pop("b"),
    "no job is called 'c'": lambda s: s["selected"].append("c"),
    "a is listed twice": lambda s: s["selected"].append("a"),
}


@pytest.mark.parametrize("message", BROKEN)
def test_check_schedule_names_each_fault(message: str) -> None:
    changed = document()
    BROKEN[message](changed["solution"])
    assert any(message in violation for violation in judged(changed)), judged(changed)


def test_check_schedule_with_late_rewards() -> None:
    late = a_night(late=((0.0, 0.75), (1.0, 0.25)))  # b is half a unit late: half of 4
    assert judged(document() | {"objective": 7.0}, late) == []
    longer = a_night(late=((0.0, 0.75), (1.0, 0.25), (2.0, 0.1)))  # the rest does not matter
    assert judged(document() | {"objective": 7.0}, longer) == []
    assert judged(document() | {"objective": 5.0}, late) != []
    gone = a_night(late=((0.0, 0.75), (0.25, 0.5)))
    assert judged(document(), gone) == []


def test_check_schedule_refuses_unpaid_jobs_of_a_solution() -> None:
    """A dispatcher may be given too much to do; the formulation has all jobs end while paid."""
    solved = document() | {"formulation": "schedule", "solver": "hand"}
    del solved["policy"]
    assert judged(solved) == ["complete too late to be paid: b"]
    due = msgspec.structs.replace(a_night().jobs[1], deadline=7.75)
    assert judged(solved, a_night(jobs=(a_night().jobs[0], due))) != []
    late = a_night(late=((0.0, 0.75), (0.5, 0.0)))  # b ends with the last of what is paid
    assert judged(solved, late) == []


def test_check_schedule_judges_side_constraints() -> None:
    capped = a_night(constraints=(FairShare(by="team", at_most={"fx": 0.5}, name="fx cap"),))
    assert judged(document(), capped) == ["fx cap: fx gets 0.6, at most 0.5 asked"]
