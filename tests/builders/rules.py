"""Random side constraints of every kind that a selection or a season takes.

`DRAWS` has a function for each kind of `instances.dssp.SideConstraint`; the contract suite and the
comparison of rows with checkers draw from it.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

from schedopt.instances import constraints as kinds
from schedopt.instances.constraints import Constraint
from schedopt.instances.fair_share import Each


class Named(NamedTuple):
    """What side constraints refer to: jobs, and groups of the grouping ``team``."""

    jobs: list[str]
    teams: Sequence[str]

    def few(self, draw: Random) -> tuple[str, ...]:
        """Draw one to three jobs."""
        return tuple(draw.sample(self.jobs, draw.randint(1, min(3, len(self.jobs)))))


def fair_share(draw: Random, of: Named) -> Constraint:
    """Draw caps and floors, of the capacity or of what is selected, with past use or without."""
    team, share = draw.choice(of.teams), draw.choice((0.0, 0.1, 0.2, 0.5, 0.9, 1.0))
    bounds: dict[str, Any] = draw.choice(
        (
            {"at_most": {team: share}},
            {"at_least": {team: min(share, 0.5)}},
            {"each": Each(at_most=share, at_least=share / 3)},
        )
    )
    if draw.random() < 0.4:
        bounds["of"] = "selected"
    if draw.random() < 0.25:
        bounds["past"] = {team: float(draw.randint(0, 4)), of.teams[0]: 2.0}
    if draw.random() < 0.25:
        bounds |= draw.choice(({"window": draw.randint(1, 3)}, {"half_life": 0.7}))
    return kinds.FairShare(by="team", **bounds)


def _counted(draw: Random, of: Named) -> dict[str, Any]:
    counted: dict[str, Any] = {"count": draw.randint(0, 2)}
    if draw.random() < 0.5:
        return counted | {"jobs": of.few(draw)}
    return counted | {"by": "team", "group": draw.choice(of.teams)}


def _use(draw: Random, of: Named, least: int) -> dict[str, Any]:
    return {name: draw.randint(least, 3) for name in of.few(draw)}


DRAWS: dict[str, Callable[[Random, Named], Constraint]] = {
    "fair-share": fair_share,
    "require": lambda draw, of: kinds.Require(jobs=of.few(draw)[:1]),
    "forbid": lambda draw, of: kinds.Forbid(jobs=of.few(draw)),
    "imply": lambda draw, of: kinds.Imply(if_=draw.choice(of.jobs), then=draw.choice(of.jobs)),
    "together": lambda draw, of: kinds.Together(jobs=of.few(draw)),
    "apart": lambda draw, of: kinds.Apart(jobs=of.few(draw)),
    "at-most": lambda draw, of: kinds.AtMost(**_counted(draw, of)),
    "at-least": lambda draw, of: kinds.AtLeast(**_counted(draw, of)),
    "resource": lambda draw, of: kinds.Resource(
        name=f"disk {draw.random()}", capacity=draw.randint(0, 5), use=_use(draw, of, 0)
    ),
    "seats": lambda draw, of: kinds.Seats(capacity=draw.randint(1, 3), use=_use(draw, of, 1)),
}


def some_rule(draw: Random, names: list[str], teams: Sequence[str]) -> Constraint:
    """Draw a side constraint of any kind."""
    return draw.choice([*DRAWS.values()])(draw, Named(names, teams))
