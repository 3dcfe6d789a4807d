"""Fair shares of the machine: of one night, over several nights, and with past use."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import gcd, isfinite
from typing import Annotated, ClassVar, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import Whole, as_written, total
from schedopt.instances.declarations import (
    CheckedRecord,
    Constraint,
    Name,
    NonNegative,
    Share,
    check_bounds,
)
from schedopt.instances.errors import InputError, expect
from schedopt.instances.rows import Choice, Columns, Row

FINE = 2**40
"""Weights of nights are multiples of 1/FINE, about 1e-12, so that sums are exact."""

Positions = NDArray[np.intp]


class Period(NamedTuple):
    """Nights over which a share holds, each with its weight, and the weight of the past use."""

    what: str
    nights: Mapping[int, Fraction]
    past: Fraction


class Each(CheckedRecord, kw_only=True):
    """Bound the share of every group that is not named.

    Attributes
    ----------
    at_most : float, optional
        The maximum share, in [0, 1].
    at_least : float, optional
        The minimum share, in [0, 1].
    """

    at_most: Share | None = None
    at_least: Share | None = None

    def __post_init__(self) -> None:
        check_bounds(self.at_least, self.at_most, "the group's")


class FairShare(Constraint, frozen=True, omit_defaults=True, tag="fair-share"):
    """Bound the share of the machine that each group of jobs gets, above, below, or both.

    Without ``window`` and ``half_life`` shares hold for each night separately, and ``past`` counts
    on the first night. If the past alone exceeds a cap, the constraint is infeasible.

    Attributes
    ----------
    by : str
        The grouping, such as ``team``.
    at_most : dict of str to float
        The maximum share, in [0, 1], of each capped group.
    at_least : dict of str to float
        The minimum share, in [0, 1], of each group; on dssp all jobs of the group suffice, if their
        demand is less.
    of : {"capacity", "selected"}
        On dssp: a share of r·P·D, or of the demand that is selected.
    each : Each, optional
        On dssp: ``{"at_most": ..., "at_least": ...}`` for every group that has a job and is named
        in neither ``at_most`` nor ``at_least``.
    past : dict of str to float
        On dssp: the demand that groups used before the first night, 0 where it is not given; it
        counts as theirs. A group that has no job now can be bounded only if it is listed here, with
        0 if it used nothing: otherwise its name is taken for a misspelling.
    past_total : float, optional
        The total of which the past is a share: the capacity of past nights or, with ``of``
        selected, all demand that was selected on them. By default the sum of ``past``.
    window : int, optional
        On dssp, in nights: shares are of what any so many consecutive nights used, or all nights if
        there are fewer. A window that reaches back before the first night counts all of ``past``.
    half_life : float, optional
        On dssp, in nights: shares are, on every night, of what the nights up to it used, each
        weighted by 2^(-age/half_life); ``past`` is of age 1 on the first night. Weights are rounded
        to multiples of 2^-40.
    """

    example: ClassVar = {
        "kind": "fair-share",
        "name": "fx cap",
        "by": "team",
        "at_most": {"fx": 0.4},
    }

    by: Name
    at_most: dict[str, Share] = msgspec.field(default_factory=dict)
    at_least: dict[str, Share] = msgspec.field(default_factory=dict)
    of: Literal["capacity", "selected"] = "capacity"
    each: Each | None = None
    past: dict[Name, NonNegative] = msgspec.field(default_factory=dict)
    past_total: NonNegative | None = None
    window: Annotated[int, msgspec.Meta(ge=1, le=10**6)] | None = None
    half_life: Annotated[float, msgspec.Meta(ge=1e-3, le=1e9)] | None = None

    def __post_init__(self) -> None:
        if not self.at_most and not self.at_least and self.each is None:
            raise InputError("`at_most` or `at_least`, each with a share for a group, or `each`")
        for group, least in self.at_least.items():
            most = self.at_most.get(group, 1.0)
            expected = f"at most {most}, the group's own `at_most`"
            expect(least <= most, expected, least, f"at_least.{group}")
        if self.window is not None and self.half_life is not None:
            raise InputError("`window` or `half_life`, not both", found="both")
        if not isfinite(sum(self.past.values())):
            raise InputError("amounts with a finite sum", found="an overflow", place="past")

    def groups_named(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield the grouping, then each bounded group; a group with past use may have no job."""
        bounded = [("at_most", group) for group in self.at_most if group not in self.past]
        bounded += [("at_least", group) for group in self.at_least if group not in self.past]
        if bounded or not (self.at_most or self.at_least):
            yield "by", self.by, None
        for field, group in bounded:
            yield f"{field}.{group}", self.by, group

    def caps(self, groups: Iterable[str]) -> dict[str, float]:
        """Return the maximum share of each capped group: its own, or that of ``each``."""
        return self._bounds(groups, "at_most")

    def floors(self, groups: Iterable[str]) -> dict[str, float]:
        """Return the minimum share of each group that has one: its own, or that of ``each``."""
        return self._bounds(groups, "at_least")

    def _bounds(self, groups: Iterable[str], key: str) -> dict[str, float]:
        own: dict[str, float] = getattr(self, key)
        other = getattr(self.each, key, None)
        named = self.at_most.keys() | self.at_least.keys()
        return own | {group: other for group in groups if other is not None and group not in named}

    # --- the meaning for models -------------------------------------------------------------------

    def rows(self, columns: Columns) -> Iterator[Row]:
        """Yield the caps and the floors of each period."""
        groups = columns.instance.groups.get(self.by, {})
        for period in self._periods(columns.instance.nights):
            for group, share in self.caps(groups).items():
                yield self._row(columns, period, group, as_written(share), floor=False)
            for group, share in self.floors(groups).items():
                yield self._row(columns, period, group, as_written(share), floor=True)

    def _periods(self, nights: int) -> Iterator[Period]:
        for n in range(1, nights + 1):
            if self.half_life is not None:
                aged = {m: weight(n - m, self.half_life) for m in range(1, n + 1)}
                kept = {m: counts for m, counts in aged.items() if counts}
                yield Period(f"up to night {n}", kept, weight(n, self.half_life))
                continue
            window = self.window or 1
            first = max(1, n - window + 1)
            past = bool(self.past) or self.past_total is not None
            reaches_back = past and (n < window or (n == 1 and self.window is None))
            if n >= window or reaches_back or n == nights:
                what = f"night {n}" if first == n else f"nights {first} to {n}"
                counted = dict.fromkeys(range(first, n + 1), Fraction(1))
                yield Period(what, counted, Fraction(reaches_back))

    def _row(
        self, columns: Columns, period: Period, group: str, share: Fraction, *, floor: bool
    ) -> Row:
        when = f", {period.what}" if columns.several else ""
        what = f"{self.by} {group} at {'least' if floor else 'most'}{when}"
        members = columns.instance.groups.get(self.by, {}).get(group, ())
        at = columns.of_jobs(np.array(members, dtype=np.intp))
        at = _with_demand(columns, at, period, columns.may_be_asked if floor else columns.can_run)
        bound = -period.past * self._excess(group, share)
        if not at.size and (floor or not bound):
            return Row(what, (), (), lower=0.0)
        if self.of == "capacity":
            use = _weighted_demand(columns, at, period)
            counted = period.nights.items()
            bound += share * sum((c * columns.capacity(n) for n, c in counted), Fraction(0))
        if self.of == "capacity" and floor and not columns.several:  # no row has to be waived
            if Fraction(use.total, use.scale) <= bound:
                return Row(what, at.tolist(), [1.0] * at.size, lower=at.size)
            return Row(what, at.tolist(), use, lower=bound)
        possible = columns.jobs[at].tolist() if floor else ()
        if self.of == "selected":
            at = _with_demand(columns, np.arange(columns.jobs.size), period, columns.can_run)
            mine = np.isin(columns.jobs[at], np.array(members, dtype=np.intp))
            a, b = share.as_integer_ratio()
            factors = Whole(np.where(mine, b - a, -a).astype(object), b)  # mine - share
            use = _weighted_demand(columns, at, period, factors)
        if not floor:
            return Row(what, at.tolist(), use, upper=bound)
        unless = [columns.of_job(j) for j in dict.fromkeys(possible)]
        return Row(what, at.tolist(), use, lower=bound, unless=unless)

    def _excess(self, group: str, share: Fraction) -> Fraction:
        past = total(self.past.values()) if self.past_total is None else as_written(self.past_total)
        return as_written(self.past.get(group, 0.0)) - share * past

    # --- the judgement of solutions, which shares no code with the rows ---------------------------

    def violations(self, choice: Choice) -> Iterator[str]:
        """Yield the groups whose share is too large, or too small although a job was left out."""
        used_before = [*self.past.values()] if self.past_total is None else [self.past_total]
        past = sum(map(as_written, used_before), Fraction(0))
        bounds = self._bounds_to_check(choice)
        for when, counted, before in self._checked_periods(len(choice.nights)):
            base = past * before
            for n, counts in counted.items():
                of_all = self.of == "selected"
                base += counts * (choice.demand(n) if of_all else choice.capacity(n))
            for group, (most, least) in sorted(bounds.items()):
                mine = as_written(self.past.get(group, 0.0)) * before
                for n, counts in counted.items():
                    mine += counts * choice.demand(n, self.by, group)
                gets = f"{group} gets {float(mine / base) if base else 0.0:.6g}"
                gets += f" of what counts {when}" if choice.several else ""
                if most is not None and mine > as_written(most) * base:
                    yield f"{gets}, at most {most:.6g} asked"
                under = least is not None and mine < as_written(least) * base
                if under and choice.left_out(choice.members(self.by, group), counted):
                    yield f"{gets}, at least {least:.6g} asked"

    def _bounds_to_check(self, choice: Choice) -> dict[str, tuple[float | None, float | None]]:
        bounds = {
            group: (self.at_most.get(group), self.at_least.get(group))
            for group in {**self.at_most, **self.at_least}
        }
        if self.each is not None:
            for group in choice.instance.groups.get(self.by, {}):
                bounds.setdefault(group, (self.each.at_most, self.each.at_least))
        return bounds

    def _checked_periods(
        self, nights: int
    ) -> Iterator[tuple[str, Mapping[int, Fraction], Fraction]]:
        """Yield the end of each period, the weights of its nights, and the weight of the past.

        Nights whose weight is rounded to 0 are omitted.
        """
        has_past = self.past_total is not None or len(self.past) > 0
        one = Fraction(1)
        for last in range(1, nights + 1):
            if self.half_life is not None:
                decay = {n: _decay(last - n, self.half_life) for n in range(1, last + 1)}
                counts = {n: weight for n, weight in decay.items() if weight}
                yield f"on night {last}", counts, _decay(last, self.half_life)
            elif self.window is None:
                yield f"on night {last}", {last: one}, Fraction(last == 1)
            elif last >= self.window:
                first = last - self.window + 1
                counts = dict.fromkeys(range(first, last + 1), one)
                yield f"on nights {first} to {last}", counts, Fraction(0)
            elif has_past or last == nights:
                counts = dict.fromkeys(range(1, last + 1), one)
                yield f"until night {last}", counts, Fraction(has_past)

    @property
    def remembers(self) -> bool:
        """Whether the share covers more than one night."""
        past = bool(self.past) or self.past_total is not None
        return past or self.window is not None or self.half_life is not None


