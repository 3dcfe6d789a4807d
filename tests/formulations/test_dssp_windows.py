"""Releases, deadlines and seats, by hand."""

import pytest
from builders.dssp import best
from builders.dssp_windows import best_schedule
from builders.effort import ALL

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


def test_what_lives_between_two_times_fits_there() -> None:
    early = [job(f"early-{i}", 2.0, deadline=3.0) for i in range(2)]
    late = [job(f"late-{i}", 2.0, release=7.0) for i in range(2)]
    assert solve(night(*early, *late)).objective == 2.0
    assert solve(night(*early, *late, processors=2)).objective == 4.0
    assert solve(night(job("never", 4.0, release=7.0))).objective == 0.0
    assert solve(night(job("tenth", 0.3, release=0.1, deadline=0.4))).objective == 1.0


def test_a_deadline_after_the_files_means_what_it_says() -> None:
    longer = night(job("a", 9.0), job("b", 9.0, deadline=18.0))
    result = solve(longer)
    assert result.objective == 2.0
    assert not result.violations
    assert solve(night(job("a", 9.0), job("b", 9.0, deadline=17.0))).objective == 1.0


def test_seats_are_held_while_tasks_run() -> None:
    two = (job("a", 5.0), job("b", 5.0))
    one_seat = Seats(capacity=1, use={"a": 1, "b": 1})
    assert solve(night(*two, processors=2, constraints=(one_seat,))).objective == 2.0
    short = Seats(capacity=1, use={"a": 1, "b": 2})
    assert solve(night(*two, processors=2, constraints=(short,))).solution.selected == ("a",)
    assert solve(night(*two, deadline=9.0, processors=2, constraints=(one_seat,))).objective == 1.0


def test_rows_are_in_the_native_model_too() -> None:
    model = Selection(night(job("a", 2.0, deadline=3.0), job("b", 2.0, deadline=3.0)))
    model.model.x["a"].setlb(0)
    model.model.mine = __import__("pyomo.environ").environ.Constraint(expr=model.model.x["b"] >= 1)
    result = solve(model)
    assert result.solution.selected == ("b",)


def test_what_rests_on_one_window_does_not_apply() -> None:
    windowed = night(job("a", 2.0, deadline=3.0), job("b", 2.0, deadline=3.0))
    seated = night(job("a", 2.0), constraints=(Seats(capacity=1, use={"a": 1}),))
    for instance in (windowed, seated):
        assert evaluate(instance, "maxk").termination == "not-applicable"
        with pytest.raises(InputError, match="Theorem 4"):
            Selection(instance, fill="guaranteed")
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
    if ALL:  # half a minute
        assert best_schedule(evening) == 22
