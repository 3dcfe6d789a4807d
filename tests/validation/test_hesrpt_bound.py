"""Bounds of allocations are re-proved from prices of work, and from no forged ones."""

import copy
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import accumulate, permutations, product
from operator import add, mul, sub, truediv
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.effort import ALL, tried
from builders.hesrpt import cluster, common, speedups, tables, various
from hypothesis import strategies as st

import schedopt
from benchmarks.forging import STRANGE
from benchmarks.fuzzing import places
from schedopt.formulations.constraints import FairShare, Shares
from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.hesrpt import Amdahl, Instance, Power, Table
from schedopt.solvers.door import solve
from schedopt.solvers.hesrpt.certificate import certificate
from schedopt.solvers.result import Document, Limits
from schedopt.validation.hesrpt.bound import reproved
from schedopt.validation.hesrpt.certificates import Ranks
from schedopt.validation.hesrpt.decision_diagram import Diagram, Pass
from schedopt.validation.hesrpt.earning import gain, machine_of
from schedopt.validation.hesrpt.intervals import Interval
from schedopt.validation.hesrpt.lagrangian import _Job, _of_one, ends_from
from schedopt.validation.hesrpt.proofs import Proof
from schedopt.validation.hesrpt.speedup_bounds import curves_of


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


SPEEDUPS = [
    Power(p=0.5),
    Power(p=0.97),
    Power(p=1.0),
    Amdahl(parallel=0.9),
    Amdahl(parallel=0.3),
    Amdahl(parallel=1.0),
    Table(points=((1, 1), (2, 1.8), (8, 4))),
    Table(points=((0.5, 0.7), (2.5, 2), (7, 3.1))),
]
KINDS = pytest.mark.parametrize(
    ("speedup", "whole"), list(product(SPEEDUPS, (False, True))), ids=str
)


def speed(speedup: Any, whole: bool, k: Decimal) -> Decimal:
    """Return a speedup in forty digits."""
    floor = k // 1
    if whole and k != floor:
        low, high = speed(speedup, True, floor), speed(speedup, True, floor + 1)
        return low + (k - floor) * (high - low)
    if isinstance(speedup, Power):
        return k ** Decimal(str(speedup.p)) if k else k
    if isinstance(speedup, Amdahl):
        f = Decimal(str(speedup.parallel))
        return k / ((1 - f) * k + f)
    points = [(Decimal(0), Decimal(0))]
    for point in speedup.points:
        points.append((Decimal(str(point[0])), Decimal(str(point[1]))))
        (a, low), (b, high) = points[-2:]
        if k <= b:
            return low + (k - a) / (b - a) * (high - low)
    return points[-1][1]


def curve_of(speedup: Any, whole: bool) -> Any:
    return curves_of(cluster([1], speedup, 40, whole=whole))[0]


@pytest.mark.parametrize("act", [add, sub, mul, truediv])
def test_operations_enclose_what_is_exact_closely(act: Any) -> None:
    random = np.random.default_rng(2)
    sign = random.choice([-1.0, 1.0], (4, 200))
    a, b, c, d = sign * np.exp(random.uniform(-20, 20, (4, 200)))
    if act is truediv:
        c, d = np.abs(c), np.abs(d)
    one = Interval(np.minimum(a, b), np.maximum(a, b))
    found = act(one, Interval(np.minimum(c, d), np.maximum(c, d)))
    for i in range(200):
        corners = [act(Fraction(x), Fraction(y)) for x, y in product((a[i], b[i]), (c[i], d[i]))]
        low, high = Fraction(found.low[i]), Fraction(found.high[i])
        assert min(corners) - abs(min(corners)) / 10**15 * 2 <= low <= min(corners)
        assert max(corners) <= high <= max(corners) + abs(max(corners)) / 10**15 * 2


def test_sums_enclose_what_is_exact_closely() -> None:
    random = np.random.default_rng(3)
    rows = random.choice([-1.0, 1.0], (40, 300)) * np.exp(random.uniform(-9, 3, (40, 300)))
    rows[:20] = np.abs(rows[:20])
    rows[0] = 0.1
    found = Interval(rows, np.nextafter(rows, np.inf)).total()
    for row, low, high in zip(rows, found.low, found.high, strict=True):
        exact, size = sum(map(Fraction, row)), Fraction(np.abs(row).sum())
        assert exact - size / 10**12 <= Fraction(low) <= exact
        upper = sum(map(Fraction, np.nextafter(row, np.inf)))
        assert upper <= Fraction(high) <= upper + size / 10**12


