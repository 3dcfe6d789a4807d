"""The checkers of epoch find what is wrong with broken schedules."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from schedopt import check, evaluate
from schedopt.instances.constraints import Apart, ResponseTime, Together
from schedopt.instances.epoch import Instance
from schedopt.instances.epoch.generators import named
from schedopt.instances.errors import InputError
from schedopt.solvers.result import Document
from schedopt.validation import documents


def instance(**fields: Any) -> Instance:
    given: dict[str, Any] = {"nodes": 8, "inequity": 1, "jobs": named([3, 5, 2, 8])}
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


def test_a_number_of_hundreds_of_digits_is_refused() -> None:
    def grow(document: Any) -> None:
        first(document)["nodes"]["j1"] = 10**400

    with pytest.raises(InputError, match=r"some 400 digits; .* at most 100 digits"):
        broken("heuristic-epoch", grow)


PAIR = {"duration": 0.5, "nodes": {"j1": 4, "j3": 4}}
PARTITIONS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "objective": (lambda d: d.update(objective=23.0), "the allotments sum to 24"),
    "a job is lost": (lambda d: d["solution"]["epochs"].pop(), "runs 0 times"),
    "a job runs twice": (lambda d: d["solution"]["epochs"].append(first(d)), "runs 2 times"),
    "two for four": (lambda d: d["solution"].update(epochs=[PAIR, PAIR]), "j2 runs 0 times"),
    "nobody": (lambda d: first(d)["nodes"].update(ghost=1), "no job is called 'ghost'"),
    "no job": (lambda d: d["solution"]["epochs"].append({"duration": 0.0, "nodes": {}}), "no job"),
    "too few nodes": (lambda d: first(d)["nodes"].update(j4=7), "gets 7 nodes, needs 8"),
    "too many": (lambda d: first(d)["nodes"].update(j4=9), "9 of 8 nodes"),
    "a duration": (lambda d: first(d).update(duration=0.5), "lasts 0.5"),
}


@pytest.mark.parametrize(("change", "words"), PARTITIONS.values(), ids=PARTITIONS)
def test_partitions(change: Callable[[Any], None], words: str) -> None:
    assert words in broken("heuristic-epoch", change)


def test_idle_nodes_and_inequity() -> None:
    over = instance(jobs=named([2, 2]))
    uneven = broken("dp", lambda d: first(d)["nodes"].update(j1=5, j2=3), over)
    assert "differ by 2, at most 1" in uneven
    assert "allots 7 of 8" in broken("dp", lambda d: first(d)["nodes"].update(j1=3), over)


def piece(document: Any, name: str = "j1") -> Any:
    return document["solution"]["rectangles"][name]


RECTANGLES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "objective": (lambda d: d.update(objective=3.0), "the allotments sum to"),
    "lost": (lambda d: d["solution"]["rectangles"].pop("j1"), "runs 0 times"),
    "too narrow": (lambda d: piece(d).update(nodes=2), "gets 2 nodes, needs 3"),
    "too small": (lambda d: piece(d).update(end=piece(d)["end"] - 0.1), "an area of"),
    "beyond the quantum": (lambda d: piece(d).update(start=0.9, end=1.4), "from 0.9 to 1.4"),
    "overlap": (lambda d: piece(d).update(start=0.0, end=0.5), "of 8 nodes run a job"),
    "one node twice": (lambda d: piece(d).update(first=piece(d, "j3")["first"]), "share a node"),
    "outside": (lambda d: piece(d).update(first=6), "not there"),
}


@pytest.mark.parametrize(("change", "words"), RECTANGLES.values(), ids=RECTANGLES)
def test_rectangles(change: Callable[[Any], None], words: str) -> None:
    assert words in broken("buddy", change)


def test_unequal_areas_are_for_hybrid_alone() -> None:
    over = instance(jobs=named([1, 1, 1, 1, 2, 2, 3]))
    assert "differ by" in broken("hybrid", lambda d: piece(d, "j7").update(nodes=5), over)
    assert "an area of" in broken("hybrid", lambda d: d.update(policy="buddy-star"), over)


def test_a_rule_that_no_checker_knows_is_not_judged() -> None:
    claim = evaluate(instance(), "dp").claim()
    report = documents.check(instance(), claim, [ResponseTime(need=1, at_most=1.0)])
    assert report.unjudged == ["response-time[0]: no checker knows response-time"]


@pytest.mark.parametrize("policy", ["dp", "buddy"])
def test_side_constraints(policy: str) -> None:
    for rule, words in (
        (Together(name="a pair", jobs=("j1", "j4")), "a pair"),
        (Apart(name="no pair", jobs=("j1", "j3")), "no pair"),
    ):
        over = instance(jobs=named([4, 8, 4, 8]))
        result = evaluate(over, policy, constraints=[rule])
        assert [v.startswith(words) for v in result.violations] == [True]
        assert not evaluate(instance(jobs=named([4, 8, 4, 8])), policy).violations
