"""Families of hard dssp instances: reductions, crossing side constraints, bounds on groups.

Source of the reductions: Anderson et al., SPAA 2005, section 2.1, Theorems 1 and 2.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from schedopt.instances import constraints as kinds
from schedopt.instances.dssp.jobs import Job
from schedopt.instances.dssp.records import Instance, SideConstraint
from schedopt.instances.options import number, one_of, whole
from schedopt.instances.recipes import Recipe, numbered_names, stream

Triple = tuple[int, int, int]


def random_partition(seed: int, values: Mapping[str, Any]) -> Instance:
    """Return Theorem 1's instance, which earns its reward if and only if numbers can be halved.

    The instance has one job with a single stage and a task for each number, two processors, and
    half the sum of the numbers as its deadline. ``planted`` numbers consist of two halves of equal
    sum.
    """
    draw = stream(seed)
    count, largest = values["numbers"], values["largest"]
    numbers = draw.integers(1, largest, count, endpoint=True)
    if values["planted"]:
        half = numbers[: max(1, count // 2)]
        cuts = np.sort(draw.integers(0, int(half.sum()), max(0, count - len(half) - 1)))
        other = np.diff(np.concatenate(([0], cuts, [half.sum()])))
        numbers = draw.permutation(np.concatenate((half, other[other > 0])))
    stage = tuple(numbers.astype(float).tolist())
    return Instance(
        name=f"partition-{len(stage)}",
        description="Theorem 1: the job completes in time if and only if its tasks can be halved.",
        processors=2,
        deadline=sum(stage) / 2,
        jobs=(Job(name="halves", reward=1.0, stages=(stage,)),),
    )


def random_matching(seed: int, values: Mapping[str, Any]) -> Instance:
    """Return Theorem 2's instance: ``size`` jobs can complete if and only if a 3D matching exists.

    Each triple (a, b, c) of numbers from 0 to size - 1 gives a job of 3·size stages with one unit
    task, and a second one in the stages a, size + b and 2·size + c. There are size + 1 processors,
    and the deadline is 3·size. Every job that completes keeps one processor busy all the time; the
    jobs share the remaining processor for their second tasks, which must not overlap. ``planted``
    triples contain a perfect matching.
    """
    draw = stream(seed)
    size, count = values["size"], values["triples"]
    drawn: dict[Triple, None] = {}
    if values["planted"]:
        columns = [draw.permutation(size).tolist() for _ in range(3)]
        drawn.update(dict.fromkeys(zip(*columns, strict=True)))
    while len(drawn) < min(max(count, len(drawn)), size**3):
        a, b, c = draw.integers(0, size, 3).tolist()
        drawn[a, b, c] = None
    triples = [[*drawn][i] for i in draw.permutation(len(drawn))]
    jobs = tuple(
        Job(
            name=f"triple-{i}-{a}-{b}-{c}",
            reward=1.0,
            stages=tuple(
                (1.0, 1.0) if stage in (a, size + b, 2 * size + c) else (1.0,)
                for stage in range(3 * size)
            ),
        )
        for i, (a, b, c) in enumerate(triples)
    )
    return Instance(
        name=f"matching-{size}-{len(triples)}",
        description="Theorem 2: as many jobs complete as a largest 3D-matching has triples, "
        "if that is a perfect one.",
        processors=size + 1,
        deadline=3.0 * size,
        jobs=jobs,
    )


Ints = NDArray[np.int64]
KINDS = ("shares", "all")
LARGEST, MOST_REWARD = 10**6, 1000  # demands and rewards are whole and uniform from 1 to these
RESOURCES, USERS = 2, 0.3  # resources, and the part of the jobs that uses each
FEW = 50  # jobs per set of three apart, per pair together and per implication


def _crossing(seed: int, values: Mapping[str, Any]) -> Instance:
    """Draw jobs with teams and shows, and side constraints that a known selection satisfies.

    The known selection is greedy by reward per demand, times lognormal noise, under the caps.
    Floors, counts and resources are drawn around what it uses.
    """
    draw, count = stream(seed), values["jobs"]
    demand = draw.integers(1, LARGEST, count, endpoint=True)
    reward = draw.integers(1, MOST_REWARD, count, endpoint=True)
    room = max(LARGEST, int(values["fraction"] * int(demand.sum())))
    owners = {by: draw.integers(0, values[f"{by}s"], count) for by in ("team", "show")}
    ratio = reward / demand
    free = _fill_capacity(-ratio, demand, room, ())
    caps = []
    for by, owner in owners.items():
        size = values[f"{by}s"]
        most = np.bincount(owner[free], demand[free], minlength=size).astype(np.float64)
        most *= draw.uniform(0.6, 1.1, size)
        most[draw.random(size) < 0.3] = room
        caps.append((owner, most))
    selection = _fill_capacity(-ratio * draw.lognormal(0.0, 0.5, count), demand, room, caps)
    names = {by: numbered_names(f"{by}-", values[f"{by}s"]) for by in owners}
    rules: list[SideConstraint] = []
    for (by, owner), (_, most) in zip(owners.items(), caps, strict=True):
        size = values[f"{by}s"]
        least = np.bincount(owner[selection], demand[selection], minlength=size).astype(np.float64)
        least *= draw.uniform(0.7, 1.0, size) * (draw.random(size) < 0.3)
        capped = (most < room) & (np.bincount(owner, minlength=size) > 0)
        at_most = _draw_shares(names[by], most / room, np.ceil, capped)
        at_least = _draw_shares(names[by], least / room, np.floor, least > 0)
        if at_most or at_least:
            name = f"shares of {by}s"
            rules.append(kinds.FairShare(name=name, by=by, at_most=at_most, at_least=at_least))
    jobs = numbered_names("job-", count)
    if values["rules"] == "all":
        rules += _draw_counts(draw, names, owners, selection)
        rules += _draw_resources(draw, jobs, selection)
        rules += _draw_job_sets(draw, jobs, selection)
    built = tuple(
        Job(
            name=jobs[j],
            reward=float(reward[j]),
            demand=float(demand[j]),
            critical_path=1.0,
            groups={by: names[by][owner[j]] for by, owner in owners.items()},
        )
        for j in range(count)
    )
    return Instance(
        name=f"crossing-{count}-{seed}",
        description=f"{count} jobs under rules that cross (seed {seed}).",
        processors=1,
        deadline=float(room),
        jobs=built,
        constraints=tuple(rules),
    )


def _fill_capacity(key: Any, demand: Ints, room: int, caps: Any) -> Ints:
    """Return the jobs that fit, taken in increasing order of a key, under the groups' caps."""
    rooms, taken = [most.copy() for _, most in caps], []
    for j in np.argsort(key, kind="stable").tolist():
        remaining = [most[owner[j]] for most, (owner, _) in zip(rooms, caps, strict=True)]
        if demand[j] <= min((room, *remaining)):
            taken.append(j)
            room -= demand[j]
            for most, (owner, _) in zip(rooms, caps, strict=True):
                most[owner[j]] -= demand[j]
    return np.array(taken, dtype=np.int64)


