"""Bounds of allocations are re-proved from prices of work, and from no forged ones."""

import copy
from decimal import Decimal, localcontext
from functools import cache
from itertools import permutations
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.effort import ALL, tried
from builders.hesrpt import cluster, common
from hypothesis import strategies as st

import schedopt
from benchmarks.forging import STRANGE, places
from schedopt.formulations.constraints import Shares
from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.hesrpt import Amdahl, Instance, Power
from schedopt.solvers.door import solve
from schedopt.solvers.hesrpt.certificate import certificate
from schedopt.solvers.result import Document, Limits
from schedopt.validation.hesrpt.bound import Proof, Ranks, reprove
from schedopt.validation.hesrpt.decision_diagram import Diagram, Pass
from schedopt.validation.hesrpt.intervals import Interval

Proven = tuple[Instance, Document, dict[str, Any]]


def solved(instance: Instance) -> tuple[Document, dict[str, Any] | None]:
    """Solve an instance and make the certificate of its bound."""
    model = Allocation(instance)
    result = solve(model, Limits())
    return result.document(), certificate(model, result, Limits())


def verdict(instance: Instance, claim: Document, proof: dict[str, Any] | None) -> str | None:
    return reprove(instance, instance.constraints, proof or {}, claim)


@tried(25, common(6, extreme=False))
def test_prices_by_place_prove_all_orders(instance: Instance) -> None:
    claim, proof = solved(instance)
    assert proof is not None and proof["kind"] == "ranks"
    assert verdict(instance, claim, proof) is None


@cache
def proofs() -> list[Proven]:
    """Return instances, claims and certificates of each kind."""
    own = [Power(p=0.7), Amdahl(parallel=0.9), Power(p=0.4)]
    mixed = cluster([3, 2, 1], Power(p=0.5), own=own)
    alike = cluster([3, 2, 1], Amdahl(parallel=0.8))
    ruled = msgspec.structs.replace(mixed, constraints=(Shares(jobs=("j0",), at_least=0.3),))
    four = cluster([3, 2, 1, 2.5], Power(p=0.5), own=[Power(p=0.1 + 0.2 * j) for j in range(4)])
    found = []
    for instance in (mixed, alike, ruled, four):
        claim, proof = solved(instance)
        assert proof is not None and verdict(instance, claim, proof) is None
        found.append((instance, claim, proof))
    return found


def test_no_forged_certificate_passes() -> None:
    """A better bound, another sense, another instance's, passes and orders cut."""
    every = proofs()
    for instance, claim, proof in every:
        assert claim.bound is not None
        for factor in (1 + 1e-6, 1.01, 2.0):
            more = msgspec.structs.replace(claim, bound=claim.bound * factor)
            assert verdict(instance, more, proof) is not None
        other_sense = msgspec.structs.replace(claim, sense="maximize")
        assert "minimized" in str(verdict(instance, other_sense, proof))
        for another, _, theirs in every:
            if another is not instance:
                assert verdict(instance, claim, theirs) is not None
        if proof["kind"] == "diagram":
            forged = copy.deepcopy(proof)
            del forged["orders"][0]
            assert "nothing closes" in str(verdict(instance, claim, forged))
            for wrong, says in (
                ({"rents": []}, "rents are over 0"),
                ({"rents": [0.0]}, "rents are over 0"),
                ({"rents": [float("nan")]}, "rents are over 0"),
                ({"rents": [1.0], "block": 1}, "a block"),
            ):
                assert says in str(verdict(instance, claim, {**proof, "passes": [wrong]}))
    instance, claim, _ = every[0]
    for nothing in (
        {},
        {"kind": "else"},
        {"kind": "orders", "tree": {"j0": 1}},
        {"kind": "diagram", "goal": 1e9, "passes": [], "orders": []},
        {"kind": "diagram", "goal": float("nan"), "passes": [], "orders": []},
    ):
        assert verdict(instance, claim, nothing) is not None


