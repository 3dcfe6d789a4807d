"""The checkers of epoch find what is wrong with schedules, and re-prove only bounds that hold."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest
from builders.effort import tried
from builders.epoch import fewest, packing, some_packing
from hypothesis import assume

from schedopt import check, evaluate
from schedopt.formulations.epoch import Partition
from schedopt.instances.constraints import Apart, Together
from schedopt.instances.epoch import Instance
from schedopt.instances.epoch.generators import numbered_jobs
from schedopt.solvers import portfolio
from schedopt.solvers.epoch.bounding import certificate
from schedopt.solvers.result import Document, Limits
from schedopt.validation.epoch.bound import reprove


def instance(**fields: Any) -> Instance:
    given: dict[str, Any] = {"nodes": 8, "inequity": 1, "jobs": numbered_jobs([3, 5, 2, 8])}
    return Instance(name="n", **{**given, **fields})


def broken(policy: str, change: Callable[[Any], None], over: Instance | None = None) -> str:
    """Return what the checker says of a policy's result after a change to its document."""
    over = over or instance()
    document = msgspec.to_builtins(evaluate(over, policy).document())
    assert check(over, msgspec.convert(document, Document)).ok
    change(document)
    return "; ".join(check(over, msgspec.convert(document, Document)).violations)


def first(document: Any) -> Any:
    return document["solution"]["epochs"][0]


PAIR = {"duration": 0.5, "nodes": {"j1": 4, "j3": 4}}
PARTITIONS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a job is lost": (lambda d: d["solution"]["epochs"].pop(), "runs 0 times"),
    "a job runs twice": (lambda d: d["solution"]["epochs"].append(first(d)), "runs 2 times"),
    "two for four": (lambda d: d["solution"].update(epochs=[PAIR, PAIR]), "j2 runs 0 times"),
    "nobody": (lambda d: first(d)["nodes"].update(ghost=1), "no job is called 'ghost'"),
    "no job": (lambda d: d["solution"]["epochs"].append({"duration": 0.0, "nodes": {}}), "no job"),
}


@pytest.mark.parametrize(("change", "words"), PARTITIONS.values(), ids=PARTITIONS)
def test_check_epoch_names_faults_of_partitions(change: Callable[[Any], None], words: str) -> None:
    assert words in broken("heuristic-epoch", change)


def test_check_epoch_judges_idle_nodes_and_inequity() -> None:
    over = instance(jobs=numbered_jobs([2, 2]))
    uneven = broken("paper-search", lambda d: first(d)["nodes"].update(j1=5, j2=3), over)
    assert "differ by 2, at most 1" in uneven
    assert "allots 7 of 8" in broken("paper-search", lambda d: first(d)["nodes"].update(j1=3), over)


def piece(document: Any, name: str = "j1") -> Any:
    return document["solution"]["rectangles"][name]


RECTANGLES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "lost": (lambda d: d["solution"]["rectangles"].pop("j1"), "runs 0 times"),
    "overlap": (lambda d: piece(d).update(start=0.0, end=0.5), "of 8 nodes run a job"),
    "one node twice": (lambda d: piece(d).update(first=piece(d, "j3")["first"]), "share a node"),
}


@pytest.mark.parametrize(("change", "words"), RECTANGLES.values(), ids=RECTANGLES)
def test_check_epoch_names_faults_of_rectangles(change: Callable[[Any], None], words: str) -> None:
    assert words in broken("buddy", change)


def test_check_epoch_allows_unequal_areas_for_hybrid_only() -> None:
    over = instance(jobs=numbered_jobs([1, 1, 1, 1, 2, 2, 3]))
    assert "differ by" in broken("hybrid", lambda d: piece(d, "j7").update(nodes=5), over)
    assert "an area of" in broken("hybrid", lambda d: d.update(policy="buddy-star"), over)


@pytest.mark.parametrize("policy", ["paper-search", "buddy"])
def test_check_epoch_judges_side_constraints(policy: str) -> None:
    for rule, words in (
        (Together(name="a pair", jobs=("j1", "j4")), "a pair"),
        (Apart(name="no pair", jobs=("j1", "j3")), "no pair"),
    ):
        over = instance(jobs=numbered_jobs([4, 8, 4, 8]))
        result = evaluate(over, policy, constraints=[rule])
        assert [v.startswith(words) for v in result.violations] == [True]
        assert not evaluate(instance(jobs=numbered_jobs([4, 8, 4, 8])), policy).violations


def judged(
    instance: Instance, given: Mapping[str, object], bound: float, **claimed: object
) -> str | None:
    """Judge a certificate of a bound, as a document of the instance would claim it."""
    fields = {
        "instance": instance.name,
        "problem": "epoch",
        "formulation": "partition",
        "termination": "time-limit",
        "solution_status": "none",
        "sense": "minimize",
        "bound": bound,
    }
    claim = msgspec.convert({**fields, **claimed}, Document)
    return reprove(instance, instance.constraints, given, claim)


@tried(100, some_packing(most=6, rules=True))
def test_reprove_epoch_bound_and_no_more(instance: Instance) -> None:
    best = fewest(instance)
    assume(best is not None)
    model = Partition(instance)
    result = portfolio.solve(model, Limits(threads=1))
    given = certificate(model, result)
    if given is None:
        return
    assert judged(instance, given, result.bound) is None
    assert judged(instance, given, (best + 1) * instance.nodes)
    assert judged(instance, given, result.bound + 0.5)


def test_reprove_epoch_with_bundles_and_jobs_apart() -> None:
    bundled = packing([8, 1, 1, 1], 8, 1, [Together(jobs=("j2", "j3"))])
    assert judged(bundled, {"kind": "nodes"}, 16.0) is None
    apart = packing([1, 1, 1], 8, 1, [Apart(name="one disk", jobs=("j1", "j2", "j3"))])
    given = {"kind": "apart", "constraint": "one disk"}
    assert judged(apart, given, 24.0) is None
    assert judged(apart, given, 32.0)
    assert judged(packing([1, 1, 1], 8, 1), given, 16.0)