def weight(age: int, half_life: float | None) -> Fraction:
    """Return the weight of a night by its age: 2^(-age/half_life), in multiples of 1/FINE."""
    if half_life is None:
        return Fraction(1)
    return Fraction(round(2.0 ** (-age / half_life) * FINE), FINE)


def _decay(age: int, half_life: float) -> Fraction:
    """Return 2^(-age/half_life) to the nearest multiple of 2^-40, for the checker."""
    return Fraction(round(2.0 ** (40.0 - age / half_life)), 2**40)


def _with_demand(
    columns: Columns, at: Positions, period: Period, mask: NDArray[np.bool_]
) -> Positions:
    """Return the columns under a mask that have demand on a night of the period."""
    counted = np.zeros(columns.instance.nights + 1, dtype=np.bool_)
    counted[list(period.nights)] = True
    has_demand = columns.instance.planned.demands.numbers[columns.jobs[at]] > 0
    kept: Positions = at[mask[at] & has_demand & counted[columns.nights[at]]]
    return kept


def _weighted_demand(
    columns: Columns, at: Positions, period: Period, factors: Whole | None = None
) -> Whole:
    """Return the demand of columns, times the weight of their night and a factor, exactly."""
    demand = columns.instance.planned.demands.take(columns.jobs[at])
    scale, numbers = demand.scale, demand.numbers
    if any(counts != 1 for counts in period.nights.values()):
        units = np.zeros(columns.instance.nights + 1, dtype=object)
        for n, counts in period.nights.items():
            units[n] = int(counts * FINE)
        numbers, scale = numbers.astype(object) * units[columns.nights[at]], scale * FINE
    if factors is not None:
        numbers, scale = numbers.astype(object) * factors.numbers, scale * factors.scale
    common = gcd(scale, int(np.gcd.reduce(numbers, initial=0)))
    return Whole(numbers // common, scale // common)
