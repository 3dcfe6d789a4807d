"""The checker of allocations recomputes everything, and bounds the value of work."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.hesrpt import cluster

import schedopt
from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power, Table
from schedopt.solvers.result import Document
from schedopt.validation import documents
from schedopt.validation.hesrpt.allocation import rates_of
from schedopt.validation.hesrpt.bound import most_earned


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
    "less service": (lambda d: share(d).update(j2=0.99 * share(d)["j2"]), "work: j2 has"),
    "too many servers": (lambda d: share(d).update(j2=share(d)["j2"] + 0.01), "sum to 1.01"),
    "service when done": (lambda d: share(d, -1).update(j2=0.0001), "after it completes"),
    "no first epoch": (lambda d: d["solution"]["epochs"].pop(0), "starts at"),
    "objective": (
        lambda d: d.update(objective=1.01 * d["objective"], bound=1.01 * d["objective"]),
        "objective",
    ),
    "completion": (lambda d: d["solution"]["completion"].update(j0=0.1), "completion"),
    "before time": (lambda d: d["solution"]["completion"].update(j2=-1.0), "j2 completes at -1"),
    "a share of nobody": (lambda d: share(d).update(ghost=0.0), "no job is called 'ghost'"),
    "the last two": (
        lambda d: d["solution"].update(order=["j2", "j0", "j1"]),
        "order: does not list",
    ),
    "neighbours": (
        lambda d: d["solution"].update(order=["j1", "j2", "j0"]),
        "order: does not list",
    ),
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
        schedopt.Shares(jobs=("late",), at_least=0.3, name="floor"),
        schedopt.Shares(jobs=("a",), at_most=0.5, name="floor"),
    ):
        report = documents.check(instance, forged, [rule])
        assert "floor: " in "".join(report.violations)
    rule = schedopt.Shares(jobs=("a", "late"), at_least=0.0, at_most=1.0)
    assert documents.check(instance, forged, [rule]).ok
    ever = schedopt.Shares(jobs=("a",), at_least=0.1, name="floor")
    short = [
        {"start": 0.0, "end": 1e-10, "share": {}},
        {"start": 1e-10, "end": 10.0, "share": {"a": 1.0}},
        {"start": 10.0, "end": 11.0, "share": {"late": 1.0}},
    ]
    forged = broken(forged, epochs=short)
    (said,) = documents.check(instance, forged, [ever]).violations
    assert said == "floor: a has 0 in epochs[0], at least 0.1"


def test_check_allocation_speedups_equal_the_records() -> None:
    kinds = (Table(points=((2, 1.5), (4, 2.5))), Amdahl(parallel=0.7), Power(p=0.4), None)
    jobs = tuple(Job(name=f"j{i}", size=1.0, speedup=kinds[i % 4]) for i in range(24))
    common = Table(points=((1, 1), (3, 1.25)))
    instance = Instance(name="n", servers=9, speedup=common, jobs=jobs)
    at, servers = np.arange(24)[::-1], np.linspace(0.0, 9.0, 24)
    expected = instance.each("at", at, servers)
    assert rates_of(instance, at, servers) == pytest.approx(expected, rel=1e-12)
    assert not rates_of(instance, at, np.zeros(24)).any()


SPEEDUPS = [
    Power(p=0.5),
    Power(p=0.97),
    Power(p=1.0),
    Amdahl(parallel=0.9),
    Amdahl(parallel=0.3),
    Amdahl(parallel=1.0),
    Table(points=((1, 1), (2, 1.8), (8, 4))),
    Table(points=((0.5, 0.7), (2.5, 2), (7, 3.1))),
]


def speed(speedup: Any, k: Decimal) -> Decimal:
    """Return a speedup in forty digits."""
    if isinstance(speedup, Power):
        return k ** Decimal(str(speedup.p)) if k else k
    if isinstance(speedup, Amdahl):
        f = Decimal(str(speedup.parallel))
        return k / ((1 - f) * k + f)
    points = [(Decimal(0), Decimal(0))]
    for point in speedup.points:
        points.append((Decimal(str(point[0])), Decimal(str(point[1]))))
        (a, low), (b, high) = points[-2:]
        if k <= b:
            return low + (k - a) / (b - a) * (high - low)
    return points[-1][1]


@pytest.mark.parametrize("speedup", SPEEDUPS, ids=str)
def test_most_earned_is_at_least_the_best_grid_solution(speedup: Any) -> None:
    """Beside the best of all shares in steps of a tenth of a server, one job after another."""
    grid = range(101)
    speeds = np.array([float(speed(speedup, Decimal(k) / 10)) for k in grid])
    for prices in np.random.default_rng(5).uniform(0.1, 2.0, (3, 4)):
        prices[1] = 0.0
        best = np.zeros(101)  # by tenths of servers
        found = most_earned(cluster([1], speedup, 10), prices)
        for price, bound in zip(prices, found, strict=True):
            best = np.array([(best[k::-1] + price * speeds[: k + 1]).max() for k in grid])
            assert best[-1] * (1 - 1e-9) <= bound <= best[-1] * 1.01 + 1e-9
