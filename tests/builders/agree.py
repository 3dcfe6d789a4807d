"""Do two methods agree? Random instances of every kind of side constraint, solved twice each.

``make agree``, or ``PYTHONPATH=tests python -m builders.agree [COUNT [KIND]]``: so many instances
in all, of all kinds or of those that begin so. Exit 1 if any two methods disagree.

Every other selection goes through HiGHS first, however small it is; those of 60 to 200 jobs are
solved by SCIP, too. Other formulations are drawn and solved as the contract suite does. Bounds of
optimal policies are held below what policies get.
"""

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from importlib import import_module
from multiprocessing import get_context
from random import Random
from typing import Any

import numpy as np
from msgspec.structs import replace

from builders.rules import DRAWS, Named
from schedopt import evaluate, solve
from schedopt.formulations.dssp import Selection
from schedopt.instances import constraints as kinds
from schedopt.instances.constraints import Constraint, FairShare
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.msfq import Instance as Queue
from schedopt.instances.msfq import JobClass
from schedopt.solvers import portfolio
from schedopt.solvers.result import Limits

# --- selections with numbers that are hard to tell apart --------------------------------------

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
"""Side constraints of dssp, by what a run of the agreement calls them."""


def _drawn(kind: str) -> Rule:
    """Return the common draw of a kind as a rule of the agreement."""
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


def draw_large_night(seed: int) -> Instance:
    """Draw 60 to 200 jobs with ordinary numbers under one to four rules."""
    draw = Random(f"many {seed}")  # noqa: S311
    draft = Draft(draw, 60, 200, (_plain,))
    draft.capacity = round(sum(draft.demands) * draw.choice((0.2, 0.5, 0.8)), 1) or 1.0
    drawn_kinds = draw.choices([*RULES], k=draw.randint(1, 4))
    rules = [RULES[each](draw, draft, f"c{i}") for i, each in enumerate(drawn_kinds)]
    return draft.night(f"many-{seed}", rules, [{} for _ in draft.names])


# --- two methods -----------------------------------------------------------------------------

PART = 50  # instances of a part, which one process solves
CONTRACT = (
    *("epoch/partition", "epoch/rectangles", "hesrpt/allocation"),
    *("msfq/threshold", "dssp/schedule", "dssp/season"),
)
"""What tests/contract draws, solved as its suite does: by the table, and as declared."""
MANY, CLASSES = "60 to 200 jobs", "bounds of policies"
RARE = dict.fromkeys((*CONTRACT, MANY, CLASSES), 50)
"""Kinds that take long: one part of theirs to so many of another."""
NEAR = 1e-6  # what optima in floating point may differ by
SECONDS, FEW_SECONDS = 60.0, 10.0
"""What either method may take, the second for many jobs; what is not proven then is withheld."""
WORDS = ("agreed", "infeasible", "withheld", "disagreed")
JUDGED = ("judged/schedule", "judged/selection", "judged/season")
KINDS = ("none", *RULES, "windows", *JUDGED, *RARE)
BLIND = (
    *("adaptive-quickswap", "fcfs", "first-fit", "msf"),
    *("msfq", "nmsr", "static-quickswap", "two-threshold"),
)
"""Compiled policies, none of which knows how long jobs run."""


def verdict(kind: str, seed: int) -> str:
    """Answer an instance by two methods; return one of `WORDS`, or how they disagree."""
    if kind == CLASSES:
        return _hold_bound(seed)
    if kind in JUDGED:
        return str(import_module("judge.verdicts").judged(kind.partition("/")[2], seed))
    limits: dict[str, Any] = {"threads": 1, "time_limit": FEW_SECONDS if kind == MANY else SECONDS}
    if kind in CONTRACT:
        return _compare(
            *(solve(draw_formulation(kind, seed), solver=s, **limits) for s in (None, "model"))
        )
    if kind == MANY:
        return _compare(
            *(solve(draw_large_night(seed), solver=s, **limits) for s in (None, "scip"))
        )
    night = selection(kind, seed)
    first = solve(night, solver="highs" if seed % 2 else None, **limits)
    confirmed = portfolio.confirm(Selection(night), first, Limits(**limits))
    if confirmed is None:
        return "withheld"
    worth = {job.name: as_written(job.reward) for job in night.jobs}
    return _compare(first, confirmed, worth)


def draw_formulation(kind: str, seed: int) -> Any:
    """Draw a formulation as the contract suite does."""
    draws = import_module(f"contract.{kind.partition('/')[0]}").FORMULATIONS
    return draws[kind](Random(seed))  # noqa: S311


