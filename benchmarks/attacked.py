"""Answers compared with other methods: SCIP on many jobs, trial on prices, policies on bounds.

`SORTS` are kinds of `benchmarks.agree`: a function of a seed to ``agreed``, ``infeasible``,
``withheld`` or a quarrel.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations
from math import isclose
from random import Random
from typing import Any

import numpy as np

from benchmarks import agreeing
from benchmarks.msfq_beaten import beaten, drawn
from schedopt.instances import dssp, msfq
from schedopt.instances.constraints import FairShare, Seats
from schedopt.instances.decimals import as_written

SECONDS = 10.0  # what either method may take; what is not proven by then is withheld
BLIND = (
    "adaptive-quickswap",
    "class-thresholds",
    "fcfs",
    "first-fit",
    "msf",
    "msfq",
    "nmsr",
    "static-quickswap",
    "two-threshold",
)
"""Compiled policies that neither stop jobs nor know how long they run."""


def many(seed: int) -> str:
    """Solve 60 to 200 jobs under rules by our engines and by SCIP, which must not contradict."""
    from schedopt import solve

    draw = Random(f"many {seed}")  # noqa: S311
    draft = agreeing.Draft(draw, 2)
    draft.names = [f"j{i}" for i in range(draw.randint(60, 200))]
    size = len(draft.names)
    draft.rewards, draft.demands = (agreeing.plain(draw, size) for _ in range(2))
    draft.teams = [draw.choice(agreeing.TEAMS) for _ in draft.names]
    draft.capacity = round(sum(draft.demands) * draw.choice((0.2, 0.5, 0.8)), 1) or 1.0
    kinds = draw.choices([*agreeing.RULES], k=draw.randint(1, 4))
    columns = zip(draft.names, draft.rewards, draft.demands, draft.teams, strict=True)
    night = dssp.Instance(
        name=f"many-{seed}",
        processors=1,
        deadline=draft.capacity,
        jobs=tuple(
            dssp.Job(name=n, reward=r, demand=d, critical_path=0.0, groups={"team": t})
            for n, r, d, t in columns
        ),
        constraints=tuple(agreeing.RULES[k](draw, draft, f"c{i}") for i, k in enumerate(kinds)),
    )
    ours, theirs = (
        solve(night, solver=name, threads=1, time_limit=SECONDS) for name in (None, "scip")
    )
    if ours.violations or theirs.violations:
        return f"violations: {ours.violations or theirs.violations}"
    return _compared(ours, theirs)


def _compared(one: Any, other: Any) -> str:
    """Compare two results: no solution may beat the other's bound, and proven optima are equal."""
    ends = {one.termination, other.termination}
    if ends == {"infeasible"}:
        return "infeasible"
    for first, second in ((one, other), (other, one)):
        if first.termination == "infeasible" and second.solution is not None:
            return f"{first.solver} says infeasible, {second.solver} has {second.objective}"
        if first.bound is not None and second.objective is not None:
            beyond = second.objective - first.bound
            beyond = -beyond if one.sense == "minimize" else beyond
            if beyond > 1e-6 * max(1.0, abs(first.bound)):
                return f"{second.solver} has {second.objective}, {first.solver} bound {first.bound}"
    if not (one.proven and other.proven):
        return "withheld"
    same = isclose(one.objective, other.objective, rel_tol=1e-6, abs_tol=1e-6)
    return "agreed" if same else f"{one.objective} {other.objective}"


def prices(seed: int) -> str:
    """Hold what ``--explain`` says that rules cost against every selection there is."""
    from schedopt import solve

    draw = Random(f"prices {seed}")  # noqa: S311
    night = agreeing.selection(draw.choice([*agreeing.RULES]), seed, most=9)
    result = solve(night, threads=1, explain=True, time_limit=SECONDS)
    if not result.proven or not result.explanation:
        return "infeasible" if result.termination == "infeasible" else "withheld"
    told = {one["rule"]: one["cost"] for one in result.explanation["rules"] if one["proven"]}
    here = _best(night, night.constraints)
    for rule in night.constraints:
        without = _best(night, [other for other in night.constraints if other is not rule])
        if rule.name in told and here is not None and without is not None:
            cost = float(without - here)
            if not isclose(told[rule.name], cost, rel_tol=1e-9, abs_tol=1e-12):
                return f"{rule.name} costs {told[rule.name]}, by trial {cost}"
    return "agreed"


