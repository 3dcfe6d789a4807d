"""What the rows of a bench say, as tables of text: the same at a terminal and in a paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from schedopt.analysis.changes import Changes
from schedopt.analysis.contenders import SAME
from schedopt.analysis.profiles import TAUS, Profile
from schedopt.analysis.summary import Overview, Standing
from schedopt.formats import counted, duration, number, percent
from schedopt.problems.shown import ShownTable

NONE = "–"

WORDS = {
    "violations": "in violation",
    "not-applicable": "not applicable",
    "time-limit": "timed out",
}
"""How a row without a gap ended, where another word reads better."""

HEADS = ("policy", "mean gap", "95% interval", "median", "worst", "on", "wins", "optimal", "time",
         "no gap")  # fmt: skip


def standings(
    found: Sequence[Standing], overviews: Iterable[Overview]
) -> Iterator[tuple[Overview, ShownTable]]:
    """Yield each problem with the table of its contenders."""
    for what in overviews:
        title = f"{what.problem}: {counted(what.instances, 'instance')}, "
        rows = tuple(standing_cells(s) for s in found if s.problem == what.problem)
        proven = f"optimum proven for {what.proven:,}"
        yield what, ShownTable(title=title + proven, heads=HEADS, rows=rows)


def standing_cells(standing: Standing) -> tuple[str, ...]:
    """Return what `HEADS` say of one contender."""
    counted = standing.counted
    mean, middle, worst = (
        NONE if gap is None else percent(gap)
        for gap in (standing.mean, standing.median, standing.worst)
    )
    return (
        standing.contender,
        noisy(mean, standing.noise),
        between(standing.low, standing.high),
        middle,
        worst,
        standing.worst_instance or "" if (standing.worst or 0.0) > SAME else "",
        f"{standing.wins:,} of {standing.instances:,}",
        f"{standing.at_optimum:,} of {counted:,}" if counted else NONE,
        duration(standing.seconds),
        ", ".join(f"{n:,} {WORDS.get(why, why)}" for why, n in standing.endings.items()),
    )


def noisy(mean: str, noise: float) -> str:
    """Return a mean with the half-width of its interval, where it comes of simulated runs."""
    return f"{mean} ± {percent(noise)}" if noise > SAME else mean


def between(low: float | None, high: float | None) -> str:
    """Return an interval of fractions; nothing where there is none."""
    return "" if low is None or high is None else f"{percent(low)[:-1]} to {percent(high)}"


def profiles(found: Sequence[Profile]) -> Iterator[ShownTable]:
    """Yield for each problem the share of instances on which each is within a factor."""
    for problem, measure in dict.fromkeys((p.problem, p.measure) for p in found):
        mine = [p for p in found if (p.problem, p.measure) == (problem, measure)]
        title = f"{problem}: share of {counted(mine[0].instances, 'instance')} "
        rows = tuple((p.contender, *(f"{p.at(tau):.0%}" for tau in TAUS)) for p in mine)
        yield ShownTable(
            title=f"{title}within a factor of the best, by {measure}",
            heads=("policy", *(f"{tau:g}" for tau in TAUS)),
            rows=rows,
        )


def changes(found: Changes, most: int) -> ShownTable:
    """Return the table of what changed; of more than ``most`` changes, the first."""
    verdicts = {True: "better", False: "worse", None: ""}
    heads = ("problem", "instance", "policy", "seed", "what", "before", "after", "")
    rows = tuple(
        (
            change.problem,
            change.instance,
            change.contender,
            str(change.seed),
            change.what,
            _value(change.before),
            _value(change.after),
            verdicts[change.better],
        )
        for change in found.changes[:most]
    )
    return ShownTable(title="what changed", heads=heads, rows=rows)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or isinstance(value, int | float):
        return number(value)
    if isinstance(value, list):
        return "; ".join(value) or "none"
    return str(value)
