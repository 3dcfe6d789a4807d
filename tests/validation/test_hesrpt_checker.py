"""The checker of allocations recomputes everything, and proves bounds from prices of work."""

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.hesrpt import cluster

import schedopt
from schedopt.formulations.constraints import Shares
from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power, Table
from schedopt.solvers.result import Document
from schedopt.validation import documents
from schedopt.validation.hesrpt.bound import most_earned, reprove


def solved(instance: Instance | None = None) -> tuple[Instance, Document]:
    instance = instance or cluster([3, 2, 1], Power(p=0.5), objective="mean-flow-time")
    return instance, schedopt.solve(instance).document()


def broken(result: Document, **changes: Any) -> Document:
    return msgspec.structs.replace(result, solution={**result.solution, **changes})


def violations(instance: Instance, result: Document) -> str:
    return "\n".join(schedopt.check(instance, result).violations)


def share(d: Any, epoch: int = 0) -> Any:
    return d["solution"]["epochs"][epoch]["share"]


def ruled(**rule: Any) -> Callable[[Any], None]:
    return lambda d: d.update(constraints=[rule])


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "service when done": (lambda d: share(d, -1).update(j2=0.0001), "after it completes"),
    "no first epoch": (lambda d: d["solution"]["epochs"].pop(0), "starts at"),
    "a share of nobody": (lambda d: share(d).update(ghost=0.0), "no job is called 'ghost'"),
    "nobody": (lambda d: d["solution"]["completion"].update(j9=1.0), "j9"),
    "order": (lambda d: d["solution"].update(order=["j0", "j1", "j2"]), "order"),
    "another order": (lambda d: d["options"].update(order="j0,j1,j2"), "the required order"),
    "a gap": (
        lambda d: d.update(bound=0.9 * d["bound"], gap=0.1, solution_status="feasible"),
        "certified over all orders",
    ),
    "a cap": (ruled(kind="share", name="cap", jobs=["j2"], at_most=0.5), "cap: j2 has"),
    "a floor": (ruled(kind="share", jobs=["j0"], at_least=0.3), "share[0]: j0 has"),
    "a team's floor": (ruled(kind="fair-share", by="team", at_least={"b": 0.9}), "[0]: b has"),
    "a team's cap": (ruled(kind="fair-share", by="team", at_most={"a": 0.5}), "[0]: a has"),
}


@pytest.mark.parametrize(("change", "says"), WRONG.values(), ids=WRONG)
def test_check_allocation_names_each_fault(change: Callable[[Any], Any], says: str) -> None:
    instance, result = solved()
    document = msgspec.to_builtins(result)
    document.pop("question")  # a result without a question has the options and constraints it names
    change(document)
    assert says in violations(instance, msgspec.convert(document, Document))


def test_check_allocation_finds_service_before_arrival() -> None:
    instance, result = solved()
    late = [msgspec.structs.replace(job, arrival=0.01) for job in instance.jobs]
    early = msgspec.structs.replace(instance, jobs=tuple(late))
    assert "before it arrives" in violations(early, result)


def test_check_allocation_judges_floors_from_the_arrival() -> None:
    """Also where a job comes after the middle of an epoch."""
    late = Job(name="late", size=1.0, arrival=5.1)
    instance = Instance(
        name="n", servers=1, speedup=Power(p=0.5), jobs=(Job(name="a", size=10.0), late)
    )
    result = schedopt.evaluate(instance, "equi").document()
    epochs = [
        {"start": 0.0, "end": 10.0, "share": {"a": 1.0}},
        {"start": 10.0, "end": 11.0, "share": {"late": 1.0}},
    ]
    ends = {"a": 10.0, "late": 11.0}
    forged = broken(result, epochs=epochs, completion=ends, order=["a", "late"])
    forged = msgspec.structs.replace(forged, objective=(10.0 + 5.9) / 2)
    assert violations(instance, forged) == ""
    for rule in (
        Shares(jobs=("late",), at_least=0.3, name="floor"),
        Shares(jobs=("a",), at_most=0.5, name="floor"),
    ):
        report = documents.check(instance, forged, [rule])
        assert "floor: " in "".join(report.violations)


