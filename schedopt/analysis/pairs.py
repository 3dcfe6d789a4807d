"""Comparisons instance by instance: of two contenders, and of two benches of the same policies."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from statistics import fmean, median

import msgspec

from schedopt.analysis.averages import LEVEL, RESAMPLES, interval
from schedopt.analysis.contenders import (
    SAME,
    Scores,
    better,
    contenders,
    counts,
    grouped,
    options_of,
    reference_seconds,
    scored,
    sign_of,
)
from schedopt.formats import counted
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
    # The bootstrap interval of the mean, over instances, or over replications where these are
    # compared: see `schedopt.analysis.averages`.
    low: float
    high: float
    level: float  # the coverage that the interval aims at
    replications: int = 0  # of the one instance that both share, where these are what is compared
    left_out: int = 0  # runs with one seed on one instance of which one of the two has no number

    @property
    def compared(self) -> tuple[int, str]:
        """The number of instances, or other units, compared."""
        if self.replications:
            return self.replications, "replication"
        return self.instances, "instance"

    @property
    def missing(self) -> str:
        """The end of a sentence: how many runs were left out, if any."""
        left = counted(self.left_out, "run")
        return f" ({left} left out, where one of them has no number)" if self.left_out else ""


def paired(
    rows: Iterable[Row],
    a: str,
    b: str,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Pair]:
    """Compare two contenders instance by instance; `InputError` if no instance has both."""
    rows = list(rows)
    who = contenders(rows)
    known = dict.fromkeys(who.values())
    for name in (a, b):
        if name not in known:
            hint = suggestion(name, known) or listing(known)
            raise InputError(f"a policy in the rows{hint}", found=shown(name))
    bootstrap = partial(interval, level=level, resamples=resamples, seed=seed)
    found = [pair for both in _by_problem(rows, who) for pair in _pair(both, a, b, bootstrap)]
    if not found:
        raise InputError(f"an instance on which both {a} and {b} count", found="none")
    return [msgspec.structs.replace(pair, level=level) for pair in found]


def against(rows: Iterable[Row], a: str) -> list[Pair]:
    """Compare one contender with every other, for each problem, as `paired` does."""
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
    for problem, mine in grouped(rows, "problem").items():
        yield scored(problem, mine, who), scored(problem, mine, who, counts=_other)


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


def _pair(
    both: tuple[Scores, Scores], a: str, b: str, bootstrap: Callable[..., Interval] = interval
) -> Iterator[Pair]:
    """Yield the pair of two contenders, where some instance has a score of both."""
    found, left = _shared(both, a, b)
    if not found:
        return
    shared = [(fmean(x for x, _ in runs), fmean(y for _, y in runs)) for runs in found]
    if len(found) == 1:  # one instance: its runs are replications, the same draws for both
        shared = found[0]
    sign = both[0].sign
    gains = [sign * (x - y) / (max(abs(x), abs(y)) or 1.0) + 0.0 for x, y in shared]
    low, high = bootstrap([(gain,) for gain in gains])
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
        level=LEVEL,
        left_out=left,
    )


Value = bool | float | str | list[str] | None  # what a row says of something


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One difference between two rows of the same run."""

    problem: str
    instance: str
    contender: str
    seed: int
    what: str  # the row's field
    before: Value
    after: Value
    better: bool | None  # None where there is no better and worse


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What changed between two benches."""

    rows: int  # that both have
    same: int  # those of them that say the same but for times
    changes: tuple[Change, ...]
    gone: tuple[str, ...]  # rows that only the old one has, in words
    new: tuple[str, ...]  # rows that only the new one has, in words
    seconds: tuple[float, float]  # time of the policies on the rows that both have, old and new
    reference_seconds: tuple[float, float]  # the same of the references


def changes(old: Iterable[Row], new: Iterable[Row]) -> Changes:
    """Return what changed between two benches, run by run; by name if no file is in both."""
    old, new = list(old), list(new)
    moved = not {row.file for row in old} & {row.file for row in new}
    before, after = ({_identity(row, moved): row for row in rows} for rows in (old, new))
    both = [(before[key], row) for key, row in after.items() if key in before]
    who = contenders([*old, *new])
    told = [list(_compared(was, now, who[now.key])) for was, now in both]
    return Changes(
        rows=len(both),
        same=sum(not of for of in told),
        changes=tuple(change for of in told for change in of),
        gone=tuple(_named(row) for key, row in before.items() if key not in after),
        new=tuple(_named(row) for key, row in after.items() if key not in before),
        seconds=(sum(was.seconds for was, _ in both), sum(now.seconds for _, now in both)),
        reference_seconds=(
            reference_seconds(was for was, _ in both),
            reference_seconds(now for _, now in both),
        ),
    )


def _identity(row: Row, moved: bool) -> tuple[str, str, str, str, int]:
    where = row.instance if moved else row.file
    return row.problem, where, row.policy, options_of(row), row.seed


def _named(row: Row) -> str:
    return f"{row.policy} {options_of(row)}".strip() + f" on {row.instance}, seed {row.seed}"


def _compared(was: Row, now: Row, contender: str) -> Iterator[Change]:
    """Yield what differs between two rows, other than their times."""
    sign = sign_of(now.problem, "objective")
    # A bound is better where it is nearer the optimum: lower where more is better.
    directions = {"objective": sign, "reference": sign, "reference_bound": -sign, "gap": -1.0}
    for what, direction in directions.items():
        a, b = getattr(was, what), getattr(now, what)
        if not _same(a, b):
            known = None if a is None or b is None else better(b, a, direction)
            yield _change(now, contender, what, (a, b), known)
    if was.reference_proven != now.reference_proven:
        proven = (was.reference_proven, now.reference_proven)
        yield _change(now, contender, "reference_proven", proven, now.reference_proven)
    if was.violations != now.violations:
        fewer = None if was.violations and now.violations else not now.violations
        broken = (list(was.violations), list(now.violations))
        yield _change(now, contender, "violations", broken, fewer)
    if was.termination != now.termination:
        ended = now.termination == "completed"
        known = ended if ended or was.termination == "completed" else None
        yield _change(now, contender, "termination", (was.termination, now.termination), known)


def _same(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return abs(a - b) <= SAME * max(1.0, abs(a), abs(b))


def _change(
    row: Row, contender: str, what: str, values: tuple[Value, Value], better: bool | None
) -> Change:
    return Change(
        problem=row.problem,
        instance=row.instance,
        contender=contender,
        seed=row.seed,
        what=what,
        before=values[0],
        after=values[1],
        better=better,
    )
