"""What policies are measured to get on one instance, beside what any schedule could have got."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import quantiles

import msgspec

from schedopt.analysis.contenders import contenders
from schedopt.formats import counted, duration, number, percent
from schedopt.problems.shown import ShownTable
from schedopt.sweep.rows import Row

MOST = 12
"""Instances that have a table of their own."""
FEWEST = 20
"""Resampled instances that an interval takes."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """By how much one contender's objective is above another's on an instance.

    Attributes
    ----------
    contender : str
    value : float
        On the instance itself, as a fraction of the other's.
    low, high : float
        Between which it lies on 95% of the resampled instances, the same for both.
    """

    contender: str
    value: float
    low: float
    high: float

    @property
    def settled(self) -> bool:
        """Whether resampled instances leave no doubt, nor the instance itself, which is better."""
        return (self.low > 0 and self.value > 0) or (self.high < 0 and self.value < 0)


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The measured contenders of one instance, the best first, preemptive references last.

    Attributes
    ----------
    instance, file : str
    bound : float or None
        What no schedule is better than.
    bound_checked : bool
    rows : list of (str, Row)
        Each contender with its row.
    differences : list of Difference
        Of every other one from the first, where there are resampled instances.
    """

    instance: str
    file: str
    bound: float | None
    bound_checked: bool
    rows: list[tuple[str, Row]]
    differences: list[Difference]


def measured(rows: Iterable[Row]) -> list[Measured]:
    """Return the instances on which policies are measured, in the order of the rows."""
    rows = list(rows)
    names = contenders(rows)
    by_file: dict[str, list[Row]] = {}
    for row in rows:
        if row.measures and row.objective is not None:
            by_file.setdefault(row.file, []).append(row)
    return [_measured(mine, names) for mine in by_file.values()]


def _measured(rows: Sequence[Row], names: dict[str, str]) -> Measured:
    told = sorted(
        ((names[row.key], row) for row in rows),
        key=lambda pair: (_beside(pair[1]), pair[1].objective or 0),
    )
    first = told[0][1]
    found = (_difference(name, row, first) for name, row in told[1:])
    return Measured(
        instance=first.instance,
        file=first.file,
        bound=first.reference_bound,
        bound_checked=first.bound_checked,
        rows=told,
        differences=[one for one in found if one],
    )


def _difference(name: str, row: Row, first: Row) -> Difference | None:
    """Return how far a row is above the first, here and on 95% of the resampled instances.

    Each resampled instance is a replicate of the instance, on which both are played, so that the
    percentiles of the difference tell how sure it is (Efron and Tibshirani, An Introduction to the
    Bootstrap, 1993, section 13.3): queues are skewed, and a normal interval would not do.
    """
    pairs = list(zip(row.resampled, first.resampled, strict=False))
    if len(pairs) < FEWEST or row.objective is None or not first.objective:
        return None
    ratios = [a / b - 1 for a, b in pairs if b]
    cuts = quantiles(ratios, n=40, method="inclusive")
    value = row.objective / first.objective - 1
    return Difference(contender=name, value=value, low=cuts[0], high=cuts[-1])


def measure_tables(rows: Iterable[Row]) -> Iterator[ShownTable]:
    """Yield for each measured instance what the policies get, and how sure it is who is best."""
    for found in measured(rows)[:MOST]:
        yield measures_table(found)
        if found.differences:
            yield differences_table(found)


def measures_table(found: Measured) -> ShownTable:
    """Return what each contender gets on one instance."""
    heads = list(dict.fromkeys(key for _, row in found.rows for key in row.measures))
    bound = ""
    if found.bound is not None:
        proved = " (re-proved)" if found.bound_checked else ""
        bound = f"; no schedule is below {number(found.bound)}{proved}"
    return ShownTable(
        title=f"{found.instance}{bound}",
        heads=("policy", heads[0], "± (95%)", "over the bound", *heads[1:], "time"),
        rows=tuple(
            (
                name,
                number(row.measures.get(heads[0])),
                number(row.confidence) if row.confidence else "",
                _over(row, found.bound),
                *(_short(row.measures.get(key)) for key in heads[1:]),
                duration(row.seconds),
            )
            for name, row in found.rows
        ),
    )


def differences_table(found: Measured) -> ShownTable:
    """Return how sure it is that the first contender is better than each other one."""
    best = found.rows[0][0]
    count = len(found.rows[0][1].resampled)
    return ShownTable(
        title=f"{found.instance}: above {best}, here and on {counted(count, 'resampled log')}",
        heads=("policy", "here", "on 95% of them", "so"),
        rows=tuple(
            (
                one.contender,
                percent(one.value),
                f"{percent(one.low)[:-1]} to {percent(one.high)}",
                f"{best if one.low > 0 else one.contender} is better"
                if one.settled
                else "not settled",
            )
            for one in found.differences
        ),
    )


def _beside(row: Row) -> bool:
    """Tell whether a row has a reference, but answers another question than it."""
    return row.reference is not None and row.gap is None


def _over(row: Row, bound: float | None) -> str:
    if row.objective is None or not bound or _beside(row):
        return ""
    return percent(row.objective / bound - 1)


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}" if abs(value) < 1e4 else number(value)
