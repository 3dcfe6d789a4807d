"""What the rows of a bench say: summaries, profiles, pairs of policies, and what changed.

A *contender* is a policy, with its options where a file has it with several. What it gets on an
instance is the mean over its seeds. A run counts where it has an objective, breaks nothing, and
answers the same question as its reference. Better is by objective, not by gap: gaps of policies
that are measured against different references cannot be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from statistics import fmean, median

import msgspec

from instances.errors import InputError, listing, shown, suggestion
from schedopt.analysis.changes import Change, Changes, changes
from schedopt.analysis.contenders import SAME, Measure, better, contenders, counts, sign_of
from schedopt.sweep.rows import Row

__all__ = [
    "Change",
    "Changes",
    "Pair",
    "Profile",
    "Standing",
    "changes",
    "contenders",
    "paired",
    "profiles",
    "summary",
]

TAUS = (1.0, 1.001, 1.01, 1.02, 1.05, 1.1, 1.25, 1.5, 2.0)
"""Where a profile is read off for a table."""

Scores = dict[str, dict[str, float]]
Counts = Callable[[Row], bool]


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How one contender does on all instances of a problem.

    Attributes
    ----------
    problem, contender : str
    runs, counted : int
        Rows, and those of them that have a gap.
    mean, median, worst : float or None
        Of the gaps; None where there are none.
    worst_instance, worst_file : str or None
        The instance that shows the worst gap.
    instances, wins : int
        Instances on which anyone counts, and those on which no contender is better than this one
        (several can be the best of one instance).
    at_optimum : int
        Runs that meet a proven optimum.
    proven : float
        The share of its runs whose reference is proven.
    seconds, total_seconds : float
        Mean and sum of its own time.
    endings : mapping of str to int
        Why rows have no gap: ``violations``, ``not-applicable``, ``time-limit``, ...
    """

    problem: str
    contender: str
    runs: int
    counted: int
    mean: float | None
    median: float | None
    worst: float | None
    worst_instance: str | None
    worst_file: str | None
    instances: int
    wins: int
    at_optimum: int
    proven: float
    seconds: float
    total_seconds: float
    endings: Mapping[str, int]


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """A performance profile after Dolan and Moré (Mathematical Programming 91, 2002).

    Attributes
    ----------
    problem, contender : str
    measure : {"objective", "seconds"}
    instances : int
        Instances on which any contender counts.
    ratios : tuple of float
        For each that this one counts on, how many times worse than the best it is, ascending.
    """

    problem: str
    contender: str
    measure: Measure
    instances: int
    ratios: tuple[float, ...]

    def at(self, tau: float) -> float:
        """Return the share of instances on which it is at most tau times worse than the best."""
        return sum(ratio <= tau * (1 + SAME) for ratio in self.ratios) / self.instances


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two contenders on the instances on which both count.

    Attributes
    ----------
    problem, a, b : str
    instances, better, same, worse : int
        How many, and on how many of them a is better than b, the same, and worse.
    mean, median : float
        Of a's advantage: the difference of the objectives, in a's favour, as a fraction of the
        larger of the two.
    low, high : float
        The bootstrap interval of the mean: percentiles over resampled instances.
    level : float
        What it covers.
    """

    problem: str
    a: str
    b: str
    instances: int
    better: int
    same: int
    worse: int
    mean: float
    median: float
    low: float
    high: float
    level: float


def _by_problem(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.problem, []).append(row)
    return found


def _scores(
    rows: Sequence[Row], who: Mapping[str, str], measure: Measure, counts: Counts = counts
) -> Scores:
    """Return for each contender what it gets on each file, where all its seeds count."""
    runs: dict[str, dict[str, list[float | None]]] = {name: {} for name in who.values()}
    for row in rows:
        value = getattr(row, measure) if counts(row) else None
        runs.setdefault(who[row.key], {}).setdefault(row.file, []).append(value)
    return {
        name: {file: fmean(v for v in values if v is not None) for file, values in of.items()
               if None not in values}
        for name, of in runs.items()
    }  # fmt: skip


def _best(scores: Scores, sign: float) -> dict[str, float]:
    """Return the best that anyone gets on each file."""
    best: dict[str, float] = {}
    for of in scores.values():
        for file, value in of.items():
            if file not in best or sign * value > sign * best[file]:
                best[file] = value
    return best


def summary(rows: Iterable[Row]) -> list[Standing]:
    """Summarize rows by problem and contender, in the order of the rows."""
    rows = list(rows)
    who = contenders(rows)
    found = []
    for problem, mine in _by_problem(rows).items():
        names = {row.key: who[row.key] for row in mine}
        scores, sign = _scores(mine, names, "objective"), sign_of(problem, "objective")
        best = _best(scores, sign)
        for name in dict.fromkeys(names.values()):
            wins = sum(not better(best[f], value, sign) for f, value in scores[name].items())
            own = [row for row in mine if names[row.key] == name]
            found.append(_standing(problem, name, own, wins, len(best)))
    return found


def _standing(problem: str, name: str, rows: Sequence[Row], wins: int, instances: int) -> Standing:
    gaps = [(row.gap, row) for row in rows if row.gap is not None]
    values = [gap for gap, _ in gaps]
    worst = max(gaps, key=lambda pair: pair[0])[1] if gaps else None
    endings: dict[str, int] = {}
    for row in rows:
        if row.gap is None:
            why = _why(row)
            endings[why] = endings.get(why, 0) + 1
    return Standing(
        problem=problem,
        contender=name,
        runs=len(rows),
        counted=len(gaps),
        mean=fmean(values) if values else None,
        median=median(values) if values else None,
        worst=worst.gap if worst else None,
        worst_instance=worst.instance if worst else None,
        worst_file=worst.file if worst else None,
        instances=instances,
        wins=wins,
        at_optimum=sum(gap <= SAME and row.reference_proven for gap, row in gaps),
        proven=sum(row.reference_proven for row in rows) / len(rows),
        seconds=fmean(row.seconds for row in rows),
        total_seconds=sum(row.seconds for row in rows),
        endings=endings,
    )


def _why(row: Row) -> str:
    """Say in a word why a row has no gap."""
    if row.violations:
        return "violations"
    if row.termination != "completed":
        return row.termination
    return "no reference" if row.reference is None else "another question"


def profiles(rows: Iterable[Row], *, measure: Measure = "objective") -> list[Profile]:
    """Return the performance profile of each contender, by problem.

    Parameters
    ----------
    rows : iterable of Row
    measure : {"objective", "seconds"}
        What is compared.
    """
    rows = list(rows)
    who = contenders(rows)
    found = []
    for problem, mine in _by_problem(rows).items():
        names = {row.key: who[row.key] for row in mine}
        scores, sign = _scores(mine, names, measure), sign_of(problem, measure)
        best = _best(scores, sign)
        for name, of in scores.items():
            ratios = sorted(_ratio(value, best[file], sign) for file, value in of.items())
            if best:
                found.append(
                    Profile(
                        problem=problem,
                        contender=name,
                        measure=measure,
                        instances=len(best),
                        ratios=tuple(ratios),
                    )
                )
    return found


def _ratio(value: float, best: float, sign: float) -> float:
    """Return how many times worse than the best a value is; 1 for the best itself."""
    if not better(best, value, sign):
        return 1.0
    small, large = (value, best) if sign > 0 else (best, value)
    return large / small if small > 0 else inf


def paired(
    rows: Iterable[Row],
    a: str,
    b: str,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Pair]:
    """Compare two contenders instance by instance, for each problem that has both.

    Parameters
    ----------
    rows : iterable of Row
    a, b : str
        As in `summary`: a policy, or a policy and its options.
    level : float
        What the interval is to cover.
    resamples, seed : int
        Of the bootstrap: the same seed gives the same interval.

    Raises
    ------
    InputError
        If one of them is not there, or there is no instance on which both count.
    """
    rows = list(rows)
    who = contenders(rows)
    known = dict.fromkeys(who.values())
    for name in (a, b):
        if name not in known:
            hint = suggestion(name, known) or listing(known)
            raise InputError(f"a policy in the rows{hint}", found=shown(name))
    found = []
    for problem, mine in _by_problem(rows).items():
        names = {row.key: who[row.key] for row in mine}
        scores, sign = _scores(mine, names, "objective"), sign_of(problem, "objective")
        shared = _shared(scores, a, b) + _shared(_scores(mine, names, "objective", _other), a, b)
        if shared:
            gains = [sign * (x - y) / (max(abs(x), abs(y)) or 1.0) + 0.0 for x, y in shared]
            low, high = _interval(gains, level, resamples, seed)
            ahead = sum(better(x, y, sign) for x, y in shared)
            behind = sum(better(y, x, sign) for x, y in shared)
            pair = Pair(
                problem=problem, a=a, b=b, level=level,
                instances=len(shared), better=ahead, same=len(shared) - ahead - behind,
                worse=behind, mean=fmean(gains), median=median(gains), low=low, high=high,
            )  # fmt: skip
            found.append(pair)
    if not found:
        raise InputError(f"an instance on which both {a} and {b} count", found="none")
    return found


def _other(row: Row) -> bool:
    """Tell whether a run is sound, but answers another question than the reference."""
    return row.objective is not None and not row.violations and not counts(row)


def _shared(scores: Scores, a: str, b: str) -> list[tuple[float, float]]:
    ours, theirs = scores.get(a, {}), scores.get(b, {})
    return [(value, theirs[file]) for file, value in ours.items() if file in theirs]


def _interval(
    values: Sequence[float], level: float, resamples: int, seed: int
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean."""
    import numpy as np

    sample = np.asarray(values)
    draw = np.random.Generator(np.random.PCG64(seed))
    means = np.empty(resamples)
    step = max(1, 10_000_000 // len(sample))  # memory for so many at a time
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        picked = draw.integers(len(sample), size=(count, len(sample)))
        means[start : start + count] = sample[picked].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
