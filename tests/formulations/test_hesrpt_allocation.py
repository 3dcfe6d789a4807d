"""The program, the prices, the closed form and brute force must say the same."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from builders.effort import examples
from builders.hesrpt import cluster, common
from hypothesis import given, settings

import schedopt
from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.errors import InputError
from schedopt.instances.hesrpt import Amdahl, Instance, Power, Table
from schedopt.policies.hesrpt.simulator import hesrpt_total
from schedopt.solvers.hesrpt.orders import OneOrder, OrderTree, order_search


def searched(instance: Instance) -> OneOrder | OrderTree:
    search = order_search(instance)
    while not search.advance(10.0):
        pass
    return search


@settings(max_examples=examples(200))
@given(common())
def test_closed_form_prices_and_theorem_8_agree(instance: Instance) -> None:
    speedup = instance.speedup
    assert isinstance(speedup, Power)
    paper = hesrpt_total(instance.sizes, speedup.p, instance.servers)
    search = searched(instance)
    assert search.value == pytest.approx(paper, rel=1e-10)
    assert search.bound == pytest.approx(paper, rel=1e-10)
    by_roots = float(search.prices() @ instance.sizes)  # of the dual, one after the other
    assert by_roots == pytest.approx(paper, rel=1e-8)


def test_what_was_not_searched_is_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedopt.solvers.hesrpt.orders.MOST_JOBS", 3)
    own = [Power(p=0.2 + 0.12 * j) for j in range(6)]
    unlike = cluster([1, 2, 3, 4, 5, 6], Power(p=0.5), own=own)
    result = schedopt.solve(unlike)
    assert not result.proven and result.bound is not None
    monkeypatch.undo()
    assert result.bound <= searched(unlike).value


def test_a_share_that_is_nothing_beside_the_others_has_a_price() -> None:
    own = [Power(p=0.98828125), Amdahl(parallel=0.984375)]
    instance = cluster(
        [1, 1], Power(p=0.5), 100, weights=[1, 3], own=own, objective="weighted-flow-time"
    )
    result = schedopt.solve(instance)
    assert result.proven and result.solution.certified == "all" and result.violations == ()
    names = [job.name for job in instance.jobs]
    orders = [",".join(order) for order in permutations(names)]
    values = [schedopt.solve(instance, options={"order": order}).objective for order in orders]
    assert result.objective == pytest.approx(min(v for v in values if v is not None), rel=2e-6)
    search = searched(instance)
    if isinstance(search, OneOrder) or not search.leaves():
        assert search.bound == pytest.approx(search.value, rel=1e-9)


@settings(max_examples=examples(60))
@given(common(5))
def test_sizes_beyond_the_digits_of_an_interior_point_are_not_called_optimal(
    instance: Instance,
) -> None:
    best = searched(instance).value
    result = schedopt.solve(instance, solver="clarabel")
    assert result.violations == ()
    assert result.objective is not None
    assert result.objective >= best * (1 - 1e-9)
    assert not result.proven or result.objective == pytest.approx(best, rel=2e-6)


def test_shortest_first_is_not_optimal_for_unequal_speedups() -> None:
    instance = schedopt.load("instances/hesrpt/not-shortest-first.json")
    best = schedopt.solve(instance)
    shortest = ",".join(sorted(instance.index, key=lambda n: instance.sizes[instance.index[n]]))
    other = schedopt.solve(instance, options={"order": shortest})
    assert best.solution.order[0] == "long-but-parallel"
    assert best.solution.certified == "all"
    assert other.objective is not None and best.objective is not None
    assert other.objective > best.objective * 1.001
    ends = other.solution.completion
    assert ends["short-but-serial"] <= ends["long-but-parallel"]
    assert other.proven and other.solution.certified == "given"


def test_weights_of_twenty_jobs_are_certified() -> None:
    random = np.random.default_rng(3)
    x, w = random.pareto(1.5, 20) + 1, random.integers(1, 9, 20)
    instance = cluster(x, Power(p=0.4), 1000, weights=w, objective="weighted-flow-time")
    result = schedopt.solve(instance)
    assert result.proven and result.solution.certified == "all" and result.violations == ()


def test_thirteen_unlike_jobs_are_certified_and_re_proved() -> None:
    random = np.random.default_rng(1)
    x, w = random.pareto(1.5, 13) + 1, random.integers(1, 5, 13)
    own = [Power(p=p) for p in random.uniform(0.2, 0.95, 13).round(3).tolist()]
    instance = cluster(x, Power(p=0.5), 100, weights=w, own=own, objective="weighted-flow-time")
    result = schedopt.solve(instance, certificate=True)
    assert result.proven and result.solution.certified == "all" and result.violations == ()
    assert result.bound_checked is True


def test_jobs_that_differ_in_size_and_weight_alone_keep_their_order() -> None:
    """Of jobs of one speedup, a smaller one that weighs as much completes no later."""
    x = [5.0, 1.0, 4.0, 2.0, 3.0] * 4
    own = [Amdahl(parallel=0.9)] * 10 + [Power(p=0.5)] * 10
    weights = [6 - size for size in x]  # the smaller, the heavier
    instance = cluster(
        x, Power(p=0.5), 16, weights=weights, own=own, objective="weighted-flow-time"
    )
    result = schedopt.solve(instance)
    assert result.proven
    for some in (range(10), range(10, 20)):
        ends = [
            [result.solution.completion[f"j{j}"] for j in some if x[j] == size]
            for size in sorted(set(x))
        ]
        assert all(max(a) <= min(b) * (1 + 1e-9) for a, b in pairwise(ends))


@pytest.mark.parametrize(
    "kind", [Power(p=0.7), Amdahl(parallel=0.9), Table(points=((1, 1), (9, 4)))]
)
def test_whole_servers_cost_no_less_and_agree_with_the_program(kind: object) -> None:
    divided = cluster([4, 3, 2], kind, 7)
    whole = cluster([4, 3, 2], kind, 7, whole=True)
    result = schedopt.solve(whole)
    assert result.proven and result.violations == ()
    free = schedopt.solve(divided)
    assert free.objective is not None and result.objective is not None
    assert result.objective >= free.objective * (1 - 1e-9)
    program = schedopt.solve(whole, solver="clarabel")
    assert program.objective == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.parametrize(
    ("order", "says"), [("j0", "names of all jobs"), ("j0,j9", "name of a job"), ("j0,j0", "names")]
)
def test_orders_that_are_none_are_refused(order: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Allocation(cluster([1, 2], Power(p=0.5)), order=order)