SPEEDUPS = [
    Power(p=0.97),
    Power(p=1.0),
    Amdahl(parallel=0.9),
    Amdahl(parallel=1.0),
    Table(points=((0.5, 0.7), (2.5, 2), (7, 3.1))),
]


@pytest.mark.parametrize("speedup", SPEEDUPS, ids=str)
def test_most_earned_is_at_least_the_best_grid_solution(speedup: Any) -> None:
    """Beside the best of all shares in steps of a tenth of a server, one job after another."""
    grid = range(101)
    speeds = speedup.at(np.arange(101) / 10)
    for prices in np.random.default_rng(5).uniform(0.1, 2.0, (3, 4)):
        prices[1] = 0.0
        best = np.zeros(101)  # by tenths of servers
        found = most_earned(cluster([1], speedup, 10), prices)
        for price, bound in zip(prices, found, strict=True):
            best = np.array([(best[k::-1] + price * speeds[: k + 1]).max() for k in grid])
            assert best[-1] * (1 - 1e-9) <= bound <= best[-1] * 1.01 + 1e-9


def certified(instance: Instance) -> tuple[Document, dict[str, Any]]:
    """Solve an instance and make the certificate of its bound."""
    result = schedopt.solve(instance, certificate=True)
    return result.document(), dict(result.certificate)


def verdict(instance: Instance, claim: Document, proof: dict[str, Any]) -> str | None:
    return reprove(instance, instance.constraints, proof, claim)


@cache
def proofs() -> list[tuple[Instance, Document, dict[str, Any]]]:
    """Return instances, claims and certificates: of each kind of speedup, and of each objective."""
    table = Table(points=((1, 1), (2, 1.8), (8, 4)))
    found = []
    for instance in (
        cluster([3, 2, 1], Amdahl(parallel=0.8)),
        cluster([3, 2, 1, 2.5], table, objective="mean-flow-time"),
        cluster([3, 1], Power(p=0.4), weights=[0.3, 0.3], objective="weighted-flow-time"),
    ):
        claim, proof = certified(instance)
        assert verdict(instance, claim, proof) is None
        found.append((instance, claim, proof))
    return found


def test_reprove_hesrpt_refuses_other_instances() -> None:
    for instance, claim, proof in proofs():
        own = [
            msgspec.structs.replace(job, arrival=1e-3 * j) for j, job in enumerate(instance.jobs)
        ]
        late = msgspec.structs.replace(instance, jobs=tuple(own))
        assert "arrive later" in str(verdict(late, claim, proof))
        makespan = msgspec.structs.replace(instance, objective="makespan")
        assert "of a makespan" in str(verdict(makespan, claim, proof))
    alike, claim, ranks = proofs()[0]
    weighty = [msgspec.structs.replace(job, weight=1.0 + j) for j, job in enumerate(alike.jobs)]
    slow = [msgspec.structs.replace(alike.jobs[0], speedup=Power(p=0.1)), *alike.jobs[1:]]
    for change, says in (
        ({"jobs": tuple(slow)}, "more than their sizes"),
        ({"constraints": (Shares(jobs=("j0",), at_most=0.5),)}, "more than their sizes"),
        ({"jobs": tuple(weighty), "objective": "weighted-flow-time"}, "in weight"),
    ):
        assert says in str(verdict(msgspec.structs.replace(alike, **change), claim, ranks))
    by_place = {**ranks, "prices": [*ranks["prices"], 1.0]}
    assert "for each place" in str(verdict(alike, claim, by_place))


def test_solve_hesrpt_says_why_there_is_no_certificate() -> None:
    instance = cluster([3, 2, 1], Power(p=0.5), own=[Power(p=0.7), Amdahl(parallel=0.9), None])
    result = schedopt.solve(instance, certificate=True)
    assert result.proven and not result.bound_checked and result.certificate is msgspec.UNSET
    assert "no certificate (jobs differ in more than their sizes" in str(result.message)
    assert schedopt.check(instance, result.document()).bound == f"believed, from {result.solver}"
