"""Whether selections keep each side constraint, judged from the raw instance alone."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import singledispatch

from schedopt.instances import constraints as kinds
from schedopt.instances.decimals import as_written, total
from schedopt.validation.dssp.facts import Chosen, Facts, room_of

Period = tuple[str, Mapping[int, Fraction], Fraction]
"""The period of a share: its end, the weight of each night, and that of the past."""
Wanting = Callable[[Collection[str], Mapping[int, Fraction]], bool]


class UnknownKindError(Exception):
    """No checker knows this kind of side constraint."""


@singledispatch
def violations(constraint: kinds.Constraint, facts: Facts, chosen: Chosen) -> list[str]:
    """Say how a selection violates a side constraint; empty where it does not.

    ``constraint``: the declaration. A kind of one's own brings a method ``broken(night, names)``;
    ``facts``: demands, critical paths and capacity, recomputed from the instance; ``chosen``: the
    names of the selected jobs.

    Raises `UnknownKindError` if nothing here can judge the kind.
    """
    own = getattr(constraint, "broken", None)
    if own is None:
        raise UnknownKindError(f"no checker knows {constraint.kind()}")
    return list(own(facts.night, frozenset(chosen)))


@violations.register
def _(constraint: kinds.FairShare, facts: Facts, chosen: Chosen) -> list[str]:
    def wanting(members: Collection[str], _: object) -> bool:
        possible = facts.total(job for job in members if facts.floor_counts(job))
        return facts.total(frozenset(filter(chosen.__contains__, members))) < possible

    return [
        f"{gets}, {asked}"
        for gets, _, asked in fair_share_violations(constraint, facts, [chosen], wanting)
    ]


def fair_share_violations(
    rule: kinds.FairShare,
    facts: Facts,
    nights: Sequence[Chosen],
    wanting: Wanting,
    rooms: Sequence[Fraction] = (),
) -> Iterator[tuple[str, str, str]]:
    """Yield violations of a fair share: what a group gets, when, and what is required.

    ``nights``: the jobs of each night; ``wanting``: tells whether some of a group's jobs could have
    been run on the nights that count, and were not: a group without such jobs is owed nothing;
    ``rooms``: r·P·D of each night, where that differs.
    """
    bounds = bounds_by_group(rule, facts)
    for when, counted, before in fair_share_periods(rule, len(nights)):
        base = past_capacity(rule) * before
        for n, counts in counted.items():
            room = rooms[n - 1] if rooms else facts.capacity
            base += counts * (facts.total(nights[n - 1]) if rule.of == "selected" else room)
        for group, (most, least) in sorted(bounds.items()):
            mine = as_written(rule.past.get(group, 0.0)) * before
            for n, counts in counted.items():
                mine += counts * facts.used(rule.by, group, nights[n - 1])
            gets = f"{group} gets {float(mine / base) if base else 0.0:.6g}"
            if most is not None and mine > as_written(most) * base:
                yield gets, when, f"at most {most:.6g} asked"
            under = least is not None and mine < as_written(least) * base
            if under and wanting(facts.members(rule.by, group), counted):
                yield gets, when, f"at least {least:.6g} asked"


def bounds_by_group(
    rule: kinds.FairShare, facts: Facts
) -> dict[str, tuple[float | None, float | None]]:
    """Return the cap and the floor of each group that has one."""
    bounds = {
        group: (rule.at_most.get(group), rule.at_least.get(group))
        for group in {**rule.at_most, **rule.at_least}
    }
    if rule.each is not None:
        for group in facts.night.groups.get(rule.by, {}):
            if group not in rule.at_most | rule.at_least:
                bounds[group] = (rule.each.at_most, rule.each.at_least)
    return bounds


def fair_share_periods(rule: kinds.FairShare, nights: int) -> Iterator[Period]:
    """Yield the periods of a fair share: end, weight of each night, and of the past.

    A night whose weight is rounded to 0 is not among those of the period.
    """
    has_past = rule.past_total is not None or len(rule.past) > 0
    one = Fraction(1)
    for last in range(1, nights + 1):
        if rule.half_life is not None:
            decay = {n: _decay(last - n, rule.half_life) for n in range(1, last + 1)}
            counts = {n: weight for n, weight in decay.items() if weight}
            yield f"on night {last}", counts, _decay(last, rule.half_life)
        elif rule.window is None:
            yield f"on night {last}", {last: one}, Fraction(last == 1)
        elif last >= rule.window:
            first = last - rule.window + 1
            counts = dict.fromkeys(range(first, last + 1), one)
            yield f"on nights {first} to {last}", counts, Fraction(0)
        elif has_past or last == nights:
            counts = dict.fromkeys(range(1, last + 1), one)
            yield f"until night {last}", counts, Fraction(has_past)


def _decay(age: int, half_life: float) -> Fraction:
    """Return 2^(-age/half_life) to the nearest multiple of 2^-40."""
    return Fraction(round(2.0 ** (40.0 - age / half_life)), 2**40)


def past_capacity(rule: kinds.FairShare) -> Fraction:
    """Return the capacity before the first night."""
    if rule.past_total is not None:
        return as_written(rule.past_total)
    return sum((as_written(used) for used in rule.past.values()), Fraction(0))


@violations.register
def _(constraint: kinds.Require, facts: Facts, chosen: Chosen) -> list[str]:
    return [f"{job} is not selected" for job in constraint.jobs if job not in chosen]


@violations.register
def _(constraint: kinds.Forbid, facts: Facts, chosen: Chosen) -> list[str]:
    return [f"{job} is selected" for job in constraint.jobs if job in chosen]


@violations.register
def _(constraint: kinds.Imply, facts: Facts, chosen: Chosen) -> list[str]:
    first, second = constraint.if_, constraint.then
    alone = first in chosen and second not in chosen
    return [f"{first} is selected, {second} is not"] if alone else []


@violations.register
def _(constraint: kinds.Together, facts: Facts, chosen: Chosen) -> list[str]:
    missing = [job for job in constraint.jobs if job not in chosen]
    split = 0 < len(missing) < len(constraint.jobs)
    return [f"some are selected, but not {', '.join(missing)}"] if split else []


@violations.register
def _(constraint: kinds.Apart, facts: Facts, chosen: Chosen) -> list[str]:
    both = sorted(set(filter(chosen.__contains__, constraint.jobs)))
    return [f"{', '.join(both)} are all selected"] if len(both) > 1 else []


@violations.register
def _(constraint: kinds.Resource, facts: Facts, chosen: Chosen) -> list[str]:
    used = total(amount for job, amount in constraint.use.items() if job in chosen)
    over = used > as_written(constraint.capacity)
    return [f"{float(used):.12g} of {constraint.capacity:.12g} used"] if over else []


@violations.register
def _(constraint: kinds.Seats, facts: Facts, chosen: Chosen) -> list[str]:
    # Only a schedule tells what is held at a time; `seat_violations` says whether it could be kept.
    hopeless = sorted(job for job in chosen if constraint.use.get(job, 0) > constraint.capacity)
    return [f"{job} holds more than there are" for job in hopeless]


def seat_violations(constraint: kinds.Seats, facts: Facts, chosen: Chosen) -> list[str]:
    """Say between which times a selection needs more seats than there are."""
    wide = {job.name: job.processors for job in facts.night.jobs}
    held = {
        job: use * facts.demand[job] / wide[job]
        for job, use in constraint.use.items()
        if job in chosen
    }
    there = facts.machine.without_after_end([(Fraction(0), Fraction(constraint.capacity))])
    return [
        f"{float(asked):.12g} held from {float(start):.12g} to {float(end):.12g}, "
        f"at most {float(room_of(there, start, end)):.12g} asked"
        for start, end, asked in facts.overfull(held, there)
    ]


@violations.register
def _(constraint: kinds.AtMost, facts: Facts, chosen: Chosen) -> list[str]:
    count = _count_violation(constraint, facts, chosen)
    over = count > constraint.count
    return [f"{count} selected, at most {constraint.count} asked"] if over else []


@violations.register
def _(constraint: kinds.AtLeast, facts: Facts, chosen: Chosen) -> list[str]:
    count = _count_violation(constraint, facts, chosen)
    under = count < constraint.count
    return [f"{count} selected, at least {constraint.count} asked"] if under else []


def _count_violation(constraint: kinds.AtMost | kinds.AtLeast, facts: Facts, chosen: Chosen) -> int:
    listed = constraint.jobs
    if listed is None:
        listed = tuple(facts.members(constraint.by, constraint.group))
    return len(set(filter(chosen.__contains__, listed)))
