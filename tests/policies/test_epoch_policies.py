"""epoch policies against brute force, the paper's examples, and their plain definitions."""

from typing import Any

import numpy as np
import pytest
from builders.effort import tried
from builders.epoch import fewest, packing, some_packing

from schedopt import evaluate
from schedopt.instances.epoch import Instance
from schedopt.instances.epoch.generators import GENERATORS, named
from schedopt.instances.files import load
from schedopt.policies.epoch.closed_system import arrivals, shares, simulate, simulate_plainly
from schedopt.policies.epoch.kernels import BUDDY, CODES, HYBRID, plan, speedup
from schedopt.policies.epoch.search import vectors
from schedopt.policies.registry import NotApplicableError, registered

POLICIES = registered("epoch")


def got(instance: Instance, name: str) -> Any:
    """Run a policy, checked."""
    result = evaluate(instance, name)
    assert result.violations == ()
    return result.objective


@tried(150, some_packing())
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


@pytest.mark.parametrize("name", CODES)
def test_compiled_policies_do_the_same(name: str) -> None:
    draw = np.random.Generator(np.random.PCG64(1))
    for _ in range(150):
        nodes = int(2 ** draw.integers(0, 7))
        if CODES[name] not in (BUDDY, HYBRID):
            nodes = int(draw.integers(1, 70))
        jobs, k = int(draw.integers(1, 20)), int(draw.integers(0, 5))
        k = 1 if name == "paper-search" else k
        minima = -np.sort(-draw.integers(1, draw.integers(1, nodes + 1), jobs, endpoint=True))
        minima = np.minimum(minima, nodes)
        instance = Instance(name="n", nodes=nodes, inequity=k, jobs=named(minima.tolist()))
        solution = registered("epoch")[name].run(instance)
        got, part = np.zeros(jobs, np.int64), np.zeros(jobs)
        tested = plan(CODES[name], minima, nodes, k, got, part)
        expected = shares(solution)
        assert got.tolist() == [expected[job.name][0] for job in instance.jobs]
        assert part == pytest.approx([expected[job.name][1] for job in instance.jobs])
        assert tested == (getattr(solution, "tested", None) or 0)


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("name", CODES)
def test_the_compiled_system_is_the_plain_one(name: str, static: bool) -> None:
    work = arrivals(3, 32, 6, 1.0, 60)
    responses = simulate_plainly(name, work, static=static)
    mean, _ = simulate(name, work, static=static)
    assert mean == pytest.approx(sum(responses) / len(responses), rel=1e-9)


def test_speedups() -> None:
    """At n = N both are equal; the printed static formula is the one that is used."""
    for nodes in range(1, 129):
        dynamic = speedup(nodes, 100.0, 128, False)
        assert dynamic == pytest.approx(101 * nodes / (100 + nodes))
        floor, ceiling, rest = 128 // nodes, -(-128 // nodes), 128 % nodes
        printed = (floor / ceiling * (nodes - rest) + rest) / nodes
        assert speedup(nodes, 100.0, 128, True) == pytest.approx(dynamic * printed)


def test_the_same_seed_gives_the_same_jobs() -> None:
    first, second = arrivals(7, 32, 4, 2.0, 10), arrivals(7, 32, 4, 2.0, 10)
    assert np.array_equal(first.demand, second.demand)
    assert np.array_equal(first.minimum, second.minimum)
    assert not np.array_equal(first.demand, arrivals(8, 32, 4, 2.0, 10).demand)
