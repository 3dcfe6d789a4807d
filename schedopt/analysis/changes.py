"""What changed between two benches of the same policies on the same instances."""

from collections.abc import Iterable, Iterator

import msgspec

from schedopt.analysis.contenders import (
    SAME,
    better,
    contenders,
    options_of,
    reference_seconds,
    sign_of,
)
from schedopt.sweep.rows import Row

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
