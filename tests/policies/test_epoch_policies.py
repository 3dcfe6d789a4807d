"""epoch policies against brute force, the paper's examples, and what they promise."""

from typing import Any

import pytest
from builders.effort import examples
from builders.epoch import fewest, packing, some_packing
from hypothesis import given, settings

from schedopt import evaluate
from schedopt.instances.epoch import Instance
from schedopt.instances.epoch.generators import GENERATORS
from schedopt.instances.files import load
from schedopt.policies.epoch.search import vectors
from schedopt.policies.registry import NotApplicableError, registered

POLICIES = registered("epoch")


def got(instance: Instance, name: str) -> Any:
    """Run a policy, checked."""
    result = evaluate(instance, name)
    assert result.violations == ()
    return result.objective


@settings(max_examples=examples(150))
@given(some_packing())
def test_exact_methods_are_exact_and_heuristics_no_better(instance: Instance) -> None:
    best = instance.nodes * (fewest(instance) or 0)
    assert got(instance, "dp") == best
    assert got(instance, "paper-search") == best
    assert got(instance, "heuristic-epoch") >= best
    assert got(instance, "equi-epoch") >= best
    for name in ("buddy", "buddy-star", "hybrid"):  # feasible wherever they apply
        got(instance, name)


@pytest.mark.parametrize(
    ("name", "policy", "overhead"),
    [
        ("fig3", "buddy", 36),
        ("fig7", "equi-epoch", 3 * 140),
        ("fig7", "dp", 2 * 140),
        ("fig8", "equi-epoch", 2 * 16),
        ("fig8", "heuristic-epoch", 3 * 16),
        ("three-wide", "buddy", 16),
        ("fig7", "buddy", None),
        ("fig8", "buddy", None),
    ],
)
def test_the_papers_examples(name: str, policy: str, overhead: float | None) -> None:
    assert got(load(f"instances/epoch/{name}.json"), policy) == overhead


def test_figure_3_in_full() -> None:
    pieces = POLICIES["buddy"].run(load("instances/epoch/fig3.json")).rectangles
    assert {name: piece.nodes for name, piece in pieces.items()} == {
        "j8": 8,
        "j3": 8,
        "j4": 4,
        "j5": 4,
        "j6": 4,
        "j7": 4,
        "j2": 2,
        "j1": 2,
    }
    assert next(iter(pieces)) == "j8"
    assert (pieces["j3"].first, pieces["j3"].start, pieces["j3"].end) == (0, 0.25, 0.5)


def test_buddy_star_and_hybrid_are_buddy_for_powers_of_two() -> None:
    for seed in range(20):
        instance = GENERATORS["uniform"](seed, nodes=32, jobs=8)
        assert got(instance, "buddy") == got(instance, "buddy-star") == got(instance, "hybrid")


def test_more_jobs_than_nodes() -> None:
    instance = packing([1] * 8, 4, 0)
    assert got(instance, "buddy") == 8
    assert got(instance, "equi-epoch") == 8
    assert got(packing([1] * 11, 4, 1), "paper-search") == 12


def test_table_1() -> None:
    counts = [sum(1 for h in range(1, 129) for _ in vectors(h, 128, k)) for k in range(3)]
    assert counts == [8, 128, 2144]


def test_the_search_counts_and_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    solution = POLICIES["paper-search"].run(load("instances/epoch/fig8.json"))
    assert solution.tested >= len(solution.epochs)
    hard = GENERATORS["planted"](1, nodes=128, epochs=6, inequity=6)
    monkeypatch.setattr("schedopt.policies.epoch.search.MOST_LOOKED_AT", 100_000)
    with pytest.raises(NotApplicableError, match="no end"):
        POLICIES["paper-search"].run(hard)
    with pytest.raises(NotApplicableError, match="at most"):
        POLICIES["paper-search"].run(packing([1] * 500, 4, 1))


def test_the_dynamic_program_says_when_it_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedopt.policies.epoch.dynamic.MOST_STEPS", 100_000)
    with pytest.raises(NotApplicableError, match="steps"):
        POLICIES["dp"].run(GENERATORS["planted"](1, nodes=128, epochs=16, inequity=6))
    with pytest.raises(NotApplicableError, match="at most 16"):
        POLICIES["dp"].run(packing([100, 60, 3], 200, 50))
