"""Bounds of allocations are re-proved from prices of work, and from no forged ones."""

from functools import cache
from typing import Any

import msgspec
import pytest
from builders.effort import tried
from builders.hesrpt import cluster, common

import schedopt
from schedopt.formulations.constraints import Shares
from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.hesrpt import Amdahl, Instance, Power, Table
from schedopt.solvers.hesrpt.closed_form import certificate
from schedopt.solvers.portfolio import solve
from schedopt.solvers.result import Document, Limits
from schedopt.validation.hesrpt.bound import reprove

Proven = tuple[Instance, Document, dict[str, Any]]


def solved(instance: Instance) -> tuple[Document, dict[str, Any]]:
    """Solve an instance and make the certificate of its bound."""
    model = Allocation(instance)
    result = solve(model, Limits())
    return result.document(), certificate(model, result)


def verdict(instance: Instance, claim: Document, proof: dict[str, Any]) -> str | None:
    return reprove(instance, instance.constraints, proof, claim)


@tried(25, common(6, extreme=False))
def test_reprove_hesrpt_prices_of_all_orders(instance: Instance) -> None:
    claim, proof = solved(instance)
    assert proof["kind"] == "ranks"
    assert verdict(instance, claim, proof) is None


@cache
def proofs() -> list[Proven]:
    """Return instances, claims and certificates: of each kind of speedup, and of each objective."""
    table = Table(points=((1, 1), (2, 1.8), (8, 4)))
    found = []
    for instance in (
        cluster([3, 2, 1], Amdahl(parallel=0.8)),
        cluster([3, 2, 1, 2.5], table, objective="mean-flow-time"),
        cluster([3, 1], Power(p=0.4), weights=[0.3, 0.3], objective="weighted-flow-time"),
    ):
        claim, proof = solved(instance)
        assert verdict(instance, claim, proof) is None
        found.append((instance, claim, proof))
    return found


@pytest.mark.parametrize("i", range(3))
def test_reprove_hesrpt_refuses_forged_certificates(i: int) -> None:
    """A better bound, another sense, another instance's prices, other kinds."""
    instance, claim, proof = proofs()[i]
    assert claim.bound is not None
    for factor in (1 + 1e-6, 1.01, 2.0):
        more = msgspec.structs.replace(claim, bound=claim.bound * factor)
        assert verdict(instance, more, proof) is not None
    dearer = {**proof, "prices": [1.01 * price for price in proof["prices"]]}
    assert "can earn more" in str(verdict(instance, claim, dearer))
    other_sense = msgspec.structs.replace(claim, sense="maximize")
    assert "minimized" in str(verdict(instance, other_sense, proof))
    for another, _, theirs in proofs():
        if another is not instance:
            assert verdict(instance, claim, theirs) is not None
    for nothing in ({}, {"kind": "else"}, {"kind": "ranks", "prices": [float("nan")] * 3}):
        assert verdict(instance, claim, nothing) is not None


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


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"own": [Power(p=0.7), Amdahl(parallel=0.9), None]}, "jobs differ in more than their"),
        ({"constraints": (Shares(jobs=("j0",), at_least=0.3),)}, "jobs differ in more than their"),
        ({"objective": "makespan"}, "only of flow times over all orders"),
    ],
)
def test_solve_hesrpt_says_why_there_is_no_certificate(change: Any, why: str) -> None:
    instance = cluster([3, 2, 1], Power(p=0.5), **change)
    result = schedopt.solve(instance, certificate=True)
    assert result.proven and not result.bound_checked and result.certificate is msgspec.UNSET
    assert f"no certificate ({why}" in str(result.message)
    assert schedopt.check(instance, result.document()).bound == f"believed, from {result.solver}"
