"""Releases, deadlines and seats, by hand."""

import pytest
from builders.dssp import best
from builders.refusals import refusal

from schedopt import evaluate, solve
from schedopt.formulations.dssp import Selection
from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.instances.files import example
from schedopt.policies.registry import NotApplicableError, registered


def job(name: str, length: float, **more: object) -> Job:
    return Job(name=name, reward=1.0, stages=((length,),), **more)  # type: ignore[arg-type]


def night(*jobs: Job, **more: object) -> Instance:
    given = {"name": "n", "processors": 1, "deadline": 10.0, "jobs": jobs} | more
    return Instance(**given)  # type: ignore[arg-type]


def test_what_rests_on_one_window_does_not_apply() -> None:
    windowed = night(job("a", 2.0, deadline=3.0), job("b", 2.0, deadline=3.0))
    seated = night(job("a", 2.0), constraints=(Seats(capacity=1, use={"a": 1}),))
    for instance in (windowed, seated):
        assert evaluate(instance, "maxk").termination == "not-applicable"
        assert "Theorem 4" in str(refusal(Selection, instance, fill="guaranteed"))
        with pytest.raises(NotApplicableError, match="Theorem 4"):
            registered("dssp")["greedy"].run(instance, fill="guaranteed")
    with pytest.raises(InputError, match="Theorem 4"):
        Selection(night(job("a", 2.0)), fill="guaranteed").add(Seats(capacity=1, use={"a": 1}))
    assert evaluate(windowed, "core").termination == "not-applicable"


@pytest.mark.parametrize(
    ("field", "value"),
    [("release", -1.0), ("release", float("inf")), ("deadline", 0.0), ("deadline", float("nan"))],
)
def test_windows_that_are_none(field: str, value: float) -> None:
    with pytest.raises(InputError, match=field):
        job("a", 1.0, **{field: value})


def test_the_bundled_evening() -> None:
    assert solve("example:evening").objective == 27
    assert solve("example:evening", formulation="schedule", threads=1).objective == 22
    evening = example("evening")
    assert isinstance(evening, Instance)
    assert best(evening) == 27
