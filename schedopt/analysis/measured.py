"""The measures of policies on one instance, beside the bound on any schedule."""

from collections.abc import Iterable, Sequence
from statistics import quantiles

import msgspec

from schedopt.analysis.contenders import contenders, group_rows
from schedopt.sweep.rows import Row

FEWEST = 20  # resampled instances that an interval takes


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The lead of one contender over another; ``low`` and ``high`` hold 95% of the resamples."""

    contender: str
    value: float  # on the instance itself, as a fraction of the other's
    low: float
    high: float

    @property
    def settled(self) -> bool:
        """Whether the instance and its resamples agree on the better one."""
        return (self.low > 0 and self.value > 0) or (self.high < 0 and self.value < 0)


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The measured contenders of one instance, the best first, preemptive references last."""

    instance: str
    file: str
    bound: float | None  # what no schedule is better than
    bound_checked: bool
    rows: list[tuple[str, Row]]  # each contender with its row
    differences: list[Difference]


def measured(rows: Iterable[Row]) -> list[Measured]:
    """Return the instances on which policies are measured, in the order of the rows."""
    rows = list(rows)
    names = contenders(rows)
    sound = (row for row in rows if row.measures and row.objective is not None)
    return [_measured(mine, names) for mine in group_rows(sound, "file").values()]


def _measured(rows: Sequence[Row], names: dict[str, str]) -> Measured:
    first, *others = sorted(rows, key=lambda row: (beside(row), row.objective or 0))
    compared = (_difference(names[row.key], row, first) for row in others)
    return Measured(
        instance=first.instance,
        file=first.file,
        bound=first.reference_bound,
        bound_checked=first.bound_checked,
        rows=[(names[row.key], row) for row in (first, *others)],
        differences=[one for one in compared if one],
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


def beside(row: Row) -> bool:
    """Tell whether a row answers another question than its reference."""
    return row.reference is not None and row.gap is None