def test_decimals_are_enclosed_and_whole_numbers_are_exact() -> None:
    for text in ("0.1", "0.3", "1e-9", "123456.789", "-2.7", "0.5", "1e300"):
        found = Interval.decimals(float(text))
        assert found.low < found.high
        assert Fraction(float(found.low)) <= Fraction(text) <= Fraction(float(found.high))
        assert abs(found.high - found.low) < 1e-15 * abs(float(text))
    exact = Interval.decimals(np.array([0.0, 7.0, -3.0, 2.0**53 - 1]))
    assert (exact.low == exact.high).all()
    large = Interval.decimals(np.array([2.0**53, 2.0**54]))
    assert (large.low < large.high).all()


@KINDS
def test_lines_are_above_speedups_and_touch_them(speedup: Any, whole: bool) -> None:
    starts = np.array([0.2, 0.51, 0.75, 1, 1.5, 2, 2.51, 3.7, 7, 8, 9, 20.5])
    curve, step = curve_of(speedup, whole), Decimal("1e-6")
    lines = [list(map(Decimal, part.tolist())) for part in curve.above(starts)]
    with localcontext(prec=40):
        for start, value, right, left in zip(starts.tolist(), *lines, strict=True):
            k0 = Decimal(start)
            for k in map(Decimal, [0, 0.1, 0.5, 1, 1.3, 2, 2.5, 3, 5, 7, 8, 8.5, 15, 30]):
                line = value + (right if k >= k0 else left) * (k - k0)
                assert line >= speed(speedup, whole, k)
            for k, slope in ((k0, right), (k0 + step, right), (k0 - step, left)):
                line = value + slope * (k - k0)
                assert line <= speed(speedup, whole, k) + Decimal("1e-10")


@KINDS
def test_guesses_are_near_the_best(speedup: Any, whole: bool) -> None:
    curve, grid = curve_of(speedup, whole), np.linspace(0.0, 30.0, 601)
    exact = np.array([float(speed(speedup, whole, Decimal(k))) for k in grid.tolist()])
    assert curve.about(grid) == pytest.approx(exact, rel=1e-9, abs=1e-11)
    for steepness in (0.02, 0.2, 0.45, 0.7, 1.3):
        k = float(np.clip(curve.wish(np.array([steepness]))[0], 0.0, 30.0))
        got = float(curve.about(np.array([k]))[0]) - steepness * k
        assert got >= (exact - steepness * grid).max() - (0.1 if whole else 1e-6)


def test_a_gain_is_the_best_of_three_points() -> None:
    random = np.random.default_rng(4)
    price, rent, k0, value = random.uniform(0.1, 3.0, (4, 100))
    left = random.uniform(0.1, 3.0, 100)
    right = left * random.uniform(0.0, 1.0, 100)
    ends = 0.05, 4.0
    found = gain((value, right, left), price, rent, k0, ends)
    for i in range(100):
        lam, r, k, v = map(Fraction, (price[i], rent[i], k0[i], value[i]))
        exact = max(
            lam * (v + Fraction(slope) * (Fraction(end) - k)) - r * Fraction(end)
            for slope, end in ((left[i], ends[0]), (right[i], ends[1]), (left[i], k0[i]))
        )
        assert exact <= Fraction(found[i]) <= exact + Fraction(1, 10**12)
    big, one = np.array([1e308]), np.array([1.0])
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="too large"):
        gain((big, one, one), big, one, one, ends)


RULES: dict[str, tuple[Any, ...]] = {
    "none": (),
    "caps": (Shares(jobs=("j0", "j1"), at_most=0.4), Shares(jobs=("j2",), at_most=0.3)),
    "floors": (Shares(jobs=("j1",), at_least=0.3), Shares(jobs=("j2",), at_least=0.1)),
    "both": (Shares(jobs=("j0",), at_least=0.1, at_most=0.5), Shares(jobs=("j2",), at_most=0.3)),
}
MIXED = [Power(p=0.5), Amdahl(parallel=0.9), Table(points=((1, 1), (2, 1.8), (8, 4)))]


