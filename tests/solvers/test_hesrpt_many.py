"""Many jobs of unequal speedups: what rents prove holds, and what is played is nearly as cheap."""

from math import inf

import msgspec
import numpy as np
import pytest
from builders.effort import tried
from builders.hesrpt import cluster, speedups, tables, various
from hypothesis import assume
from hypothesis import strategies as st

import schedopt
from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import Bound, Rules
from schedopt.instances.constraints import FairShare, Shares
from schedopt.instances.hesrpt import Amdahl, Instance, Power, Table
from schedopt.policies.hesrpt.shares import equi
from schedopt.policies.hesrpt.simulator import play
from schedopt.solvers.door import solve
from schedopt.solvers.hesrpt.alike import asked_of, count_sets
from schedopt.solvers.hesrpt.certificate import certificate
from schedopt.solvers.hesrpt.feasible import _served_in_turn
from schedopt.solvers.hesrpt.kernels import curves, speed
from schedopt.solvers.hesrpt.orders import order_search
from schedopt.solvers.hesrpt.paths import Rents, falling, from_above
from schedopt.solvers.hesrpt.rents import RentSearch
from schedopt.solvers.hesrpt.waves import in_waves
from schedopt.solvers.result import Limits
from schedopt.validation.hesrpt.allocation import check
from schedopt.validation.hesrpt.bound import reproved
from schedopt.validation.report import Report


def many(jobs: int, seed: int, servers: int = 100) -> Instance:
    """Draw jobs of powers, of Amdahl's law and of tables by turns, with Pareto sizes."""
    random = np.random.Generator(np.random.PCG64(seed))
    tabled = Table(points=((1, 1), (8, 6), (32, 14), (100, 20)))
    own = [
        (
            Power(p=float(random.uniform(0.2, 0.95))),
            Amdahl(parallel=float(random.uniform(0.7, 0.999))),
            tabled,
        )[j % 3]
        for j in range(jobs)
    ]
    return cluster(
        random.pareto(1.5, jobs) + 1,
        Power(p=0.5),
        servers,
        weights=random.integers(1, 5, jobs),
        own=own,
        objective="weighted-flow-time",
    )


def at_large(instance: Instance) -> RentSearch:
    """Search as many jobs are searched."""
    found = RentSearch(instance)
    while not found.advance(inf):
        pass
    return found


@tried(40, various(5, st.one_of(speedups, tables, st.just(Power(p=1.0)))))
def test_few_jobs_are_bounded_from_below_and_nearly_met(instance: Instance) -> None:
    search = order_search(instance)
    while not search.advance(10.0):
        pass
    found = at_large(instance)
    assert found.rents.bound <= search.value * (1 + 1e-12)
    assert search.bound * (1 - 1e-9) <= found.value <= search.value * 1.005
    after, placed = found.rents.after(search.value * 1.0001), 0
    for name in reversed(search.solution().order):  # as played: with ties not the one searched
        j = instance.index[name]
        assert int(after[j]) & ~placed == 0
        placed |= 1 << j


def test_rents_leave_few_orders_of_twenty_jobs() -> None:
    found = at_large(many(20, 1))
    assert found.value - found.rents.bound < 0.01 * found.value
    assert 20 < count_sets(found.rents.after(found.value), 1 << 20) < 1 << 12
    assert count_sets(np.array([2, 1]), 10) == 0


@tried(
    20,
    st.lists(st.floats(0.01, 100), min_size=1, max_size=6),
    st.lists(st.floats(0, 10), min_size=6, max_size=6),
    st.integers(0, 3),
)
def test_any_rents_prove_a_bound(lengths: list[float], heights: list[float], seed: int) -> None:
    instance = many(9, seed, 10)
    rents = falling(np.array(heights[: len(lengths)]) + 0.001, np.array(lengths))
    assert (np.diff(rents) <= 0).all()
    found = Rents(curves(instance), instance.sizes, instance.costs)
    for _ in found.tried(np.append(0.0, np.cumsum(lengths)), rents[None]):
        pass
    assert found.bound <= at_large(instance).value


@pytest.mark.parametrize(
    "steep", [Power(p=0.98), Power(p=1 - 1e-7), Power(p=1 - 1e-12), Amdahl(parallel=1 - 1e-9)]
)
def test_what_is_taken_from_above_is_nowhere_lower(steep: Power | Amdahl) -> None:
    plain = curves(cluster([1], steep, 1000))
    above = from_above(plain)
    table = slice(above.firsts[0], above.lasts[0])
    slopes = np.diff(above.ys[table]) / np.diff(above.xs[table])
    assert (np.diff(slopes) <= 0).all()
    for k in np.geomspace(1e-9, 1000, 500).tolist():
        low = speed(plain, 0, k)
        assert low <= speed(above, 0, k) <= low * 1.001 + 1e-5


def test_seventy_jobs_within_a_percent() -> None:
    instance = many(70, 1)
    result = schedopt.solve(instance, time_limit=2)
    assert result.violations == () and result.bound is not None and result.gap is not None
    assert not result.proven and result.gap < 0.01
    ends, _ = play(instance, equi, record=False)
    assert result.bound <= float(instance.costs @ ends)


def test_bounds_of_single_jobs_are_kept_and_seen() -> None:
    instance = many(64, 2)
    capped = Shares(jobs=("j0", "j1", "j2"), at_most=0.01)
    floored = Shares(jobs=("j3", "j4"), at_least=0.05)
    free = schedopt.solve(instance, time_limit=1)
    held = schedopt.solve(instance, constraints=[capped, floored], time_limit=1)
    assert held.violations == () and held.gap is not None and held.gap < 0.02
    assert held.bound > free.objective


