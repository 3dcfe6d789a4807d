"""Fair shares that remember: what earlier nights used, as rules for the nights to come."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from schedopt.formats import counted
from schedopt.instances.constraints import Constraint, FairShare
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Selected, SelectedNight, SelectedNights
from schedopt.instances.dssp.clock import Clock
from schedopt.instances.errors import InputError, placed, shown
from schedopt.instances.fair_share import Each, weight
from schedopt.instances.tables import Column, Table
from schedopt.solvers.result import Document

DIGITS = 12  # significant digits of a demand computed from a share, to remove rounding
OWN = ("night", "demand", "capacity")  # the columns of a usage table that are no groupings
NIGHT, CAPACITY = Column("night", needed=True), Column("capacity", "number")
DEMAND = Column("demand", "number", needed=True)
EARLIEST = date(1970, 1, 1).toordinal()  # nights of this number or above are dates


@dataclass(frozen=True)
class Usage:
    """The use of one night."""

    night: int  # counted from anywhere
    capacity: Fraction | None  # None where it is not known
    demand: Fraction
    # For each grouping and group, the demand that was run.
    groups: Mapping[str, Mapping[str, Fraction]]


def carry(
    results: Sequence[Document],
    tables: Sequence[Path],
    rules: Sequence[Constraint],
    *,
    half_life: str | None,
    window: str | None,
) -> tuple[list[Constraint], list[str]]:
    """Return fair shares with the use of earlier nights, and notes on them."""
    life, nights = _memory(half_life, window)
    used = [*_of_results(results), *(night for table in tables for night in _of_table(table))]
    if not used:
        raise InputError("results with a solution, or a usage table", found="none")
    if results and tables:
        raise InputError("results, or usage tables", found="both")
    used.sort(key=lambda night: night.night)
    if len({night.night for night in used}) < len(used):
        raise InputError("each night in one usage table", found="a night in two")
    notes = [f"{counted(len(used), 'night')}, the last of them {_called(used[-1].night)}"]
    carried = [rule for rule in rules if isinstance(rule, FairShare)]
    if not carried and results:
        told, kind = results[-1].constraints, FairShare.kind()
        carried = [msgspec.convert(rule, FairShare) for rule in told if rule["kind"] == kind]
    if not carried:
        groupings = dict.fromkeys(by for night in used for by in night.groups)
        carried = [
            FairShare(by=by, name=f"{by} so far", each=Each(at_most=1.0)) for by in groupings
        ]
        if not carried:
            raise InputError("results with groupings of jobs", found="none")
        notes.append("no fair share to carry on: each group may have everything; change `each`")
    return [_remembering(rule, used, life, nights) for rule in carried], notes


def _memory(half_life: str | None, window: str | None) -> tuple[float | None, int | None]:
    """Return the half-life or the window in nights."""
    if (half_life is None) == (window is None):
        raise InputError("either --half-life or --window")
    text = (half_life if window is None else window) or ""
    place = "--half-life" if window is None else "--window"
    try:
        nights = Clock(unit="d").length(text, place)
    except InputError:
        raise InputError("nights, such as 7 or 7d", found=shown(text), place=place) from None
    if window is None:
        return nights, None
    if nights != int(nights) or nights < 1:
        raise InputError("whole nights, 1 or more", found=shown(text), place=place)
    return None, int(nights)


def _of_results(results: Sequence[Document]) -> Iterable[Usage]:
    night = 0
    for document in results:
        if not document.solution:
            raise InputError("results with a solution", found=f"{document.termination} without one")
        try:
            found = _solution(document.solution)
        except msgspec.ValidationError as error:
            raise InputError("a solution of dssp", found=str(error), place="solution") from None
        rooms: Iterable[tuple[Selected | SelectedNight, float]] = (
            ((found, found.capacity),)
            if (isinstance(found, Selected))
            else zip(found.nights, found.capacities, strict=True)
        )
        for one, room in rooms:
            night += 1
            capacity = as_written(room)
            groups = {
                by: {
                    group: as_written(float(f"{share * room:.{DIGITS}g}"))
                    for group, share in shares.items()
                }
                for by, shares in one.shares.items()
            }
            yield Usage(night, capacity, as_written(one.demand), groups)


def _solution(solution: Mapping[str, Any]) -> Selected | SelectedNights:
    """Return what is selected in a solution, without the tasks that it may have."""
    if "nights" in solution:
        return msgspec.convert(solution, SelectedNights)
    known = {name: solution[name] for name in Selected.__struct_fields__ if name in solution}
    return msgspec.convert(known, Selected)


def _of_table(path: Path) -> list[Usage]:
    demand: dict[int, Fraction] = {}
    capacity: dict[int, Fraction] = {}
    groups: dict[int, dict[str, dict[str, Fraction]]] = {}
    with placed(file=path):
        table = Table.read(path)
        groupings = [title for title in table.titles if title not in OWN]
        for row in table.declared((NIGHT, DEMAND, CAPACITY), "usage", others=True):
            with placed(row.place):
                night = _night(row.value(NIGHT))
            used, room = as_written(row.value(DEMAND)), row.value(CAPACITY)
            if room is not None and capacity.setdefault(night, as_written(room)) != as_written(
                room
            ):
                raise row.wrong("capacity", "the night's one capacity")
            demand[night] = demand.get(night, Fraction(0)) + used
            for by in groupings:
                if group := row.text(by):
                    of = groups.setdefault(night, {}).setdefault(by, {})
                    of[group] = of.get(group, Fraction(0)) + used
    return [Usage(n, capacity.get(n), demand[n], groups.get(n, {})) for n in sorted(demand)]


def _night(text: str) -> int:
    try:
        return int(text) if text.lstrip("-").isdigit() else date.fromisoformat(text).toordinal()
    except ValueError:
        expected = "a whole number, or a date such as 2026-11-23"
        raise InputError(expected, found=shown(text), place="night") from None


def _called(night: int) -> str:
    return f"number {night}" if night < EARLIEST else date.fromordinal(night).isoformat()


def _remembering(
    rule: FairShare, used: Sequence[Usage], half_life: float | None, window: int | None
) -> FairShare:
    """Return a fair share with what was used before; the last night is of age 0 in it."""
    last = used[-1].night
    kept = [night for night in used if window is None or last - night.night < window - 1]
    bounded = rule.at_most | rule.at_least
    past = dict.fromkeys(bounded, Fraction(0))  # of these there may be no job on some night to come
    total = Fraction(0)
    for night in kept:
        counts = weight(last - night.night, half_life)
        if rule.of == "capacity" and night.capacity is None:
            expected = "a column `capacity`, of which shares are taken"
            raise InputError(expected, found=f"night {night.night} without it")
        total += counts * (night.demand if rule.of == "selected" else night.capacity or 0)
        for group, amount in night.groups.get(rule.by, {}).items():
            past[group] = past.get(group, Fraction(0)) + counts * amount
    return msgspec.structs.replace(
        rule,
        past={group: float(amount) for group, amount in past.items() if amount or group in bounded},
        past_total=float(total),
        window=window,
        half_life=half_life,
    )