def three(own: Any = None, **more: Any) -> Instance:
    """Build an instance of three jobs on ten servers."""
    return cluster([3, 2, 1], Power(p=0.5), own=own or MIXED, weights=[1, 2, 3], **more)


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_what_jobs_can_earn_is_found_from_above(rules: tuple[Any, ...]) -> None:
    """Beside the best of all shares in steps of a hundredth."""
    instance = three()
    machine = machine_of(instance, rules, None)
    grid = np.linspace(0.0, 10.0, 101)
    speeds = np.array([curve.about(grid) for curve in curves_of(instance)])
    random = np.random.default_rng(5)
    for who in ((True, True, True), (True, False, True), (False, True, False), (True, True, False)):
        prices = random.uniform(0.1, 2.0, (3, 3)) * who
        prices[2, random.integers(3)] = 0.0
        found = machine.most_earned(prices, np.tile(who, (3, 1)))
        ks = np.meshgrid(*(grid if here else [0.0] for here in who), indexing="ij")
        fine = sum(ks) <= 10.0 + 1e-9
        for k, here, least, most in zip(ks, who, machine.least, machine.most, strict=True):
            fine &= ((k >= least - 1e-9) & (k <= most + 1e-9)) | (not here)
        for row, bound in zip(prices, found, strict=True):
            worth = sum(
                price * speeds[j][np.rint(k * 10).astype(int)]
                for j, (price, k) in enumerate(zip(row, ks, strict=True))
            )
            best = worth[fine].max()
            assert best * (1 - 1e-9) <= bound <= best * 1.003 + 1e-9


def test_of_two_jobs_one_need_not_complete_sooner() -> None:
    """One that is as large and costs no more, under rules that tell them not apart."""
    own = [None, None, None, None, Power(p=0.6)]
    for objective, pairs in (
        ("weighted-flow-time", {(0, 1), (0, 2), (0, 3), (1, 2), (3, 1), (3, 2)}),
        ("total-flow-time", {(0, 1), (0, 2), (0, 3), (2, 1), (3, 1), (3, 2)}),
    ):
        instance = cluster(
            [3, 2, 2, 2, 2], Power(p=0.5), weights=[1, 1, 2, 1, 1], own=own, objective=objective
        )
        every = list(product(range(5), repeat=2))
        free = Proof(instance, (), None)
        assert {(i, j) for i, j in every if i != j and free._no_sooner(i, j)} == pairs
        for rule, apart in (
            (Shares(jobs=("j0", "j2"), at_most=0.5), lambda i, j: (i in (0, 2)) != (j in (0, 2))),
            (FairShare(by="team", at_most={"a": 0.5}), lambda i, j: i % 2 != j % 2),
            (FairShare(by="team", at_least={"b": 0.5}), lambda i, j: i % 2 != j % 2),
            (FairShare(by="other", at_least={"b": 0.5}), lambda _i, _j: False),
        ):
            ruled = Proof(instance, (rule,), None)
            left = {(i, j) for i, j in every if i != j and ruled._no_sooner(i, j)}
            assert left == {(i, j) for i, j in pairs if not apart(i, j)}


def test_what_a_job_gains_is_added_up_from_above() -> None:
    machine, count = machine_of(three(), (), None), 200
    times = np.cumsum(np.random.default_rng(6).uniform(0.01, 0.3, count + 1))
    lengths, prices = ends_from(Interval.exactly(times)), np.array([0.2, 3.0])
    rents = np.linspace(0.5, 0.1, count)
    one = _Job(machine, 1, Interval.exactly(np.ones(1)), Interval.exactly(np.ones(1)))
    found = one._gains(prices, lengths, rents)
    for row, price in zip(found, prices, strict=True):
        rates = machine.most_gained(1, np.full(count, price), rents)
        steps = map(mul, map(Fraction, rates), np.diff(list(map(Fraction, times))))
        for at, exact in enumerate(accumulate(steps, initial=Fraction(0))):
            assert (
                exact
                <= Fraction(row[at])
                <= exact * (1 + Fraction(1, 10**11)) + Fraction(1, 10**15)
            )


def test_a_job_alone_has_no_more_than_its_team_and_no_less_if_it_is_one() -> None:
    rule = FairShare(by="team", at_least={"a": 0.3, "b": 0.5}, at_most={"a": 0.4})
    machine = _of_one(machine_of(three(), (rule,), "team"))
    assert machine.least == pytest.approx([0.0, 5.0, 0.0])
    assert machine.most == pytest.approx([4.0, 10.0, 4.0])
