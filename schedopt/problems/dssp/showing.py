"""What there is to say about a result of dssp: who got how much, and when it was done."""

from __future__ import annotations

from collections.abc import Iterable

from instances.constraints import Constraint, FairShare
from instances.dssp import Instance, Scheduled, Selected
from instances.fair_share import weight
from schedopt.formats import counted
from schedopt.problems.shown import Lines, ShownTable, Tables
from solvers.result import Result

MOST = 40
"""Groups of a table; of more, those with the largest shares are shown."""

ON_TIME = 1 + 1e-11
"""A completion that is later than the deadline by less than this factor is rounded."""

NEAR = 0.005
"""A share this close to its cap or its floor is said to be at it."""

ROUNDED = 1 + 1e-9
"""A share that is beyond its cap or its floor by less than this factor is rounded."""

HEADS = ("group", "jobs", "selected", "share asked for", "share selected", "cap", "floor", "")


def lines(night: Instance, result: Result[Selected]) -> Lines:
    """Yield how many jobs are selected and, of a schedule, how many complete in time."""
    found = result.solution
    if found is None:
        return
    used, total = found.demand / found.capacity, len(night.jobs)
    verb = "run" if isinstance(found, Scheduled) else "selected"
    share = f"their demand is {used:.1%} of the capacity"
    yield "jobs", f"{len(found.selected):,} of {total:,} {verb}; {share}"
    if isinstance(found, Scheduled):
        done = sum(end <= night.deadline * ON_TIME for end in found.completion.values())
        yield (
            "schedule",
            f"{done:,} of {len(found.completion):,} jobs in time, "
            f"makespan {found.makespan / night.deadline:.2f} deadlines, "
            f"processors busy {found.utilization:.1%} of the time until the deadline",
        )


def tables(night: Instance, result: Result[Selected]) -> Tables:
    """Yield a table for each grouping: what each group asked for, and what it got."""
    found = result.solution
    if found is None:
        return
    chosen = set(found.selected)
    rules = [*night.constraints, *result.constraints]
    for by, shares in found.shares.items():
        caps, floors = _bounds(rules, by, list(shares), found.capacity)
        names = sorted(sorted(shares, key=shares.__getitem__, reverse=True)[:MOST])
        rows = []
        for group in names:
            jobs = night.groups[by][group]
            demand = night.demands[jobs].sum() / found.capacity
            share, cap, floor = shares[group], caps.get(group), floors.get(group)
            rows.append(
                (
                    group,
                    f"{len(jobs):,}",
                    f"{sum(night.jobs[j].name in chosen for j in jobs):,}",
                    f"{demand:.1%}",
                    f"{share:.1%}",
                    "" if cap is None else f"{cap:.1%}",
                    "" if floor is None else f"{floor:.1%}",
                    _held(share, cap, floor),
                )
            )
        left = len(shares) - len(names)
        more = f" (the {MOST} largest; {counted(left, 'group')} more)" if left else ""
        yield ShownTable(title=by + more, heads=HEADS, rows=tuple(rows))


def _held(share: float, cap: float | None, floor: float | None) -> str:
    """Say whether a share is held by its cap or its floor, or breaks it."""
    words = []
    if cap is not None and share > cap - NEAR:
        words.append("above its cap" if share > cap * ROUNDED else "at its cap")
    if floor is not None and share < floor + NEAR:
        words.append("below its floor" if share * ROUNDED < floor else "at its floor")
    return " and ".join(words)


def _bounds(
    rules: Iterable[Constraint], by: str, groups: Iterable[str], capacity: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the tightest caps and floors on each group, as shares of tonight's capacity."""
    caps: dict[str, float] = {}
    floors: dict[str, float] = {}
    for rule in rules:
        if isinstance(rule, FairShare) and rule.by == by and rule.of == "capacity":
            for group, share in rule.caps(groups).items():
                caps[group] = min(_tonight(rule, group, share, capacity), caps.get(group, 1.0))
            for group, share in rule.floors(groups).items():
                floors[group] = max(_tonight(rule, group, share, capacity), floors.get(group, 0.0))
    return caps, floors


def _tonight(rule: FairShare, group: str, share: float, capacity: float) -> float:
    """Return the share of tonight's capacity that a bound means after what was used before."""
    if rule.window == 1:
        return share
    total = sum(rule.past.values()) if rule.past_total is None else rule.past_total
    counts = float(weight(1, rule.half_life))
    return share + counts * (share * total - rule.past.get(group, 0.0)) / capacity
