"""Bounds of allocations are re-proved from prices of work, and from no forged ones."""

import copy
from decimal import Decimal, localcontext
from functools import cache
from itertools import permutations, product
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.effort import ALL, tried
from builders.hesrpt import cluster, common, speedups, tables, various
from hypothesis import strategies as st

import schedopt
from benchmarks.forging import STRANGE, places
from schedopt.formulations.constraints import FairShare, Shares
from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.hesrpt import Amdahl, Instance, Power
from schedopt.solvers.door import solve
from schedopt.solvers.hesrpt.certificate import certificate
from schedopt.solvers.result import Document, Limits
from schedopt.validation.hesrpt.bound import reproved
from schedopt.validation.hesrpt.certificates import Ranks
from schedopt.validation.hesrpt.decision_diagram import Diagram, Pass
from schedopt.validation.hesrpt.intervals import Interval
from schedopt.validation.hesrpt.proofs import Proof


def made(instance: Instance, **options: Any) -> tuple[Document, dict[str, Any] | None]:
    """Solve an instance and make the certificate of its bound."""
    model = Allocation(instance, **options)
    result = solve(model, Limits())
    return result.document(), certificate(model, result, Limits())


def judged(instance: Instance, claim: Document, given_: dict[str, Any] | None) -> str | None:
    return reproved(instance, instance.constraints, given_ or {}, claim)


@tried(15, various(4, st.one_of(speedups, tables)), st.randoms(use_true_random=False))
def test_a_given_orders_bound_is_re_proved(instance: Instance, random: Random) -> None:
    names = [job.name for job in instance.jobs]
    random.shuffle(names)
    claim, found = made(instance, order=names)
    assert found is None or judged(instance, claim, found) is None
    if found is not None and len(names) > 1:
        other = msgspec.structs.replace(claim, options={"gap": 0.0})
        assert "no option" in str(judged(instance, other, found))


@tried(25, common(6, extreme=False))
def test_prices_by_place_prove_all_orders(instance: Instance) -> None:
    claim, found = made(instance)
    assert found is not None and found["kind"] == "ranks"
    assert judged(instance, claim, found) is None


@cache
def proofs() -> list[tuple[Instance, Document, dict[str, Any]]]:
    """Return an instance, a claim and a certificate of each kind."""
    own = [Power(p=0.7), Amdahl(parallel=0.9), Power(p=0.4)]
    mixed = cluster([3, 2, 1], Power(p=0.5), own=own)
    alike = cluster([3, 2, 1], Amdahl(parallel=0.8))
    together = msgspec.structs.replace(mixed, objective="makespan")
    ruled = msgspec.structs.replace(mixed, constraints=(Shares(jobs=("j0",), at_least=0.3),))
    found = []
    for instance, options in (
        (mixed, {}),
        (alike, {}),
        (together, {}),
        (ruled, {}),
        (mixed, {"order": ["j0", "j1", "j2"]}),
    ):
        claim, given_ = made(instance, **options)
        assert given_ is not None and judged(instance, claim, given_) is None
        found.append((instance, claim, given_))
    return found


def numbers(what: Any) -> list[tuple[Any, Any]]:
    """Return where the prices stand in a certificate."""
    entries = what.items() if isinstance(what, dict) else enumerate(what)
    found: list[tuple[Any, Any]] = []
    for key, value in list(entries):
        if isinstance(value, float):
            found.append((what, key))
        elif isinstance(value, dict | list):
            found += numbers(value)
    return found