def _best(night: dssp.Instance, rules: Any) -> Fraction | None:
    from schedopt.validation.dssp.constraints import broken, unseated
    from schedopt.validation.dssp.facts import Facts

    facts = Facts(night, 1.0)
    reward = {job.name: as_written(job.reward) for job in night.jobs}

    def sound(chosen: frozenset[str]) -> bool:
        return facts.total(chosen) <= facts.capacity and not any(
            [*broken(rule, facts, chosen)]
            or (isinstance(rule, Seats) and [*unseated(rule, facts, chosen)])
            for rule in rules
        )

    names = [*reward]
    some = (frozenset(c) for size in range(len(names) + 1) for c in combinations(names, size))
    return max((sum((reward[n] for n in c), Fraction(0)) for c in some if sound(c)), default=None)


def carried(seed: int) -> str:
    """Walk some nights under a carried cap: each is the best that the definition allows."""
    from schedopt import carry, solve

    draw = Random(f"carried {seed}")  # noqa: S311
    cap = draw.choice((0.2, 0.35, 0.5, 0.7))
    life, window = draw.choice(((1.0, None), (0.5, None), (None, 1), (None, 2), (None, 3)))
    rule, teams = FairShare(name="fair", by="team", at_most={"fx": cap}), ("fx", "light")
    walked: list[Any] = []
    used: list[tuple[int, int]] = []  # by the team, and the capacity, of the nights before
    for n in range(draw.randint(3, 5)):
        jobs = tuple(
            dssp.Job(
                name=f"n{n}-{j}",
                reward=draw.randint(0, 9),
                demand=draw.randint(0, 6),
                critical_path=0.0,
                groups={"team": draw.choice(teams) if j else "fx"},
            )
            for j in range(draw.randint(1, 6))
        )
        capacity = draw.randint(4, 16)
        night = dssp.Instance(name=f"n{n}", processors=1, deadline=capacity, jobs=jobs)
        rules = carry(walked, half_life=life, window=window, constraints=[rule]) if n else [rule]
        result = solve(night, constraints=rules, threads=1, time_limit=SECONDS)
        weights = [
            Fraction(1, 2 ** round((n - m) / life)) if life else int(n - m < window)
            for m in range(n)
        ]
        before, of = (
            sum((w * night[i] for w, night in zip(weights, used, strict=True)), Fraction(0))
            for i in (0, 1)
        )
        fits = [
            chosen
            for size in range(len(jobs) + 1)
            for chosen in combinations(jobs, size)
            if sum(job.demand for job in chosen) <= capacity
            and before + _of_team(chosen) <= as_written(cap) * (of + capacity)
        ]
        if not fits:
            return "infeasible" if result.termination == "infeasible" else f"night {n}: not shown"
        if not result.proven:
            return "withheld" if result.termination == "time_limit" else f"{result.termination}"
        best = max(sum(job.reward for job in chosen) for chosen in fits)
        if result.objective != best or result.violations:
            return f"night {n}: {result.objective}, by trial {best}; {result.violations}"
        walked.append(result)
        used.append((_of_team([j for j in jobs if j.name in result.solution.selected]), capacity))
    return "agreed"


def _of_team(jobs: Iterable[dssp.Job]) -> int:
    return sum(int(job.demand) for job in jobs if job.groups["team"] == "fx")


def logs(seed: int) -> str:
    """Hold the bound of a log of up to 150 jobs below what every policy gets on it."""
    wrong = beaten(drawn(seed, most=151), prove=seed % 10 == 0)
    return wrong[0] if wrong else "agreed"


def classes(seed: int) -> str:
    """Hold the bound of a queue of two to five classes below what policies are simulated to get."""
    from schedopt import evaluate, solve

    draw = np.random.default_rng(seed)
    servers, count = int(draw.integers(2, 9)), int(draw.integers(2, 6))
    needs = sorted({1, servers, *draw.integers(1, servers + 1, count - 2).tolist()})
    load, parts = float(draw.uniform(0.2, 0.8)), draw.dirichlet(np.ones(len(needs)))
    queue = msfq.Instance(
        name=f"classes-{seed}",
        servers=servers,
        classes=tuple(
            msfq.JobClass(need=need, service_rate=1.0, arrival_rate=max(1e-3, part / need))
            for need, part in zip(needs, (parts * load * servers).tolist(), strict=True)
        ),
    )
    result = solve(queue, formulation="optimal-policy", threads=1, time_limit=SECONDS / 20)
    if result.bound is None:
        return "withheld"
    for found in evaluate(queue, BLIND, options={"arrivals": 200_000}, seed=seed):
        if found.objective is None or not isinstance(found.confidence, float):
            continue  # too short a run to say anything
        if found.objective + 3 * found.confidence < result.bound * (1 - 1e-6):
            return f"{found.policy} gets {found.objective}, below the bound {result.bound}"
    return "agreed"


SORTS: dict[str, Callable[[int], str]] = {
    "60 to 200 jobs": many,
    "prices of rules": prices,
    "carried shares": carried,
    "bounds of logs": logs,
    "bounds of classes": classes,
}
