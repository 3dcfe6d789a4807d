"""Whether a selection keeps each side constraint, judged from the raw instance alone."""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch

from schedopt.instances.constraints import (
    Apart,
    AtLeast,
    AtMost,
    Constraint,
    FairShare,
    Forbid,
    Imply,
    Require,
    Resource,
    Seats,
    Together,
)
from schedopt.instances.decimals import as_written, total
from schedopt.validation.dssp.facts import Facts

Chosen = frozenset[str]


class UnknownKindError(Exception):
    """No checker knows this kind of side constraint."""


@singledispatch
def broken(constraint: Constraint, facts: Facts, chosen: Chosen) -> list[str]:
    """Say how a selection breaks a side constraint; nothing where it keeps it.

    Parameters
    ----------
    constraint : Constraint
        The declaration. A kind of one's own brings a method ``broken(night, names)``.
    facts : Facts
        Demands, critical paths and capacity, recomputed from the instance.
    chosen : set of str
        The names of the selected jobs.

    Raises
    ------
    UnknownKindError
        If nothing here can judge the kind.
    """
    own = getattr(constraint, "broken", None)
    if own is None:
        raise UnknownKindError(f"no checker knows {constraint.kind()}")
    return list(own(facts.night, chosen))


@broken.register
def _(constraint: FairShare, facts: Facts, chosen: Chosen) -> list[str]:
    base = facts.capacity if constraint.of == "capacity" else facts.total(chosen)
    used, of = used_before(constraint)
    base += of
    found: list[str] = []
    named = {*constraint.at_most, *constraint.at_least}
    asked = [
        (group, constraint.at_most.get(group), constraint.at_least.get(group)) for group in named
    ]
    if constraint.each is not None:
        others = {
            job.groups[constraint.by] for job in facts.night.jobs if constraint.by in job.groups
        }
        each = constraint.each
        asked += [(group, each.at_most, each.at_least) for group in others - named]
    for group, most, least in sorted(asked):
        tonight, before = (
            _of_group(facts, chosen, constraint.by, group),
            used.get(group, Fraction(0)),
        )
        mine = tonight + before
        if most is not None and mine > as_written(most) * base:
            found.append(f"{group} gets {_part(mine, base)}, at most {most:.6g} asked")
        if least is None:
            continue
        jobs = facts.members(constraint.by, group)
        possible = facts.total(job for job in jobs if facts.fits(job))
        if mine < as_written(least) * base and tonight < possible:
            found.append(f"{group} gets {_part(mine, base)}, at least {least:.6g} asked")
    return found


def used_before(constraint: FairShare) -> tuple[dict[str, Fraction], Fraction]:
    """Return what each group used before and of how much, as it counts tonight.

    A window of tonight alone has no past; with a half-life the past is one night old, and what it
    counts for is a whole multiple of 2^-40.
    """
    if constraint.window == 1:
        return {}, Fraction(0)
    counts = Fraction(1)
    if constraint.half_life is not None:
        counts = Fraction(round(2.0 ** (40 - 1 / constraint.half_life)), 2**40)
    used = {group: counts * as_written(amount) for group, amount in constraint.past.items()}
    if constraint.past_total is None:
        return used, sum(used.values(), Fraction(0))
    return used, counts * as_written(constraint.past_total)


def _part(mine: Fraction, base: Fraction) -> str:
    return f"{float(mine / base) if base else 0.0:.6g}"


def _of_group(facts: Facts, chosen: Chosen, by: str, group: str) -> Fraction:
    return facts.total(job for job in facts.members(by, group) if job in chosen)


@broken.register
def _(constraint: Require, facts: Facts, chosen: Chosen) -> list[str]:
    return [f"{job} is not selected" for job in constraint.jobs if job not in chosen]


@broken.register
def _(constraint: Forbid, facts: Facts, chosen: Chosen) -> list[str]:
    return [f"{job} is selected" for job in constraint.jobs if job in chosen]


@broken.register
def _(constraint: Imply, facts: Facts, chosen: Chosen) -> list[str]:
    first, second = constraint.if_, constraint.then
    alone = first in chosen and second not in chosen
    return [f"{first} is selected, {second} is not"] if alone else []


@broken.register
def _(constraint: Together, facts: Facts, chosen: Chosen) -> list[str]:
    missing = [job for job in constraint.jobs if job not in chosen]
    split = 0 < len(missing) < len(constraint.jobs)
    return [f"some are selected, but not {', '.join(missing)}"] if split else []


@broken.register
def _(constraint: Apart, facts: Facts, chosen: Chosen) -> list[str]:
    both = sorted(chosen.intersection(constraint.jobs))
    return [f"{', '.join(both)} are all selected"] if len(both) > 1 else []


@broken.register
def _(constraint: Resource, facts: Facts, chosen: Chosen) -> list[str]:
    used = total(amount for job, amount in constraint.use.items() if job in chosen)
    over = used > as_written(constraint.capacity)
    return [f"{float(used):.12g} of {constraint.capacity:.12g} used"] if over else []


@broken.register
def _(constraint: Seats, facts: Facts, chosen: Chosen) -> list[str]:
    # What is held at a time only a schedule tells, and whether it could be kept `unseated`.
    hopeless = sorted(job for job in chosen if constraint.use.get(job, 0) > constraint.capacity)
    return [f"{job} holds more than there are" for job in hopeless]


def unseated(constraint: Seats, facts: Facts, chosen: Chosen) -> list[str]:
    """Say between which times a selection would hold more seats than there are, all in all."""
    held = {job: use * facts.demand[job] for job, use in constraint.use.items() if job in chosen}
    return [
        f"{float(asked):.12g} held from {float(start):.12g} to {float(end):.12g}, "
        f"at most {float(constraint.capacity * (end - start)):.12g} asked"
        for start, end, asked in facts.overfull(held, Fraction(constraint.capacity))
    ]


@broken.register
def _(constraint: AtMost, facts: Facts, chosen: Chosen) -> list[str]:
    count = _count(constraint, facts, chosen)
    over = count > constraint.count
    return [f"{count} selected, at most {constraint.count} asked"] if over else []


@broken.register
def _(constraint: AtLeast, facts: Facts, chosen: Chosen) -> list[str]:
    count = _count(constraint, facts, chosen)
    under = count < constraint.count
    return [f"{count} selected, at least {constraint.count} asked"] if under else []


def _count(constraint: AtMost | AtLeast, facts: Facts, chosen: Chosen) -> int:
    listed = constraint.jobs
    if listed is None:
        listed = tuple(facts.members(constraint.by, constraint.group))
    return len(chosen.intersection(listed))
