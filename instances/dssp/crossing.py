"""Jobs under rules that cross: shares of teams and of shows, counts, resources, sets of jobs."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import (
    Apart,
    AtLeast,
    AtMost,
    FairShare,
    Imply,
    Resource,
    Together,
)
from schedopt.instances.dssp.jobs import Job
from schedopt.instances.dssp.records import Instance, SideConstraint
from schedopt.instances.options import number, one_of, whole
from schedopt.instances.recipes import Recipe, numbered, stream

Ints = NDArray[np.int64]
KINDS = ("shares", "all")
LARGEST, MOST_REWARD = 10**6, 1000  # demands and rewards are whole and uniform from 1 to these
RESOURCES, USERS = 2, 0.3  # resources, and the part of the jobs that uses each
FEW = 50  # jobs per set of three apart, per pair together and per implication


def _crossing(seed: int, values: Mapping[str, Any]) -> Instance:
    """Make jobs of teams and shows, and rules that one selection is known to keep.

    That selection is by reward for demand times lognormal noise, under the caps: what it takes is
    what floors, counts and resources are drawn from.
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
        most = np.bincount(owner[free], demand[free], minlength=size)
        most *= draw.uniform(0.6, 1.1, size)
        most[draw.random(size) < 0.3] = room
        caps.append((owner, most))
    known = _fill_capacity(-ratio * draw.lognormal(0.0, 0.5, count), demand, room, caps)
    names = {by: numbered(f"{by}-", values[f"{by}s"]) for by in owners}
    rules: list[SideConstraint] = []
    for (by, owner), (_, most) in zip(owners.items(), caps, strict=True):
        size = values[f"{by}s"]
        least = np.bincount(owner[known], demand[known], minlength=size)
        least *= draw.uniform(0.7, 1.0, size) * (draw.random(size) < 0.3)
        rules.append(
            FairShare(
                name=f"shares of {by}s",
                by=by,
                at_most=_draw_shares(names[by], most / room, np.ceil, most < room),
                at_least=_draw_shares(names[by], least / room, np.floor, least > 0),
            )
        )
    jobs = numbered("job-", count)
    if values["rules"] == "all":
        rules += _draw_counts(draw, names, owners, known)
        rules += _draw_resources(draw, jobs, known)
        rules += _draw_job_sets(draw, jobs, known)
    made = tuple(
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
        jobs=made,
        constraints=tuple(rules),
    )


def _fill_capacity(key: Any, demand: Ints, room: int, caps: Any) -> Ints:
    """Return jobs by a key, the least first, that fit the capacity and the groups' caps."""
    rooms, taken = [most.copy() for _, most in caps], []
    for j in np.argsort(key, kind="stable").tolist():
        left = [most[owner[j]] for most, (owner, _) in zip(rooms, caps, strict=True)]
        if demand[j] <= min((room, *left)):
            taken.append(j)
            room -= demand[j]
            for most, (owner, _) in zip(rooms, caps, strict=True):
                most[owner[j]] -= demand[j]
    return np.array(taken, dtype=np.int64)


def _draw_shares(names: list[str], parts: Any, outwards: Any, some: Any) -> dict[str, float]:
    """Return shares of some groups, rounded outwards to nine places."""
    rounded = np.clip(outwards(parts * 1e9) / 1e9, 0.0, 1.0).round(9)
    return {names[i]: float(rounded[i]) for i in np.flatnonzero(some).tolist()}


def _draw_counts(draw: Any, names: Any, owners: Any, known: Ints) -> Iterator[SideConstraint]:
    """Yield most jobs of a fifth of the teams, and fewest of a fifth of the shows."""
    for by, kind, part in (("team", AtMost, 0.95), ("show", AtLeast, 1.05)):
        held = np.bincount(owners[by][known], minlength=len(names[by]))
        for i in np.flatnonzero(draw.random(len(held)) < 0.2).tolist():
            count = int(held[i]) if part > 1 else int(np.ceil(held[i] * draw.uniform(1.0, 1.05)))
            yield kind(name=f"count of {names[by][i]}", by=by, group=names[by][i], count=count)


def _draw_resources(draw: Any, jobs: list[str], known: Ints) -> Iterator[SideConstraint]:
    """Yield resources that bind, or nearly, what the known selection uses."""
    for i in range(RESOURCES):
        use = np.where(draw.random(len(jobs)) < USERS, draw.integers(1, 100, len(jobs)), 0)
        room = int(use[known].sum() * draw.uniform(1.0, 1.1))
        used = {jobs[j]: float(use[j]) for j in np.flatnonzero(use).tolist()}
        if used:
            yield Resource(name=f"resource-{i + 1}", capacity=float(room), use=used)


def _draw_job_sets(draw: Any, jobs: list[str], known: Ints) -> Iterator[SideConstraint]:
    """Yield sets apart, together and implied, disjoint, which the known selection keeps."""
    chosen = np.zeros(len(jobs), dtype=np.bool_)
    chosen[known] = True
    inside = draw.permutation(np.flatnonzero(chosen)).tolist()
    outside = draw.permutation(np.flatnonzero(~chosen)).tolist()
    for i in range(1, len(jobs) // FEW + 1):
        if len(inside) < 4 or len(outside) < 5:
            return
        three = (inside.pop(), outside.pop(), outside.pop())
        yield Apart(name=f"apart-{i}", jobs=tuple(jobs[j] for j in three))
        some = inside if i % 2 else outside
        yield Together(name=f"together-{i}", jobs=(jobs[some.pop()], jobs[some.pop()]))
        first, then = outside.pop(), inside.pop()
        yield Imply(name=f"implied-{i}", if_=jobs[first], then=jobs[then])


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
