"""Records that are made in Python are checked as files are, in the same words."""

from typing import Any

import numpy as np
from pytest import mark, raises

from schedopt.formulations.constraints import Constraint
from schedopt.instances.constraints import AtMost, FairShare, Forbid, Seats
from schedopt.instances.decoding import convert
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.epoch import Job as Minimum
from schedopt.instances.errors import InputError
from schedopt.instances.hesrpt import Job as Sized
from schedopt.instances.msfq import JobClass

JOB = {"name": "a", "demand": 1, "critical_path": 1}
WRONG: list[tuple[type, dict[str, Any]]] = [
    (FairShare, {"by": "team", "at_most": {"fx": 40}}),
    (FairShare, {"by": "team", "each": {"at_most": 3}}),
    (Seats, {"name": "houdini", "capacity": -3, "use": {}}),
    (AtMost, {"count": 2.7, "jobs": ["a"]}),
    (Instance, {"name": "n", "processors": 2.5, "deadline": 10, "jobs": []}),
    (Instance, {"name": "n", "processors": 2, "deadline": 10, "jobs": [{**JOB, "reward": -1}]}),
    (Job, {**JOB, "reward": "1"}),
    (Job, {**JOB, "reward": 1, "groups": {"team": 3}}),
    (Minimum, {"name": "a", "minimum": True}),
    (Sized, {"name": "a", "size": None}),
    (JobClass, {"need": 1, "arrival_rate": "1", "service_rate": 1}),
]


@mark.parametrize(
    ("kind", "given"), WRONG, ids=[f"{k.__name__}-{i}" for i, (k, _) in enumerate(WRONG)]
)
def test_wrong_fields_are_told_as_of_a_file(kind: Any, given: dict[str, Any]) -> None:
    with raises(InputError) as of_file:
        convert(given, kind, "")
    with raises(InputError) as made:
        kind(**given)
    assert str(made.value) == str(of_file.value)
    assert made.value.found


def test_numbers_of_numpy_and_lists_are_taken_as_python_has_them() -> None:
    job = Job(name="a", reward=np.int64(3), stages=[[np.float64(1.5)], np.array([2.0, 1.0])])  # type: ignore[arg-type]
    assert (type(job.reward), job.reward) == (int, 3)
    assert job.stages == ((1.5,), (2.0, 1.0))
    night = Instance(name="n", processors=np.int64(2), deadline=10, jobs=[job])  # type: ignore[arg-type]
    assert night.jobs[0] is job


def test_records_within_may_be_written_as_json_has_them() -> None:
    rules: Any = [{"kind": "forbid", "jobs": ["a"]}]
    jobs: Any = [{**JOB, "reward": 2}]
    night = Instance(name="n", processors=2, deadline=10, jobs=jobs, constraints=rules)
    assert night.constraints == (Forbid(jobs=("a",)),)
    assert night.jobs == (Job(**JOB, reward=2),)


def test_a_kind_of_ones_own_is_taken_and_checked() -> None:
    class Budget(Constraint, frozen=True, kw_only=True, tag="budget of mine"):
        money: float

    rule = Budget(money=3)
    jobs = (Job(**JOB, reward=2),)
    night = Instance(name="n", processors=2, deadline=10, jobs=jobs, constraints=(rule,))
    assert night.constraints[0] is rule
    with raises(InputError, match="money: found '3'; expected a number"):
        Budget(money="3")


def test_what_no_file_can_hold_is_refused() -> None:
    with raises(InputError, match="expected values that a file can hold"):
        Job(**JOB, reward=object())  # type: ignore[arg-type]
    with raises(TypeError, match="rewar"):
        Job(**JOB, rewar=1)  # type: ignore[call-arg]