def _draw_shares(names: list[str], parts: Any, outwards: Any, some: Any) -> dict[str, float]:
    """Return shares of some groups, rounded outwards to nine decimals."""
    rounded = np.clip(outwards(parts * 1e9) / 1e9, 0.0, 1.0).round(9)
    return {names[i]: float(rounded[i]) for i in np.flatnonzero(some).tolist()}


def _draw_counts(draw: Any, names: Any, owners: Any, known: Ints) -> Iterator[SideConstraint]:
    """Yield maximum counts for a fifth of the teams and minimum counts for a fifth of the shows."""
    for by, kind, part in (("team", kinds.AtMost, 0.95), ("show", kinds.AtLeast, 1.05)):
        held, own = (
            np.bincount(of, minlength=len(names[by])) for of in (owners[by][known], owners[by])
        )
        for i in np.flatnonzero((draw.random(len(held)) < 0.2) & (own > 0)).tolist():
            count = int(held[i]) if part > 1 else int(np.ceil(held[i] * draw.uniform(1.0, 1.05)))
            yield kind(name=f"count of {names[by][i]}", by=by, group=names[by][i], count=count)


def _draw_resources(draw: Any, jobs: list[str], known: Ints) -> Iterator[SideConstraint]:
    """Yield resources whose capacity the known selection uses almost completely."""
    for i in range(RESOURCES):
        use = np.where(draw.random(len(jobs)) < USERS, draw.integers(1, 100, len(jobs)), 0)
        room = int(use[known].sum() * draw.uniform(1.0, 1.1))
        used = {jobs[j]: float(use[j]) for j in np.flatnonzero(use).tolist()}
        if used:
            yield kinds.Resource(name=f"resource-{i + 1}", capacity=float(room), use=used)