def _compare(one: Any, other: Any, worth: dict[str, Fraction] | None = None) -> str:
    """Compare two results: no solution may beat the other's bound, and proven optima are equal.

    `worth` is what each job earns exactly, where optima are to be the same without a tolerance.
    """
    if one.violations or other.violations:
        return f"violations: {one.violations or other.violations}"
    if one.termination == other.termination == "infeasible":
        return "infeasible"
    for first, second in ((one, other), (other, one)):
        if first.termination == "infeasible" and second.solution is not None:
            return f"{first.solver} says infeasible, {second.solver} has {second.objective}"
        if first.bound is not None and second.objective is not None:
            beyond = second.objective - first.bound
            beyond = -beyond if one.sense == "minimize" else beyond
            if beyond > NEAR * max(1.0, abs(first.bound)):
                return f"{second.solver} has {second.objective}, {first.solver} bound {first.bound}"
    if not (one.proven and other.proven):
        return "withheld"
    return "agreed" if _same(one, other, worth) else f"{one.objective} {other.objective}"


def _same(one: Any, other: Any, worth: dict[str, Fraction] | None) -> bool:
    """Tell whether two optima are the same."""
    if worth:
        values = (sum(map(worth.__getitem__, each.solution.selected)) for each in (one, other))
        return next(values) == next(values)
    scale = max(abs(one.objective), abs(other.objective))
    return bool(abs(one.objective - other.objective) <= NEAR * scale)


def _hold_bound(seed: int) -> str:
    """Hold the bound of a one-or-all queue below what policies are simulated to get."""
    draw = np.random.default_rng(seed)
    servers, load = int(draw.integers(2, 9)), float(draw.uniform(0.2, 0.8))
    parts = draw.dirichlet(np.ones(2)) * load * servers
    classes = tuple(
        JobClass(need=need, service_rate=1.0, arrival_rate=max(1e-3, part / need))
        for need, part in zip((1, servers), parts.tolist(), strict=True)
    )
    queue = Queue(name=f"classes-{seed}", servers=servers, classes=classes)
    result = solve(queue, formulation="optimal-policy", threads=1, time_limit=FEW_SECONDS / 20)
    if result.bound is None:
        return "withheld"
    for evaluated in evaluate(queue, BLIND, options={"arrivals": 50_000}, seed=seed):
        if evaluated.objective is None or not isinstance(evaluated.confidence, float):
            continue  # too short a run to say anything
        if evaluated.objective + 3 * evaluated.confidence < result.bound * (1 - NEAR):
            return f"{evaluated.policy} gets {evaluated.objective}, below the bound {result.bound}"
    return "agreed"


def run_part(kind: str, start: int, count: int = PART) -> dict[str, Any]:
    """Count the verdicts on some instances of a kind; disagreements come with their seeds."""
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    quarrels = []
    for seed in range(start, start + count):
        try:
            said = verdict(kind, seed)
        except Exception as error:  # noqa: BLE001  whatever it is, it is the finding
            said = f"{type(error).__name__}: {error}"
        is_known_verdict = said in WORDS[:-1]
        counts[said if is_known_verdict else WORDS[-1]] += 1
        quarrels += [] if is_known_verdict else [[seed, said[:300]]]
    return {"kind": kind, "start": start, "count": count, **counts, "quarrels": quarrels}


def remaining_parts(total: int, begins: str = "") -> Iterator[tuple[str, int]]:
    """Yield parts, one of each kind in turn, of the kinds that begin so."""
    drawn, turn = 0, 0
    while drawn < total:
        for kind in (kind for kind in KINDS if kind.startswith(begins)):
            if turn % RARE.get(kind, 1) == 0:
                yield kind, turn // RARE.get(kind, 1) * PART
                drawn += PART
        turn += 1


def report(done: Sequence[dict[str, Any]]) -> int:
    """Print the counts by kind and the disagreements; return how many of these there were."""
    quarrels = [(each["kind"], *quarrel) for each in done for quarrel in each["quarrels"]]

    for kind in dict.fromkeys(each["kind"] for each in done):
        parts = [each for each in done if each["kind"] == kind]
        counts = (f"{sum(each.get(word, 0) for each in parts):,} {word}" for word in WORDS)
        print(f"{kind}: {', '.join(counts)}")
    for kind, seed, words in quarrels:
        print(f"{kind} {seed}: {words}")
    return len(quarrels)


def _part(key: tuple[str, int]) -> dict[str, Any]:
    return run_part(*key)


def main() -> None:
    """Solve the instances, and print the counts and the disagreements."""
    total, begins = [*sys.argv[1:], *("100000", "")[len(sys.argv) - 1 :]]
    if not any(kind.startswith(begins) for kind in KINDS):
        sys.exit(f"found {begins!r}; expected the beginning of one of {', '.join(KINDS)}")
    with get_context("spawn").Pool() as pool:
        done = list(pool.imap_unordered(_part, remaining_parts(int(total), begins)))
    sys.exit(min(1, report(done)))


if __name__ == "__main__":
    main()
