"""Fair shares of the machine: tonight, over several nights, and with what was used before."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import inf
from typing import Annotated, Literal

import msgspec

from schedopt.instances.declarations import (
    CheckedRecord,
    Constraint,
    Name,
    NonNegative,
    Share,
    check_bounds,
)
from schedopt.instances.errors import InputError, expect, quote

LEAST_HALF_LIFE, MOST_HALF_LIFE = 1e-3, 1e9
"""Nights; with shorter half-lives all is forgotten at once, with longer ones nothing ever."""

FINE = 2**40  # weights of nights are whole multiples of 1/FINE, about 1e-12, so that they are exact


class Each(CheckedRecord, kw_only=True):
    """One cap, one floor, or both, for every group that is not named.

    Attributes
    ----------
    at_most : float, optional
        The largest share, in [0, 1].
    at_least : float, optional
        The least share, in [0, 1].
    """

    at_most: Share | None = None
    at_least: Share | None = None

    def __post_init__(self) -> None:
        check_bounds(self.at_least, self.at_most, "the group's")


class FairShare(Constraint, frozen=True, omit_defaults=True, tag="fair-share"):
    """Shares of the machine that groups of jobs get at most, at least, or both.

    Without ``window`` and ``half_life`` shares are of each night by itself, and ``past`` counts on
    the first. A cap that the past alone exceeds cannot be kept.

    Attributes
    ----------
    by : str
        The grouping, such as ``team``.
    at_most : dict of str to float
        The largest share, in [0, 1], of each group that is capped.
    at_least : dict of str to float
        The least share, in [0, 1], of each group that is promised one; on dssp all of the group's
        jobs, where these come to less.
    of : {"capacity", "selected"}
        On dssp: a share of r·P·D, or of the demand that is selected.
    each : Each, optional
        On dssp: ``{"at_most": ..., "at_least": ...}`` for every group that some job has and neither
        ``at_most`` nor ``at_least`` names; what a group without a job used before binds nobody.
    past : dict of str to float
        On dssp: the demand that groups used before the first night, each 0 where it is not given.
        It counts as theirs tonight. Groups that have no job now may be among them, and may then
        be bounded, too: a group without a job is misspelt unless it has a past, if it be of 0.
    past_total : float, optional
        Of what the past is a share: the capacity of those nights or, with ``of`` selected, all
        demand that was selected on them. The sum of ``past`` where it is not given.
    window : int, optional
        On dssp, in nights: shares are of what any so many nights in a row used, or all nights if
        there are fewer. A window that reaches back before the first night counts all of ``past``.
    half_life : float, optional
        On dssp, in nights: shares are, on every night, of what the nights up to it used, each
        weighted by 2^(-age/half_life); ``past`` is of age 1 on the first night. Weights are rounded
        to multiples of 2^-40.
    """

    by: Name
    at_most: dict[str, Share] = msgspec.field(default_factory=dict)
    at_least: dict[str, Share] = msgspec.field(default_factory=dict)
    of: Literal["capacity", "selected"] = "capacity"
    each: Each | None = None
    past: dict[Name, NonNegative] = msgspec.field(default_factory=dict)
    past_total: NonNegative | None = None
    window: Annotated[int, msgspec.Meta(ge=1, le=10**6)] | None = None
    half_life: Annotated[float, msgspec.Meta(ge=LEAST_HALF_LIFE, le=MOST_HALF_LIFE)] | None = None

    def __post_init__(self) -> None:
        if not self.at_most and not self.at_least and self.each is None:
            raise InputError(
                "`at_most` or `at_least`, with a share for one group or more, or `each`"
            )
        for group in self.at_most.keys() & self.at_least.keys():
            if self.at_least[group] > self.at_most[group]:
                raise InputError(
                    f"at most {self.at_most[group]}, the group's own `at_most`",
                    found=quote(self.at_least[group]),
                    place=f"at_least.{group}",
                )
        if self.window is not None and self.half_life is not None:
            raise InputError("`window` or `half_life`, not both", found="both")
        self._check_numbers()

    def _check_numbers(self) -> None:
        """Check what records made in Python may have wrong, and that sums stay finite."""
        for group, used in self.past.items():
            expect(0 <= used < inf, "a finite number >= 0", used, f"past.{group}")
        if not 0 <= (self.past_total or 0.0) < inf or not sum(self.past.values()) < inf:
            raise InputError("a finite number >= 0", found="another", place="past_total")

    def groups_named(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield the grouping, then each bounded group; those with a past need have no job now."""
        bounded = [
            (field, group)
            for field, shares in (("at_most", self.at_most), ("at_least", self.at_least))
            for group in shares
        ]
        if not bounded or any(group not in self.past for _, group in bounded):
            yield "by", self.by, None
        for field, group in bounded:
            if group not in self.past:
                yield f"{field}.{group}", self.by, group

    def caps(self, groups: Iterable[str]) -> dict[str, float]:
        """Return the cap of each of these groups that has one: its own, or that of ``each``."""
        return self._bounds(groups, self.at_most, None if self.each is None else self.each.at_most)

    def floors(self, groups: Iterable[str]) -> dict[str, float]:
        """Return the floor of each of these groups that has one: its own, or that of ``each``."""
        return self._bounds(
            groups, self.at_least, None if self.each is None else self.each.at_least
        )

    def _bounds(
        self, groups: Iterable[str], own: Mapping[str, float], other: float | None
    ) -> dict[str, float]:
        named = self.at_most.keys() | self.at_least.keys()
        more = () if other is None else [group for group in groups if group not in named]
        return {**own, **{group: other for group in more if other is not None}}

    @property
    def remembers(self) -> bool:
        """Whether the share by itself covers more than one night."""
        past = bool(self.past) or self.past_total is not None
        return past or self.window is not None or self.half_life is not None


def weight(age: int, half_life: float | None) -> Fraction:
    """Return the weight of a night by its age: 2^(-age/half_life), in multiples of 1/FINE."""
    if half_life is None:
        return Fraction(1)
    return Fraction(round(2.0 ** (-age / half_life) * FINE), FINE)
