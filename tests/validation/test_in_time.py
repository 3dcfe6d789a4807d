"""A check that has to end soon says what it did not recompute, and believes what rests on that."""

from itertools import pairwise

import msgspec
import pytest
from builders.msfq import at_load

from schedopt import generate, solve
from schedopt.solvers.result import Result
from schedopt.validation import documents
from schedopt.validation.msfq import solved
from schedopt.validation.report import Report
from schedopt.verbs import stages

QUEUE = at_load(12, 0.6)


@pytest.fixture(scope="module")
def right() -> Result:
    return solve(QUEUE)


def checked(result: Result, seconds: float | None, forgotten: bool = True) -> Report:
    if forgotten:
        solved._curve_of.cache_clear()
    return documents.check(QUEUE, result.claim(), [], seconds)


def test_without_time_nothing_is_recomputed_and_the_bound_is_believed(right: Result) -> None:
    report = checked(right, 0.0)
    assert report.violations == []
    assert report.unchecked == ["curve: not recomputed in the time that there was"]
    assert report.bound == "believed, from queues"


@pytest.mark.parametrize("seconds", [None, 1e9])
def test_with_time_all_of_it_is(right: Result, seconds: float | None) -> None:
    report = checked(right, seconds)
    assert report.violations == report.unchecked == []
    assert report.bound == "re-proved"


def test_what_is_looked_at_first_is_the_threshold_and_beside_it(
    right: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Report, "left", property(lambda _: 1e-9))
    monkeypatch.setattr(solved._Curve, "fits", lambda *_: True)
    assert right.solution is not None
    at, curve = right.solution.threshold, list(right.solution.curve)
    report = checked(right, 1.0)
    looked = len({at - 1, at, at + 1} & set(range(12)))
    assert report.violations == []
    assert f"recomputed at {looked} of 12 thresholds in the time" in report.unchecked[0]
    assert report.bound.startswith("believed")
    curve[at] *= 1.001
    wrong = msgspec.structs.replace(right.solution, curve=tuple(curve))
    report = checked(msgspec.structs.replace(right, solution=wrong), 1.0)
    assert any("curve" in violation for violation in report.violations)


def test_no_look_is_at_many_more_thresholds_than_the_one_before(
    right: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a few took says little of many: sums of many steps are other work for the machine."""
    looks, look = list[int](), solved._Curve.look
    monkeypatch.setattr(
        solved._Curve, "look", lambda self, some: (looks.append(len(some)), look(self, some))[1]
    )
    assert checked(right, 1e9).bound == "re-proved"
    assert sum(looks) == 12
    assert all(more <= 2 * less for less, more in pairwise(looks))


def test_seconds_add_up_to_what_a_solve_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = [0.0]

    def now() -> float:
        ticks[0] += 1
        return ticks[0]

    monkeypatch.setattr("schedopt.verbs.stages.now", now)
    seconds = solve(QUEUE, certificate=True, confirm=True).seconds
    known = msgspec.structs.asdict(seconds)
    known.pop("compile")
    assert None not in known.values()
    assert sum(s for s in known.values() if s) == ticks[0] - 1
    assert seconds.confirm
    assert seconds.certify
    assert not seconds.explain


def test_a_large_solution_is_not_checked_where_no_time_is_left_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = generate("epoch", seed=1)
    result = solve(instance)
    wrong = msgspec.structs.replace(result, objective=1.5 * (result.objective or 1.0))
    claim = wrong.written(question=False)
    assert documents.check(instance, claim, [], 0.0).violations != []  # it is small
    monkeypatch.setattr(documents, "LARGE", 0)
    report = documents.check(instance, claim, [], 0.0)
    assert report.unchecked == ["the solution: no time was left; `schedopt check` has its own"]
    assert (report.late, report.bound) == (True, f"believed, from {result.solver}")
    assert documents.check(instance, claim, [], 1e9).violations != []
    monkeypatch.setattr(stages, "OVER", 0.0)
    late = solve(instance, time_limit=0.0)
    assert not late.checked
    assert "not checked: the solution" in str(late.message)
    assert late.solution is not None