def test_a_bound_by_rents_is_re_proved_and_no_more_than_it() -> None:
    instance = many(61, 3)
    model = Allocation(instance)
    result = solve(model, Limits(time_limit=1.0))
    found = certificate(model, result, Limits(time_limit=20.0))
    assert found is not None and found["kind"] == "rents"

    document = result.document()

    def line(changed: dict[str, object], bound: float) -> str | None:
        return reproved(instance, (), changed, msgspec.structs.replace(document, bound=bound))

    assert line(found, result.bound) is None
    assert "shows" in str(line(found, result.bound * 1.01))
    jobs = found["jobs"]
    dearer = [{**jobs[0], "cost": jobs[0]["cost"] * (1 + 1e-6)}, *jobs[1:]]
    assert "may cost less" in str(line({**found, "jobs": dearer}, result.bound))
    freer = [{**jobs[0], "beyond": jobs[0]["beyond"] * 9.0}, *jobs[1:]]
    assert "may cost less" in str(line({**found, "jobs": freer}, result.bound))
    rising = found["rents"][::-1]
    assert "never do" in str(line({**found, "rents": rising}, result.bound))
    assert "every job" in str(line({**found, "jobs": jobs[1:]}, result.bound))


TEAMS = st.sampled_from(
    [
        FairShare(by="team", at_most={"a": 0.5}, name="cap"),
        FairShare(by="team", at_most={"a": 0.3, "b": 0.4}, name="caps"),
        FairShare(by="team", at_least={"a": 0.2, "b": 0.3}, name="floors"),
        FairShare(by="team", at_least={"b": 0.1}, at_most={"a": 0.4}, name="both"),
    ]
)


@tried(15, various(5, st.one_of(speedups, tables)), TEAMS)
def test_rents_of_teams_hold_beside_the_optimum(instance: Instance, rule: FairShare) -> None:
    assume(len(instance.jobs) > 1)  # that there are two teams
    ruled = msgspec.structs.replace(instance, constraints=(rule,))
    best = schedopt.solve(ruled, solver="tree")
    found = schedopt.solve(ruled, solver="rents", certificate=True)
    assert best.objective is not None and best.proven and best.violations == ()
    assert found.violations == () and found.objective is not None
    assert found.bound is not None and 0.0 < found.bound <= best.objective * (1 + 1e-9)
    assert found.objective >= best.objective * (1 - 1e-6)
    assert found.bound_checked or rule.at_least  # a floor of a team may leave it believed


@tried(
    30,
    st.lists(
        st.tuples(
            st.sampled_from([(0,), (1,), (0, 1, 2), (3, 4), (1, 3), (0, 1, 2, 3, 4)]),
            st.sampled_from([0.0, 0.3, 0.6]),
            st.sampled_from([0.0, 0.3, 1.0]),
        ),
        max_size=5,
    ),
)
def test_jobs_that_rules_do_not_tell_apart_are_served_as_each_alone_is(
    drawn: list[tuple[tuple[int, ...], float, float]],
) -> None:
    bounds = [Bound("", jobs, low if len(jobs) == 1 else 0.0, high) for jobs, low, high in drawn]
    groups: dict[tuple[object, ...], list[int]] = {}
    for j, asks in enumerate(asked_of(bounds, 5)):
        groups.setdefault(asks, []).append(j)
    each = [[j] for j in range(5)]
    assert _served_in_turn(bounds, list(groups.values())) == _served_in_turn(bounds, each)


def test_team_rents_that_are_forged_show_nothing() -> None:
    rule = FairShare(by="team", at_most={"a": 0.2, "b": 0.3}, name="caps")
    instance = msgspec.structs.replace(many(12, 4), constraints=(rule,))
    result = schedopt.solve(instance, solver="rents", certificate=True)
    assert result.bound_checked and result.bound is not None
    found = result.document().certificate
    assert isinstance(found, dict) and found["by"] == "team"

    def line(changed: dict[str, object]) -> str | None:
        return reproved(instance, (rule,), changed, result.document())

    assert line(found) is None
    lower = {name: (0.5 * np.array(rents)).tolist() for name, rents in found["teams"].items()}
    assert line({**found, "teams": lower}) is not None
    assert "no team with a cap" in str(line({**found, "teams": {"c": found["rents"]}}))
    assert line({**found, "by": None}) is not None


def test_something_is_in_hand_without_any_time() -> None:
    for jobs in (200, 3_000):
        instance = many(jobs, 5)
        result = schedopt.solve(instance, time_limit=0.0)
        assert result.solution_status == "feasible" and result.violations == ()
        assert result.bound is not None and 0.0 < result.bound < (result.objective or 0.0)


@pytest.mark.parametrize("jobs", [64, 500])
def test_waves_are_recomputed_one_by_one(jobs: int) -> None:
    instance = many(jobs, 7)
    solution = in_waves(instance, Rules(instance))
    assert solution is not None
    cost = instance.objective_of(solution)
    claim = schedopt.solve(instance, time_limit=0.0).claim()
    document = msgspec.structs.replace(claim, objective=cost)
    late = msgspec.structs.replace(solution.epochs[-1], end=solution.epochs[-1].end * 1.01)
    wrong = msgspec.structs.replace(solution, epochs=(*solution.epochs[:-1], late))
    for made, says in ((solution, ""), (wrong, "after it completes")):
        report = Report()
        check(instance, made, document, instance.constraints, report)
        assert says in "".join(report.violations[:1]) and bool(report.violations) == bool(says)
