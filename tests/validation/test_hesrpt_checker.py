"""The checker of allocations finds what is wrong, and believes nothing."""

from typing import Any

import msgspec
import pytest
from builders.hesrpt import cluster

import schedopt
from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power, Table
from schedopt.solvers.result import Document


def solved(instance: Instance | None = None) -> tuple[Instance, Document]:
    instance = instance or cluster([3, 2, 1], Power(p=0.5), objective="mean-flow-time")
    return instance, schedopt.solve(instance).claim()


def broken(result: Document, **changes: Any) -> Document:
    return msgspec.structs.replace(result, solution={**result.solution, **changes})


def violations(instance: Instance, result: Document) -> str:
    return "\n".join(schedopt.check(instance, result).violations)


def test_what_was_solved_holds() -> None:
    instance, result = solved()
    assert schedopt.check(instance, result).ok


def test_less_service_leaves_work() -> None:
    instance, result = solved()
    epochs = [{**e, "share": dict(e["share"])} for e in result.solution["epochs"]]
    epochs[0]["share"]["j2"] *= 0.99
    assert "work: j2 has" in violations(instance, broken(result, epochs=epochs))


def test_more_than_all_servers_is_seen() -> None:
    instance, result = solved()
    epochs = [{**e, "share": dict(e["share"])} for e in result.solution["epochs"]]
    epochs[0]["share"]["j2"] += 0.01
    assert "shares sum to 1.01" in violations(instance, broken(result, epochs=epochs))


def test_service_after_completion_and_before_arrival_is_seen() -> None:
    instance, result = solved()
    epochs = [{**e, "share": dict(e["share"])} for e in result.solution["epochs"]]
    epochs[-1]["share"]["j2"] = 0.0001
    assert "after it completes" in violations(instance, broken(result, epochs=epochs))
    late = [msgspec.structs.replace(job, arrival=0.01) for job in instance.jobs]
    early = msgspec.structs.replace(instance, jobs=tuple(late))
    assert "before it arrives" in violations(early, result)


def test_gaps_between_epochs_are_seen() -> None:
    instance, result = solved()
    assert "starts at" in violations(instance, broken(result, epochs=result.solution["epochs"][1:]))


def test_wrong_numbers_are_seen() -> None:
    instance, result = solved()
    assert result.objective is not None
    off = msgspec.structs.replace(
        result, objective=result.objective * 1.01, bound=result.objective * 1.01
    )
    assert "objective" in violations(instance, off)
    ends = {**result.solution["completion"], "j0": 0.1}
    assert violations(instance, broken(result, completion=ends))
    unknown = {**result.solution["completion"], "j9": 1.0}
    assert "j9" in violations(instance, broken(result, completion=unknown))
    assert "order" in violations(instance, broken(result, order=["j0", "j1", "j2"]))


def test_another_order_than_was_asked_for_is_seen() -> None:
    instance, result = solved()
    asked = msgspec.structs.replace(result, options={**result.options, "order": "j0,j1,j2"})
    assert "another than was asked for" in violations(instance, asked)


def test_a_gap_is_not_certified_over_all() -> None:
    instance, result = solved()
    assert result.bound is not None and result.objective is not None
    worse = msgspec.structs.replace(
        result, bound=0.9 * result.bound, gap=0.1, solution_status="feasible"
    )
    assert "certified over all orders" in violations(instance, worse)


@pytest.mark.parametrize(
    ("constraint", "says"),
    [
        ({"kind": "share", "name": "cap", "jobs": ["j2"], "at_most": 0.5}, "cap: j2 has"),
        ({"kind": "share", "jobs": ["j0"], "at_least": 0.3}, "share[0]: j0 has"),
        ({"kind": "fair-share", "by": "team", "at_least": {"b": 0.9}}, "fair-share[0]: b has"),
        ({"kind": "fair-share", "by": "team", "at_most": {"a": 0.5}}, "fair-share[0]: a has"),
    ],
)
def test_side_constraints_are_judged(constraint: dict[str, Any], says: str) -> None:
    instance, result = solved()
    added = msgspec.structs.replace(result, constraints=(constraint,))
    assert says in violations(instance, added)


def test_proportions_are_played_back() -> None:
    instance = cluster([3, 2, 1], Power(p=0.5), objective="mean-flow-time")
    many = schedopt.generate("hesrpt", seed=1, options={"jobs": 2000})
    result = schedopt.evaluate(many, "hesrpt").document()
    assert "proportions" in result.solution and result.violations == ()
    logs = dict(result.solution["proportions"])
    first = result.solution["order"][0]
    logs[first] -= 0.1
    assert "complete at other times" in violations(many, broken(result, proportions=logs))
    del logs[first]
    assert "for all jobs" in violations(many, broken(result, proportions=logs))
    _, own = solved(instance)
    mixed = msgspec.structs.replace(instance, speedup=Amdahl(parallel=0.5))
    forged = broken(own, epochs=[], proportions=dict.fromkeys(("j0", "j1", "j2"), 0.0))
    assert "only for one speedup" in violations(mixed, forged)


@pytest.mark.parametrize("speedup", [Table(points=((1, 1), (4, 2.5))), Amdahl(parallel=0.7)])
@pytest.mark.parametrize("whole", [False, True])
def test_the_checkers_speedups_are_the_records(speedup: Any, whole: bool) -> None:
    from schedopt.validation.hesrpt.speeds import speeds

    instance = Instance(
        name="n", servers=9, whole=whole, jobs=(Job(name="a", size=1.0, speedup=speedup),)
    )
    (speed,) = speeds(instance)
    for k in (0, 0.3, 1, 1.5, 3.99, 4, 8.2):
        assert speed(k) == pytest.approx(float(instance.speedups[0].at(k)), rel=1e-12)
