"""Comparisons of two contenders, instance by instance."""

from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean, median

import msgspec

from schedopt.analysis.averages import interval
from schedopt.analysis.contenders import Scores, better, contenders, counts, group_rows, score_rows
from schedopt.instances.errors import InputError, listing, shown, suggestion
from schedopt.sweep.rows import Row

Interval = tuple[float, float]
Values = Mapping[int, float | None]


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two contenders on the instances on which both have a score, by the runs that both share.

    The advantage of a on an instance is the difference of the two scores, in a's favour, as a
    fraction of the larger of the two in absolute value: between -1 and 1 for scores of one sign.
    """

    problem: str
    a: str
    b: str
    instances: int
    better: int  # instances (or replications) on which a is better than b
    same: int
    worse: int
    mean: float  # of a's advantage, as the median
    median: float
    # The 95% bootstrap interval of the mean, over instances, or over replications where these are
    # compared: see `schedopt.analysis.averages`.
    low: float
    high: float
    replications: int = 0  # of the one instance that both share, where these are what is compared
    left_out: int = 0  # runs with one seed on one instance of which one of the two has no number

    @property
    def compared(self) -> tuple[int, str]:
        """The number of instances, or other units, compared."""
        if self.replications:
            return self.replications, "replication"
        return self.instances, "instance"


def compare_contenders(rows: Iterable[Row], a: str, b: str) -> list[Pair]:
    """Compare two contenders instance by instance; `InputError` if no instance has both."""
    rows = list(rows)
    who = contenders(rows)
    known = dict.fromkeys(who.values())
    for name in (a, b):
        if name not in known:
            hint = suggestion(name, known) or listing(known)
            raise InputError(f"a policy in the rows{hint}", found=shown(name))
    found = [pair for both in _by_problem(rows, who) for pair in _pair(both, a, b)]
    if not found:
        raise InputError(f"an instance on which both {a} and {b} count", found="none")
    return found


def against(rows: Iterable[Row], a: str) -> list[Pair]:
    """Compare one contender with every other, for each problem, as `compare_contenders` does."""
    rows = list(rows)
    return [
        pair
        for both in _by_problem(rows, contenders(rows))
        for b in both[0].of
        if b != a
        for pair in _pair(both, a, b)
    ]


def _by_problem(rows: Iterable[Row], who: dict[str, str]) -> Iterator[tuple[Scores, Scores]]:
    """Yield each problem's scores: where runs count, and where they answer another question."""
    for problem, mine in group_rows(rows, "problem").items():
        yield score_rows(problem, mine, who), score_rows(problem, mine, who, counts=_other)


def _other(row: Row) -> bool:
    return row.objective is not None and not row.violations and not counts(row)


def _replications(x: Values, y: Values) -> Iterator[tuple[float | None, float | None]]:
    """Yield two contenders' values by seed; who draws nothing has the same value at each."""
    for seed in max(x, y, key=len):
        if (seed in x or len(x) == 1) and (seed in y or len(y) == 1):
            yield x.get(seed, next(iter(x.values()))), y.get(seed, next(iter(y.values())))


def _shared(both: tuple[Scores, Scores], a: str, b: str) -> tuple[list[list[Interval]], int]:
    """Return the values of a and b on each instance, run by run, and how many runs lack one."""
    found, left = [], 0
    for file in dict.fromkeys(both[0].runs.get(a, {})):
        asked = [
            list(_replications(scores.runs[a][file], scores.runs[b][file]))
            for scores in both
            if file in scores.runs.get(b, {})
        ]
        told = [[(x, y) for x, y in runs if x is not None and y is not None] for runs in asked]
        if best := max(told, key=len, default=[]):
            found.append(best)
        left += max(map(len, asked), default=0) - len(best)
    return found, left


def _pair(both: tuple[Scores, Scores], a: str, b: str) -> Iterator[Pair]:
    """Yield the pair of two contenders, where some instance has a score of both."""
    found, left = _shared(both, a, b)
    if not found:
        return
    shared = [(fmean(x for x, _ in runs), fmean(y for _, y in runs)) for runs in found]
    if len(found) == 1:  # one instance: its runs are replications, the same draws for both
        shared = found[0]
    sign = both[0].sign
    gains = [sign * (x - y) / (max(abs(x), abs(y)) or 1.0) + 0.0 for x, y in shared]
    low, high = interval([(gain,) for gain in gains])
    ahead = sum(better(x, y, sign) for x, y in shared)
    behind = sum(better(y, x, sign) for x, y in shared)
    yield Pair(
        problem=both[0].problem,
        a=a,
        b=b,
        instances=len(found),
        replications=len(shared) if len(found) == 1 < len(shared) else 0,
        better=ahead,
        same=len(shared) - ahead - behind,
        worse=behind,
        mean=fmean(gains),
        median=median(gains),
        low=low,
        high=high,
        left_out=left,
    )