def test_no_forged_certificate_passes() -> None:
    """Prices raised, a better bound, another sense, another instance's, branches cut or grafted."""
    every = proofs()
    tried = 0
    for instance, claim, given_ in every:
        assert claim.bound is not None
        for factor in (1 + 1e-6, 1.01, 2.0):
            more = msgspec.structs.replace(claim, bound=claim.bound * factor)
            assert judged(instance, more, given_) is not None
        other_sense = msgspec.structs.replace(claim, sense="maximize")
        assert judged(instance, other_sense, given_) is not None
        count = len(numbers(given_))
        for i in range(0, count, 1 if ALL else 1 + count // 20):
            for factor in (1.02, float("inf"), float("nan"), -1.0):
                forged = copy.deepcopy(given_)
                where, key = numbers(forged)[i]
                where[key] *= factor
                wrong = judged(instance, claim, forged)
                # rents of a diagram, and its goal, may be any that close as much
                harmless = given_["kind"] == "diagram" and not any(
                    where is o["prices"] for o in forged["orders"]
                )
                assert wrong is not None or (harmless and 0 < factor < float("inf"))
                tried += 1
        for another, their_claim, theirs in every:
            if another is not instance:
                forged_claim = msgspec.structs.replace(claim, options=their_claim.options)
                assert judged(instance, forged_claim, theirs) is not None
        if given_["kind"] == "diagram":
            forged = copy.deepcopy(given_)
            del forged["orders"][0]
            assert "nothing closes" in str(judged(instance, claim, forged))
            forged = {**given_, "passes": []}
            assert (
                "nothing closes" in str(judged(instance, claim, forged)) or len(instance.jobs) < 4
            )
            for rents in ([], [0.0], [float("nan")]):
                forged = {**given_, "passes": [{"rents": rents}]}
                assert "rents are over 0" in str(judged(instance, claim, forged))
            forged = {**given_, "passes": [{"rents": [1.0], "block": 1}]}
            assert "a block" in str(judged(instance, claim, forged))
    assert tried > 100
    instance, claim, _ = every[0]
    for nothing in (
        {},
        {"kind": "else"},
        {"kind": "orders"},
        {"kind": "orders", "tree": {"j0": 1}},
        {"kind": "diagram", "goal": 1e9, "passes": [], "orders": []},
        {"kind": "diagram", "goal": float("nan"), "passes": [], "orders": []},
    ):
        assert judged(instance, claim, nothing) is not None


@cache
def further() -> list[tuple[Instance, Document, dict[str, Any]]]:
    """Return more of them: of passes, and by rents of teams."""
    mixed = proofs()[0][0]
    four = cluster([3, 2, 1, 2.5], Power(p=0.5), own=[Power(p=0.1 + 0.2 * j) for j in range(4)])
    found = made(four)
    assert judged(four, *found) is None
    capped = FairShare(by="team", at_most={"a": 0.3})
    ruled = msgspec.structs.replace(mixed, constraints=(capped,))
    claim = schedopt.solve(ruled, solver="rents", certificate=True).document()
    assert isinstance(claim.certificate, dict) and claim.certificate["kind"] == "rents"
    return [(four, *found), (ruled, claim, claim.certificate)]


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


def test_changed_certificates_prove_no_more_than_the_optimum() -> None:
    """Nor do those with strange values end otherwise than in a line."""
    for instance, claim, given_ in [*proofs(), *further()]:
        above = msgspec.structs.replace(claim, bound=(claim.objective or 0.0) * (1 + 1e-6))
        every = range(len(list(places(given_))))
        for i in every[:: 1 + len(every) // (20 if ALL else 4)]:
            for value in (*STRANGE[6:11], -1000, -1, 0.9, 1.02, 100.0):
                forged = copy.deepcopy(given_)
                where, key = list(places(forged))[i]
                factor = isinstance(where[key], float) and value in (0.9, 1.02, 100.0)
                where[key] = where[key] * value if factor else value
                assert isinstance(judged(instance, above, forged), str)
    rents = {"rents": [0.1, 1.0], "parts": 2}
    for strange in ({"beyond": -1000}, {"beyond": 10**30}, {"block": 10**30}, {"parts": 65}):
        given_ = {"kind": "diagram", "goal": 1e9, "passes": [{**rents, **strange}], "orders": []}
        four, claim, _ = further()[0]
        assert isinstance(judged(four, claim, given_), str)


def test_each_price_under_rents_is_for_later_ends_than_the_one_before() -> None:
    instance, claim, given_ = further()[1]
    assert judged(instance, claim, given_) is None
    for j, key in product(range(len(instance.jobs)), ("until", "prices")):
        forged = copy.deepcopy(given_)
        one = forged["jobs"][j]
        one[key].insert(1, one[key][0])
        assert "may cost less" in str(judged(instance, claim, forged))
        one["prices"], one["until"] = (
            one["prices"][:1] * 9,
            [*one["until"][:1] * 8, one["until"][-1]],
        )
        assert "may cost less" in str(judged(instance, claim, forged))
        both = copy.deepcopy(given_)
        for each in ("until", "prices"):
            both["jobs"][j][each].insert(1, both["jobs"][j][each][0])
        assert "may cost less" in str(judged(instance, claim, both))
    low = msgspec.structs.replace(claim, bound=1e-9)
    for times in ([0.1, *given_["times"][1:]], given_["times"][:-1], given_["times"][::-1]):
        assert "rents: " in str(judged(instance, low, {**given_, "times": times}))


def test_certificates_say_nothing_of_other_instances() -> None:
    for instance, claim, given_ in proofs():
        own = [
            msgspec.structs.replace(job, arrival=1e-3 * j) for j, job in enumerate(instance.jobs)
        ]
        late = msgspec.structs.replace(instance, jobs=tuple(own))
        assert "arrive later" in str(judged(late, claim, given_))
    alike, claim, ranks = proofs()[1]
    assert ranks["kind"] == "ranks"
    weighty = [msgspec.structs.replace(job, weight=1.0 + j) for j, job in enumerate(alike.jobs)]
    slow = [msgspec.structs.replace(alike.jobs[0], speedup=Power(p=0.1)), *alike.jobs[1:]]
    for change, says in (
        ({"jobs": tuple(slow)}, "more than their sizes"),
        ({"constraints": (Shares(jobs=("j0",), at_most=0.5),)}, "more than their sizes"),
        ({"jobs": tuple(weighty), "objective": "weighted-flow-time"}, "in weight"),
    ):
        assert says in str(judged(msgspec.structs.replace(alike, **change), claim, ranks))
    by_place = {**ranks, "prices": [*ranks["prices"], 1.0]}
    assert "for each place" in str(judged(alike, claim, by_place))


def test_a_claim_may_be_a_billionth_above_what_is_shown() -> None:
    alike, claim, ranks = proofs()[1]
    proven = Proof(alike, (), None).of_ranks(msgspec.convert(ranks, Ranks), ())
    for above, fine in ((9e-10, True), (1.1e-9, False)):
        near = msgspec.structs.replace(claim, bound=proven * (1 + above))
        assert (judged(alike, near, ranks) is None) is fine


def test_prices_of_the_orders_that_passes_leave_are_judged() -> None:
    instance, claim, _ = proofs()[0]
    orders = list(permutations(range(3)))
    dearest = 1.5 / float(instance.jobs[0].speedup.at(10))  # type: ignore[union-attr]
    some = [{"last_first": order, "prices": [1e-6] * 3} for order in orders]
    dear = {"last_first": orders[0], "prices": [dearest, 1e-9, 1e-9]}
    passes = {"kind": "diagram", "goal": 1e9, "passes": [{"rents": [1.0]}], "orders": some}
    assert judged(instance, msgspec.structs.replace(claim, bound=1e-9), passes) is None
    low = msgspec.structs.replace(claim, bound=1e-3)
    assert "earn more" in str(judged(instance, low, {**passes, "orders": [*some, dear]}))


def test_a_certificate_of_an_earlier_version_is_refused_with_what_to_do() -> None:
    instance, claim, _ = proofs()[0]
    assert "--certificate" in str(judged(instance, claim, {"kind": "orders", "tree": {}}))


@pytest.mark.parametrize("cost_of_one", [1.0, 1e-3])
@tried(20, st.randoms(use_true_random=False))
def test_passes_leave_the_best_order_and_close_what_costs_less(
    cost_of_one: float, random: Random
) -> None:
    instance, cost, first = best()
    cheap = [msgspec.structs.replace(job, weight=cost_of_one) for job in instance.jobs]
    cost *= cost_of_one
    weighty = msgspec.structs.replace(instance, objective="weighted-flow-time", jobs=tuple(cheap))
    proof = Proof(weighty, (), None)
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