def _draw_job_sets(draw: Any, jobs: list[str], known: Ints) -> Iterator[SideConstraint]:
    """Yield disjoint sets of jobs (apart, together, implied) that the known selection satisfies."""
    chosen = np.zeros(len(jobs), dtype=np.bool_)
    chosen[known] = True
    inside = draw.permutation(np.flatnonzero(chosen)).tolist()
    outside = draw.permutation(np.flatnonzero(~chosen)).tolist()
    for i in range(1, len(jobs) // FEW + 1):
        if len(inside) < 4 or len(outside) < 5:
            return
        three = (inside.pop(), outside.pop(), outside.pop())
        yield kinds.Apart(name=f"apart-{i}", jobs=tuple(jobs[j] for j in three))
        some = inside if i % 2 else outside
        yield kinds.Together(name=f"together-{i}", jobs=(jobs[some.pop()], jobs[some.pop()]))
        first, then = outside.pop(), inside.pop()
        yield kinds.Imply(name=f"implied-{i}", if_=jobs[first], then=jobs[then])


CROSSING = Recipe(
    "crossing",
    _crossing,
    {
        "jobs": whole(500, 10, 10**6),
        "teams": whole(12, 1, 1000),
        "shows": whole(8, 1, 1000),
        "rules": one_of("shares", KINDS),
        "fraction": number(0.5, "a number above 0, at most 1", lambda v: 0 < v <= 1),
    },
    "caps and floors of teams and of shows, and with rules=all of every other kind",
    "ours: what binds, and how hard, is our own choice",
)


BOUNDED = ("counts", "weights", "profits")
SLACK = 0.1  # how far bounds may lie from what a known selection has, as a part of it
BIAS = 0.5  # sigma of the lognormal factors by which that selection prefers groups


def _group_fair(families: Mapping[str, Recipe], seed: int, values: Mapping[str, Any]) -> Instance:
    """Draw a knapsack with bounds on groups that a known selection satisfies.

    The known selection is greedy by reward per demand times a factor of the group. So floors bind
    for groups that the unconstrained optimum neglects, and caps for others.
    """
    settings = dict(values)
    family, bounded = settings.pop("family"), settings.pop("bounds")
    night: Instance = families[family](seed, **settings)
    draw = stream(seed, settings["groups"])
    names = sorted(night.groups["team"])
    owner = np.array([names.index(job.groups["team"]) for job in night.jobs])
    demand = np.array([job.demand for job in night.jobs])
    factor = draw.lognormal(0.0, BIAS, len(names))[owner]
    order = np.argsort(-night.rewards / demand * factor, kind="stable")
    chosen = order[np.cumsum(demand[order]) <= night.deadline]
    amounts = {"counts": np.ones(len(owner)), "weights": demand, "profits": night.rewards}[bounded]
    held = np.bincount(owner[chosen], amounts[chosen], minlength=len(names))
    least = np.floor(held * draw.uniform(1.0 - SLACK, 1.0, len(names)))
    most = np.ceil(held * draw.uniform(1.0, 1.0 + SLACK, len(names)))
    rules = tuple(_group_bounds(bounded, night, names, least, most))
    return replace(night, name=f"group-fair-{bounded}-{night.name}", constraints=rules)


def _group_bounds(
    bounded: str, night: Instance, names: list[str], least: Any, most: Any
) -> Iterator[SideConstraint]:
    """Yield the bounds of all groups; for resources, which have no floors, profits are capped."""
    if bounded == "weights":
        inside = 1e9 / night.deadline
        yield kinds.FairShare(
            by="team",
            at_most=dict(zip(names, (np.ceil(most * inside) / 1e9).clip(0, 1), strict=True)),
            at_least=dict(zip(names, np.floor(least * inside) / 1e9, strict=True)),
        )
        return
    for team, low, high in zip(names, least.tolist(), most.tolist(), strict=True):
        if bounded == "profits":
            use = {night.jobs[j].name: night.jobs[j].reward for j in night.groups["team"][team]}
            yield kinds.Resource(name=f"profit of {team}", capacity=high, use=use)
        else:
            yield kinds.AtLeast(name=f"fewest of {team}", by="team", group=team, count=int(low))
            yield kinds.AtMost(name=f"most of {team}", by="team", group=team, count=int(high))


def group_fair(families: Mapping[str, Recipe], *names: str) -> Recipe:
    """Return the recipe of knapsacks with bounds on groups, over some families of knapsacks."""
    return Recipe(
        "group-fair",
        lambda seed, values: _group_fair(families, seed, values),
        {
            "jobs": whole(1000, 1, 10**6),
            "range": whole(1000, 1, 10**9, ": the largest weight R"),
            "fraction": number(0.5, "a number above 0, at most 1", lambda v: 0 < v <= 1),
            "groups": whole(10, 1, 10**4),
            "family": one_of(names[0], names),
            "bounds": one_of(BOUNDED[0], BOUNDED),
        },
        "knapsacks with bounds on the count, the weight or the profit of each group",
        "problem: Malaguti, Paronuzzi, Santini, Optimization Letters 20 (2026), and Patel, Khan"
        " and Louis, AAMAS 2021; how bounds are drawn is our own choice",
    )
