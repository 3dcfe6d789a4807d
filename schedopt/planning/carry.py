"""Carry over what earlier nights used: fair shares that remember, for the nights to come."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from schedopt.instances.constraints import Constraint, FairShare
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Selected, SelectedNight, SelectedNights
from schedopt.instances.dssp.clock import Clock
from schedopt.instances.errors import InputError, quote
from schedopt.instances.fair_share import weight
from schedopt.solvers.result import Document

DIGITS = 12  # significant digits of a demand computed from a share, to remove rounding


@dataclass(frozen=True)
class Usage:
    """The use of one night."""

    capacity: Fraction
    demand: Fraction
    # For each grouping and group, the demand that was run.
    groups: Mapping[str, Mapping[str, Fraction]]


def carry(
    results: Sequence[Document],
    rules: Sequence[Constraint],
    *,
    half_life: str | None,
    window: str | None,
) -> list[Constraint]:
    """Return fair shares with the use of the nights of some results, the earliest first.

    The rules are those that are given, or those that the last result was solved with.
    """
    life, nights = _memory(half_life, window)
    used = [night for document in results for night in _nights_of(document)]
    if not used:
        raise InputError("results with a solution", found="none")
    kept = [rule for rule in rules if isinstance(rule, FairShare)] or [
        msgspec.convert(rule, FairShare)
        for rule in results[-1].constraints
        if rule["kind"] == FairShare.kind()
    ]
    if not kept:
        expected = "a fair share to carry over, in --constraints or in the last result"
        raise InputError(expected, found="none")
    return [_with_past(rule, used, life, nights) for rule in kept]


def _memory(half_life: str | None, window: str | None) -> tuple[float | None, int | None]:
    """Return the half-life or the window in nights."""
    if (half_life is None) == (window is None):
        raise InputError("either --half-life or --window")
    text = (half_life if window is None else window) or ""
    place = "--half-life" if window is None else "--window"
    try:
        nights = Clock(unit="d").length(text)
    except InputError:
        raise InputError("nights, such as 7 or 7d", found=quote(text), place=place) from None
    if window is None:
        return nights, None
    if nights != int(nights) or nights < 1:
        raise InputError("whole nights, 1 or more", found=quote(text), place=place)
    return None, int(nights)


def _nights_of(document: Document) -> Iterator[Usage]:
    """Yield the use of each night of a result."""
    solution = document.solution
    if not solution:
        raise InputError("results with a solution", found=f"{document.termination} without one")
    nights: list[tuple[Selected | SelectedNight, float]]
    try:
        if "nights" in solution:
            season = msgspec.convert(solution, SelectedNights)
            nights = [*zip(season.nights, season.capacities, strict=True)]
        else:  # without the tasks that it may have
            names = [name for name in Selected.__struct_fields__ if name in solution]
            chosen = msgspec.convert({name: solution[name] for name in names}, Selected)
            nights = [(chosen, chosen.capacity)]
    except msgspec.ValidationError as error:
        raise InputError("a solution of dssp", found=str(error), place="solution") from None
    for night, capacity in nights:
        groups = {
            by: {
                group: as_written(float(f"{share * capacity:.{DIGITS}g}"))
                for group, share in shares.items()
            }
            for by, shares in night.shares.items()
        }
        yield Usage(as_written(capacity), as_written(night.demand), groups)


def _with_past(
    rule: FairShare, used: Sequence[Usage], half_life: float | None, window: int | None
) -> FairShare:
    """Return a fair share with what was used before; the last night is of age 0 in it."""
    bounded = rule.at_most | rule.at_least
    past = dict.fromkeys(bounded, Fraction(0))  # of these there may be no job on some night to come
    total = Fraction(0)
    for age, night in enumerate(reversed(used)):
        if window is not None and age >= window - 1:
            break
        counts = weight(age, half_life)
        total += counts * (night.demand if rule.of == "selected" else night.capacity)
        for group, amount in night.groups.get(rule.by, {}).items():
            past[group] = past.get(group, Fraction(0)) + counts * amount
    return msgspec.structs.replace(
        rule,
        past={group: float(amount) for group, amount in past.items() if amount or group in bounded},
        past_total=float(total),
        window=window,
        half_life=half_life,
    )