def test_changed_certificates_prove_no_more_than_the_optimum() -> None:
    """Nor do those with strange values end otherwise than in a line."""
    for instance, claim, proof in proofs():
        above = msgspec.structs.replace(claim, bound=(claim.objective or 0.0) * (1 + 1e-6))
        every = range(len(list(places(proof))))
        for i in every[:: 1 + len(every) // (20 if ALL else 6)]:
            for value in (*STRANGE[6:11], -1000, -1, 0.9, 1.02, 100.0):
                forged = copy.deepcopy(proof)
                where, key = list(places(forged))[i]
                factor = isinstance(where[key], float) and value in (0.9, 1.02, 100.0)
                where[key] = where[key] * value if factor else value
                assert isinstance(verdict(instance, above, forged), str)
    rents = {"rents": [0.1, 1.0], "parts": 2}
    four, claim, _ = proofs()[-1]
    for strange in ({"beyond": -1000}, {"beyond": 10**30}, {"block": 10**30}, {"parts": 65}):
        proof = {"kind": "diagram", "goal": 1e9, "passes": [{**rents, **strange}], "orders": []}
        assert isinstance(verdict(four, claim, proof), str)


def test_certificates_say_nothing_of_other_instances() -> None:
    for instance, claim, proof in proofs():
        own = [
            msgspec.structs.replace(job, arrival=1e-3 * j) for j, job in enumerate(instance.jobs)
        ]
        late = msgspec.structs.replace(instance, jobs=tuple(own))
        assert "arrive later" in str(verdict(late, claim, proof))
        makespan = msgspec.structs.replace(instance, objective="makespan")
        assert "of a makespan" in str(verdict(makespan, claim, proof))
    alike, claim, ranks = proofs()[1]
    assert ranks["kind"] == "ranks"
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


def test_a_claim_may_be_a_billionth_above_what_is_shown() -> None:
    alike, claim, ranks = proofs()[1]
    proven = Proof(alike, ()).of_ranks(msgspec.convert(ranks, Ranks))
    for above, fine in ((9e-10, True), (1.1e-9, False)):
        near = msgspec.structs.replace(claim, bound=proven * (1 + above))
        assert (verdict(alike, near, ranks) is None) is fine


def test_prices_of_the_orders_that_passes_leave_are_judged() -> None:
    instance, claim, _ = proofs()[0]
    orders = list(permutations(range(3)))
    dearest = 1.5 / float(instance.jobs[0].speedup.at(10))  # type: ignore[union-attr]
    some = [{"last_first": order, "prices": [1e-6] * 3} for order in orders]
    dear = {"last_first": orders[0], "prices": [dearest, 1e-9, 1e-9]}
    passes = {"kind": "diagram", "goal": 1e9, "passes": [{"rents": [1.0]}], "orders": some}
    assert verdict(instance, msgspec.structs.replace(claim, bound=1e-9), passes) is None
    low = msgspec.structs.replace(claim, bound=1e-3)
    assert "earn more" in str(verdict(instance, low, {**passes, "orders": [*some, dear]}))


def test_logarithms_and_exponentials_are_enclosed() -> None:
    random = np.random.default_rng(1)
    x = np.concatenate(
        [
            np.exp(random.uniform(-600, 600, 300)),
            1 + random.uniform(-1e-3, 1e-3, 200),
            1 + random.uniform(-1e-14, 1e-14, 100),
            [1.0, 0.5, 2.0, np.sqrt(0.5)],
        ]
    )
    y = np.concatenate([random.uniform(-689, 689, 300), random.uniform(-1, 1, 200), [0.0]])
    logs, powers = Interval.exactly(x).log(), Interval.exactly(y).exp()
    with localcontext(prec=40):
        for i, value in enumerate(x.tolist()):
            exact = Decimal(value).ln()
            assert Decimal(float(logs.low[i])) <= exact <= Decimal(float(logs.high[i]))
        for i, value in enumerate(y.tolist()):
            exact = Decimal(value).exp()
            assert Decimal(float(powers.low[i])) <= exact <= Decimal(float(powers.high[i]))
    close = np.abs(np.log(x)) > 1e-3
    assert (logs.high - logs.low <= 1e-13 * np.abs(np.log(x)))[close].all()
    assert (powers.high - powers.low <= 1e-13 * np.exp(y)).all()
    beyond = Interval.exactly(np.array([-800.0, 800.0])).exp()
    assert beyond.low[0] == 0.0 < beyond.high[0] < 1e-290
    assert beyond.low[1] > 1e290 and beyond.high[1] == np.inf
    with pytest.raises(ValueError, match="may be 0"):
        Interval.exactly(1.0) / Interval.exactly(np.array([1.0, 0.0]))


@pytest.mark.parametrize("cost_of_one", [1.0, 1e-3])
@tried(20, st.randoms(use_true_random=False))
def test_passes_leave_the_best_order_and_close_what_costs_less(
    cost_of_one: float, random: Random
) -> None:
    instance, cost, first = best()
    cheap = [msgspec.structs.replace(job, weight=cost_of_one) for job in instance.jobs]
    cost *= cost_of_one
    weighty = msgspec.structs.replace(instance, objective="weighted-flow-time", jobs=tuple(cheap))
    proof = Proof(weighty, ())
    for goal, left in ((cost * (1 + 1e-9), True), (0.8 * cost, False)):
        diagram = Diagram(proof.machine, proof.sizes, proof.costs, [0] * 4)
        for _ in range(3 if left else 1):
            rents = np.geomspace(0.02, 2.0, 12 if left else 25) * cost_of_one
            rents = (rents * random.uniform(0.9, 1.1)).tolist()
            parts = random.choice((1, 2, 5))
            diagram.narrow(Pass(rents=rents, parts=parts, beyond=random.randrange(3)), goal)
        assert (first in list(diagram.orders(100))) is left


@cache
def best() -> tuple[Instance, float, tuple[int, ...]]:
    """Return an instance, its least cost, and its best order from the last job."""
    own = [Power(p=0.7), Amdahl(parallel=0.9), Power(p=0.4), Power(p=0.9)]
    instance = cluster([3, 2, 1, 2.5], Power(p=0.5), own=own)
    found = schedopt.solve(instance)
    assert found.proven and found.objective is not None and found.solution is not None
    names = [job.name for job in instance.jobs]
    return instance, found.objective, tuple(names.index(n) for n in reversed(found.solution.order))
