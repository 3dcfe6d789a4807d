"""The compiled policies and the closed system against their plain definitions."""

import numpy as np
import pytest

from schedopt.instances.epoch import Instance
from schedopt.instances.epoch.generators import named
from schedopt.policies.epoch.closed_system import arrivals, shares, simulate, simulate_plainly
from schedopt.policies.epoch.kernels import BUDDY, CODES, HYBRID, plan, speedup
from schedopt.policies.registry import registered


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
