"""Side constraints of a selection as rows, written independently for re-proving bounds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import singledispatch
from typing import NamedTuple

from schedopt.instances import constraints as kinds
from schedopt.instances.decimals import as_written
from schedopt.validation.dssp.constraints import bounds_by_group, fair_share_periods, past_excess
from schedopt.validation.dssp.facts import Facts
from schedopt.validation.dssp.machine import integral

ENERGY = "energy from "


class JobRow(NamedTuple):
    """lower <= sum of coefficient·x <= upper over jobs by name; None where there is no bound.

    ``unless_all`` are jobs that lift the lower bound when all of them are selected.
    """

    what: str
    body: Mapping[str, Fraction] | Mapping[str, int]
    lower: Fraction | None
    upper: Fraction | None
    unless_all: Sequence[str] = ()


class Window(NamedTuple):
    """Jobs whose windows lie between two times."""

    start: Fraction
    end: Fraction
    jobs: list[str]


def windows(facts: Facts, asked: Sequence[str], start: str) -> Iterator[tuple[str, Window]]:
    """Yield the windows named by keys of the form ``PREFIX A to B``."""
    keys = [key for key in asked if key.startswith(start)]
    if not keys:
        return
    releases = {f"{float(time):.15g}": time for time in facts.release.values()}
    deadlines = {f"{float(time):.15g}": time for time in facts.due.values()}
    for key in keys:
        first, _, last = key.removeprefix(start).partition(" to ")
        if first in releases and last in deadlines and releases[first] <= deadlines[last]:
            a, b = releases[first], deadlines[last]
            inside = [n for n in facts.demand if facts.release[n] >= a and facts.due[n] <= b]
            yield key, Window(a, b, inside)


def has_rows(rule: kinds.Constraint) -> bool:
    """Tell whether a side constraint is of a kind that has rows here, and of no kind beyond it."""
    return type(rule) in rows_of.registry


@singledispatch
def rows_of(rule: kinds.Constraint, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    """Yield a side constraint as rows; none for unknown kinds."""
    yield from ()


@rows_of.register
def _(rule: kinds.FairShare, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    for group, bounds in bounds_by_group(rule, facts).items():
        for share, floor in zip(bounds, (False, True), strict=True):
            if share is not None:
                yield from _fair_share_rows(rule, facts, group, as_written(share), floor=floor)


def _fair_share_rows(
    rule: kinds.FairShare, facts: Facts, group: str, share: Fraction, *, floor: bool
) -> Iterator[JobRow]:
    """Yield a cap, or a floor, which requires no more than all jobs of the group that fit in time.

    What was used before counts as used tonight, of more that there was to use.
    """
    mine = set(facts.members(rule.by, group))
    possible = [
        n for n, size in facts.units.items() if n in mine and size and facts.floor_counts(n)
    ]
    what = f"{rule.by} {group} at {'least' if floor else 'most'}"
    if floor and not possible:
        return
    _, _, before = next(fair_share_periods(rule, 1))
    spent = before * past_excess(rule, group, share)
    if rule.of == "selected":  # in units of the demands, and of the share
        parts, whole = share.numerator, share.denominator
        body = {n: (whole - parts if n in mine else -parts) * d for n, d in facts.units.items()}
        bound = -spent * whole * facts.scale
        yield (
            JobRow(what, body, bound, None, possible) if floor else JobRow(what, body, None, bound)
        )
        return
    body = {name: facts.units[name] for name in possible}
    bound = (share * facts.capacity - spent) * facts.scale
    if floor:
        yield JobRow(what, body, min(bound, Fraction(sum(body.values()))), None)
    else:
        yield JobRow(what, body, None, bound)


@rows_of.register
def _(rule: kinds.Seats, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    # What tasks hold, seats times time, fits between any two times.
    held = {job: use for job, use in rule.use.items() if use}
    for job, use in held.items():
        if use > rule.capacity:
            yield JobRow(job, _unit_coefficients([job]), None, Fraction(0))
    spans = dict.fromkeys(key[key.find(ENERGY) :] for key in asked if ENERGY in key)
    wide = {job.name: job.processors for job in facts.night.jobs}
    there = facts.machine.without_after_end([(Fraction(0), Fraction(rule.capacity))])
    for what, window in windows(facts, list(spans), ENERGY):
        body = {n: held[n] * facts.demand[n] / wide[n] for n in window.jobs if n in held}
        yield JobRow(what, body, None, integral(there, window.start, window.end))


def machine_rows(facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    """Yield the rows of a machine that changes: pools, resources, and precedence."""
    for what, taken, points in facts.machine.parts(facts.demand, facts.fill):
        for key, window in windows(facts, asked, f"{what} from "):
            body = {n: taken[n] * facts.demand[n] for n in window.jobs if n in taken}
            yield JobRow(key, body, None, integral(points, window.start, window.end))
    for job in facts.night.jobs:
        for other in job.after:
            order = {job.name: Fraction(1), other: Fraction(-1)}
            yield JobRow(f"after: {job.name}, {other}", order, None, Fraction(0))


def _unit_coefficients(jobs: Iterable[str]) -> dict[str, Fraction]:
    return dict.fromkeys(jobs, Fraction(1))


@rows_of.register
def _(rule: kinds.Require, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    for job in rule.jobs:
        yield JobRow(job, _unit_coefficients([job]), Fraction(1), None)


@rows_of.register
def _(rule: kinds.Forbid, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    for job in rule.jobs:
        yield JobRow(job, _unit_coefficients([job]), None, Fraction(0))


@rows_of.register
def _(rule: kinds.Imply, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    if rule.if_ != rule.then:
        body = {rule.if_: Fraction(1), rule.then: Fraction(-1)}
        yield JobRow("implied", body, None, Fraction(0))


@rows_of.register
def _(rule: kinds.Together, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    first, *others = dict.fromkeys(rule.jobs)
    for job in others:
        yield JobRow(job, {first: Fraction(1), job: Fraction(-1)}, Fraction(0), Fraction(0))


@rows_of.register
def _(rule: kinds.Apart, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    yield JobRow("at most one", _unit_coefficients(rule.jobs), None, Fraction(1))


@rows_of.register
def _(rule: kinds.AtMost, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    yield JobRow("count", _unit_coefficients(_members(rule, facts)), None, Fraction(rule.count))


@rows_of.register
def _(rule: kinds.AtLeast, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    yield JobRow("count", _unit_coefficients(_members(rule, facts)), Fraction(rule.count), None)


def _members(rule: kinds.AtMost | kinds.AtLeast, facts: Facts) -> Iterable[str]:
    return rule.jobs if rule.jobs is not None else facts.members(rule.by, rule.group)


@rows_of.register
def _(rule: kinds.Resource, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    # Amounts beyond the capacity all mean the same: that the job cannot be selected.
    room = as_written(rule.capacity)
    beyond = 2 * room or Fraction(1)
    use = {job: min(as_written(amount), beyond) for job, amount in rule.use.items()}
    yield JobRow("use", use, None, room)
