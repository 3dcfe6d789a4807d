"""Verify entries without a solver, and judge claimed improvements."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from instances.archived import instance_path, result_path
from instances.errors import InputError
from instances.files import decode, load, read_bytes
from schedopt.archive.entries import (
    Entry,
    Found,
    archived,
    digest,
    document,
    entry_for,
    entry_from,
)
from solvers.result import Document, gap
from validation.documents import check

NEEDS_NONE = "none needed"
"""What an entry says of a bound that the checker finds by itself."""

CLOSER = 1e-9
"""A claim is an improvement if it is better by more than this part of what is known."""


@dataclass(frozen=True)
class Verdict:
    """What became of an entry.

    Attributes
    ----------
    group, name : str
    status : str
        As the entry has it.
    bound : str
        ``re-proved``, ``believed, from`` whom, or empty where there is none.
    wrong : list of str
        What does not hold, a line each.
    """

    group: str
    name: str
    status: str
    bound: str
    wrong: list[str]


def verify(group: str, entry: Entry) -> Verdict:
    """Recompute an entry from its files: the digests, the solution, the bound, the numbers."""
    name = f"{group}/{entry.name}"
    wrong = []
    for what, path, told in (
        ("instance", instance_path(name), entry.instance),
        ("result", result_path(name), entry.result),
    ):
        if digest(path) != told:
            wrong.append(f"the {what} is not the one of the entry: {path.name} has another digest")
    bound = ""
    try:
        result = document(group, entry)
        report = check(archived(group, entry), result)
        wrong += report.violations
        bound = report.bound
        wrong += _compared(entry, result, bound)
    except InputError as error:
        wrong.append(str(error))
    return Verdict(group, entry.name, entry.status, bound, wrong)


def _compared(entry: Entry, result: Document, bound: str) -> list[str]:
    """Return where an entry says something else than its result."""
    told = (
        ("objective", entry.objective, result.objective),
        ("bound", entry.bound, result.bound),
        ("gap", entry.gap, gap(result.objective, result.bound)),
        ("status", entry.status, "proven" if result.proven else "open"),
        ("formulation", entry.formulation, result.formulation or ""),
        ("sense", entry.sense, result.sense),
    )
    wrong = [f"{what}: {ours}, where the result says {theirs}"
             for what, ours, theirs in told if ours != theirs]  # fmt: skip
    kind = str((result.certificate or {}).get("kind", NEEDS_NONE))
    if entry.certificate not in ("", kind):
        wrong.append(f"certificate: {entry.certificate}, where the result has {kind}")
    if entry.certificate and bound != "re-proved":
        wrong.append(f"certificate: {entry.certificate}, where the bound is {bound or 'not given'}")
    return wrong


def submit(file: Path, result_file: Path, by: str) -> tuple[str, Entry | None, list[str]]:
    """Judge a claimed improvement.

    Parameters
    ----------
    file : Path
        An instance of the archive.
    result_file : Path
        A result document for it.
    by : str
        Who or what found it.

    Returns
    -------
    tuple
        The group; the entry with the improvement, None where there is none; and why, or what is
        better.

    Raises
    ------
    InputError
        If the archive has no such instance, or the result is of another.
    """
    group, entry = entry_for(file)
    text = read_bytes(result_file)
    result = decode(text, Document, file=str(result_file))
    report = check(load(file), result)
    if not report.ok:
        return group, None, report.violations
    if (result.formulation or "") not in ("", entry.formulation):
        expected = f"a result of formulation {entry.formulation}"
        raise InputError(expected, found=repr(result.formulation), file=str(result_file))
    better = _better(entry, result, report.bound)
    if not better:
        return group, None, ["no better than what is known, in objective or re-proved bound"]
    return (
        group,
        _improved(group, entry, result, text=text, by=by, better=better),
        list(better.values()),
    )


def _better(entry: Entry, result: Document, bound: str) -> dict[str, str]:
    """Return what a result is better in, and how."""
    found = {}
    upward = entry.sense == "maximize"
    for what, ours, theirs, up in (
        ("objective", entry.objective, result.objective, upward),
        ("bound", entry.bound, result.bound if bound == "re-proved" else None, not upward),
    ):
        if theirs is None:
            continue
        ahead = 1.0 if ours is None else (theirs - ours if up else ours - theirs)
        if ahead > CLOSER * abs(ours or 0.0):
            found[what] = f"{what} {theirs:.12g}, where {ours} was known"
    return found


def _improved(
    group: str, entry: Entry, result: Document, *, text: bytes, by: str, better: dict[str, str]
) -> Entry:
    """Return the entry of a better result; a bound that it does not better is kept with it."""
    when = datetime.now(UTC).date().isoformat()
    found = Found(by=by, date=when, version=result.version)
    proof = ""
    if "bound" in better or (result.bound == entry.bound and entry.certificate):
        proof = str((result.certificate or {}).get("kind", NEEDS_NONE))
    made = entry_from(
        result,
        instance=instance_path(f"{group}/{entry.name}"),
        text=text,
        made=entry.made,
        by=found,
        proof=proof,
    )
    return structs.replace(
        made,
        objective_by=found if "objective" in better else entry.objective_by,
        bound_by=found if "bound" in better else entry.bound_by,
    )
