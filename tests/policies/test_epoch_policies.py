"""epoch policies against brute force, the paper's examples, and their plain definitions."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from builders import epoch
from builders.effort import tried
from builders.epoch import fewest, packing, some_packing
from hypothesis import strategies as st

from schedopt import evaluate
from schedopt.instances.epoch import Instance, even_shares
from schedopt.instances.files import load
from schedopt.policies.epoch import kernels
from schedopt.policies.epoch.kernels import Arrivals, arrivals, shares, simulate
from schedopt.policies.registry import NotApplicableError, registered

POLICIES = registered("epoch")


def got(instance: Instance, name: str) -> Any:
    """Run a policy, checked."""
    result = evaluate(instance, name)
    assert result.violations == ()
    return result.objective


@tried(100, some_packing())
def test_epoch_search_is_exact_and_heuristics_are_no_better(instance: Instance) -> None:
    best = instance.nodes * (fewest(instance) or 0)
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
        ("fig7", "paper-search", 2 * 140),
        ("fig8", "equi-epoch", 2 * 16),
        ("fig8", "heuristic-epoch", 3 * 16),
        ("three-wide", "buddy", 16),
        ("fig7", "buddy", None),
    ],
)
def test_epoch_policies_on_examples_of_the_paper(
    name: str, policy: str, overhead: float | None
) -> None:
    assert got(load(f"instances/epoch/{name}.json"), policy) == overhead


def test_paper_search_refuses_many_jobs() -> None:
    with pytest.raises(NotApplicableError, match="at most"):
        POLICIES["paper-search"].run(packing([1] * 500, 4, 1))


@pytest.mark.parametrize("name", ["buddy-star", "hybrid", "equi-epoch", "heuristic-epoch"])
@tried(200, seed=st.integers(0, 2**31))
def test_epoch_heuristics_equal_their_definitions(name: str, seed: int) -> None:
    draw, code = np.random.default_rng(seed), kernels.CODES[name]
    nodes = int(2 ** draw.integers(0, 7))
    jobs, k = int(draw.integers(1, 20)), int(draw.integers(0, 5))
    minima = -np.sort(-draw.integers(1, draw.integers(1, nodes + 1), jobs, endpoint=True))
    minima = np.minimum(minima, nodes)
    made = kernels.QuantumPlan(*([0] * jobs for _ in kernels.QuantumPlan._fields))
    kernels.plan(code, minima.tolist(), nodes, k, kernels.UNLIMITED, made)
    assert sorted(made.turn) == list(range(jobs))
    got = zip(made.first, made.nodes, made.start, made.length, strict=True)
    assert dict(enumerate(got)) == defined(name, minima.tolist(), nodes, k)


def defined(
    name: str, minima: list[int], nodes: int, k: int
) -> dict[int, tuple[int | Fraction, ...]]:
    """Return what each job gets, lengths in 1/J of the quantum."""
    shares: dict[int, tuple[int | Fraction, ...]] = {}
    end = len(minima)
    while end and name in ("buddy-star", "hybrid"):
        size = 1 << end.bit_length() - 1
        pieces = epoch.buddy(minima[end - size : end], nodes)
        for j, (first, width, start, length) in enumerate(pieces, end - size):
            shares[j] = first, width, len(minima) - end + size * start, size * length
        end -= size
        if name == "hybrid":
            break
    if name == "equi-epoch":
        epochs, k = list(epoch.equi(minima, nodes)), 0
    else:
        epochs = list(epoch.heuristic(minima, nodes, k, end))
    done = len(minima) - end
    for members in epochs:
        widths = even_shares([minima[j] for j in members], nodes, k)
        for i, j in enumerate(members):
            shares[j] = sum(widths[:i]), widths[i], done, len(members)
        done += len(members)
    return shares


def plain_system(policy: str, work: Arrivals, static: bool) -> list[float]:
    """Return every response time, by the policies as they are registered."""
    running = list(range(work.jobs))
    left, started = work.demand[: work.jobs].tolist(), [0.0] * work.jobs
    now, responses = 0.0, []
    for following in range(work.jobs, len(work.demand)):
        instance = packing(work.minimum[running].tolist(), work.nodes, 1)
        share = shares(POLICIES[policy].run(instance))
        rate = [
            share[name][1]
            * kernels.speedup(share[name][0], work.beta[running[i]], work.nodes, static)
            for i, name in enumerate(instance.names)
        ]
        wait, first = min((left[i] / rate[i], i) for i in range(work.jobs))
        now += wait
        left = [have - wait * r for have, r in zip(left, rate, strict=True)]
        responses.append(now - started[first])
        running[first] = following
        left[first], started[first] = float(work.demand[following]), now
    return responses


@pytest.mark.parametrize("static", [True, False])
def test_closed_system_equals_a_plain_simulation(static: bool) -> None:
    work = arrivals(3, 32, 6, 1.0, 60)
    for name in kernels.CODES:
        responses = plain_system(name, work, static)
        mean, _ = simulate(name, work, static=static)
        assert mean == pytest.approx(sum(responses) / len(responses), rel=1e-9), name
