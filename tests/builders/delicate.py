"""Selections with numbers that are hard to tell apart, under rules of every kind."""

from collections.abc import Callable
from random import Random
from typing import Any

from msgspec.structs import replace

from builders.rules import DRAWS, Named
from schedopt.instances import constraints as kinds
from schedopt.instances.constraints import Constraint, FairShare
from schedopt.instances.dssp import Instance, Job

TEAMS = ("fx", "light", "anim")
Rule = Callable[[Random, "Draft", str], Constraint]
Numbers = Callable[[Random, int], list[float]]
Window = dict[str, float]


class Draft:
    """Names, demands and teams of jobs, for side constraints to speak of."""

    def __init__(self, draw: Random, least: int, most: int, numbers: tuple[Numbers, ...]) -> None:
        count = draw.randint(least, most)
        self.names = [f"j{i}" for i in range(count)]
        self.rewards = draw.choice(numbers)(draw, count)
        self.demands = draw.choice(numbers)(draw, count)
        self.teams = [draw.choice(TEAMS) for _ in self.names]
        self.capacity = _capacity(draw, self.demands)

    def night(self, name: str, rules: list[Constraint], windows: list[Window]) -> Instance:
        """Return the jobs with side constraints, each perhaps with a release and a deadline."""
        columns = zip(self.names, self.rewards, self.demands, self.teams, windows, strict=True)
        return Instance(
            name=name,
            processors=1,
            deadline=self.capacity,
            jobs=tuple(
                Job(name=n, reward=r, demand=d, critical_path=0.0, groups={"team": t}, **window)
                for n, r, d, t, window in columns
            ),
            constraints=tuple(rules),
        )

    def few(self, draw: Random) -> tuple[str, ...]:
        """Draw one to three jobs."""
        return tuple(draw.sample(self.names, min(len(self.names), draw.randint(1, 3))))

    def share(self, draw: Random) -> float:
        """Draw a share."""
        return draw.choice((0.0, 5.6e-10, 0.25, 1 / 3, 0.5, 0.6, 0.7, 1.0, round(draw.random(), 3)))

    def team(self, draw: Random) -> str:
        """Draw a team that has a job."""
        return draw.choice(self.teams)


def _near_ties(draw: Random, count: int) -> list[float]:
    """Draw numbers that differ by 1e-12 to 1e-6 of themselves."""
    base, apart = draw.choice((1.0, 3.0, 1e8, 0.1, 7e5)), 10.0 ** -draw.randint(6, 12)
    return [base * draw.choice((1, 1, 2)) * (1 + apart * draw.randint(0, 9)) for _ in range(count)]


def _spread(draw: Random, count: int) -> list[float]:
    """Draw numbers of up to 15 orders of magnitude."""
    low = draw.randint(-14, -2)
    return [float(f"{draw.randint(1, 999)}e{draw.randint(low, low + 15)}") for _ in range(count)]


def _plain(draw: Random, count: int) -> list[float]:
    """Draw ordinary numbers: whole, or of one decimal."""
    unit = draw.choice((1, 10))
    return [draw.randint(0, 50) / unit for _ in range(count)]


def _capacity(draw: Random, demands: list[float]) -> float:
    """Draw a capacity next to what some of the jobs ask for."""
    some = sum(d for d in demands if draw.random() < 0.5) or max(demands) or 1.0
    return some * (1 + draw.choice((0, 0, 1, -1)) * 10.0 ** -draw.randint(6, 13))


def _shared(draw: Random, draft: Draft, name: str, *, floor: bool, of: str) -> Constraint:
    shares = {draft.team(draw): draft.share(draw)}
    bounds: dict[str, Any] = {"at_least": shares} if floor else {"at_most": shares}
    return FairShare(
        by="team", of="selected" if of == "selected" else "capacity", name=name, **bounds
    )


def _past(draw: Random, draft: Draft, name: str) -> Constraint:
    used = {team: draft.capacity * draw.random() for team in set(draft.teams)}
    half = draw.choice((None, 1.0, 3.0))
    return FairShare(
        by="team",
        at_most={draft.team(draw): draft.share(draw)},
        past=used,
        half_life=half,
        name=name,
    )


def _resource(draw: Random, draft: Draft, name: str) -> Constraint:
    use = dict(zip(draft.few(draw), _near_ties(draw, 3), strict=False))
    return kinds.Resource(name=name, use=use, capacity=_capacity(draw, list(use.values())))


RULES: dict[str, Rule] = {
    "fair-share cap": lambda d, x, n: _shared(d, x, n, floor=False, of="capacity"),
    "fair-share floor": lambda d, x, n: _shared(d, x, n, floor=True, of="capacity"),
    "fair-share cap of selected": lambda d, x, n: _shared(d, x, n, floor=False, of="selected"),
    "fair-share floor of selected": lambda d, x, n: _shared(d, x, n, floor=True, of="selected"),
    "fair-share each": lambda d, x, n: FairShare(
        by="team",
        each={"at_most": max(0.2, x.share(d))},
        name=n,  # type: ignore[arg-type]
    ),
    "fair-share past": _past,
    "resource": _resource,
}
"""Draws of side constraints by kind."""


def _drawn(kind: str) -> Rule:
    return lambda draw, draft, name: replace(
        DRAWS[kind](draw, Named(draft.names, draft.teams)), name=name
    )


RULES |= {kind: _drawn(kind) for kind in DRAWS if kind not in {key.split()[0] for key in RULES}}


def selection(kind: str, seed: int, most: int = 12) -> Instance:
    """Draw a night with a side constraint of a kind, none of it, or windows, and up to two more."""
    draw = Random(f"{kind} {seed}")  # noqa: S311
    draft = Draft(draw, 2, most, (_near_ties, _spread, _plain))
    drawn_kinds = [kind] * (kind in RULES) + draw.choices(list(RULES), k=draw.randint(0, 2))
    rules = [RULES[each](draw, draft, f"c{i}") for i, each in enumerate(drawn_kinds)]
    windows: list[Window] = [{} for _ in draft.names]
    for window in windows:
        if kind == "windows" and draw.random() < 0.6:
            release = draft.capacity * draw.choice((0, 0.25, 0.5))
            window |= {"release": release, "deadline": release + draft.capacity * draw.random()}
    return draft.night(f"{kind}-{seed}", rules if kind != "none" else [], windows)


def delicate(seed: int, most: int = 12) -> Instance:
    """Draw a night: near-ties from 1e-12 to 1e-6, spreads to 1e15, rules of all kinds."""
    draw = Random(seed)  # noqa: S311
    night = selection(draw.choice(["none", "windows", *RULES]), seed, most)
    if draw.random() < 0.1:  # paths next to the deadline
        paths = [night.deadline * (1 + draw.choice((-1, 0, 1)) * 1e-13) for _ in night.jobs]
        replaced = zip(night.jobs, paths, strict=True)
        night = replace(
            night, jobs=tuple(replace(job, critical_path=path) for job, path in replaced)
        )
    return night
