"""Verify entries without a solver, and judge claimed improvements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec import UNSET, structs

from schedopt.archive.entries import (
    Entry,
    Found,
    archived,
    digest,
    document,
    entry_for,
    entry_from,
)
from schedopt.instances.archived import instance_path, result_path
from schedopt.instances.errors import InputError
from schedopt.instances.files import decode, encode, load, read_bytes
from schedopt.solvers.result import Document, gap, snap_bound
from schedopt.validation.documents import check

NEEDS_NONE = "none needed"
"""What an entry says of a bound that the checker finds by itself."""

CLOSER = 1e-9
"""A claim is an improvement if it is better by more than this part of what is known."""


@dataclass(frozen=True)
class Judged:
    """What became of a claimed improvement."""

    group: str
    entry: Entry | None  # with the improvement; None where there is none
    result: Document | None  # what the entry is of: the better solution with the better bound
    why: list[str]  # what is better, or what is wrong, a line each


@dataclass(frozen=True)
class Verdict:
    """What became of an entry."""

    group: str
    name: str
    status: str  # as the entry has it
    bound: str  # ``re-proved``, ``believed, from`` whom, or empty where there is none
    wrong: list[str]  # what does not hold, a line each


def verify(group: str, entry: Entry) -> Verdict:
    """Recompute an entry from its files: the digests, the solution, the bound, the numbers."""
    name, wrong, bound = f"{group}/{entry.name}", [], ""
    try:
        for what, path, told in (
            ("instance", instance_path(name), entry.instance),
            ("result", result_path(name), entry.result),
        ):
            if digest(path) != told:
                wrong.append(f"the {what} is not that of the entry: {path.name} has another digest")
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


def submit(file: Path, result_file: Path, by: str) -> Judged:
    """Judge a claimed improvement.

    ``file``: an instance of the archive; ``result_file``: a result document for it; ``by``: who or
    what found it.
    """
    group, entry = entry_for(file)
    result = decode(read_bytes(result_file), Document, file=str(result_file))
    instance = load(file)
    report = check(instance, result)
    if not report.ok:
        return Judged(group, None, None, report.violations)
    if (result.formulation or "") not in ("", entry.formulation):
        expected = f"a result of formulation {entry.formulation}"
        raise InputError(expected, found=repr(result.formulation), file=str(result_file))
    better = _better(entry, result, report.bound)
    if not better:
        why = "no better than what is known, in objective or re-proved bound"
        return Judged(group, None, None, [why])
    joined = _joined(document(group, entry), result, better)
    again = check(instance, joined)
    if not again.ok:
        return Judged(group, None, None, again.violations)
    found = Found(by=by, date=datetime.now(UTC).date().isoformat(), version=result.version)
    proof = ""
    if again.bound == "re-proved":
        proof = str((joined.certificate or {}).get("kind", NEEDS_NONE))
    improved = entry_from(
        joined,
        instance=instance_path(f"{group}/{entry.name}"),
        text=encode(joined),
        made=entry.made,
        by=found,
        proof=proof,
    )
    improved = structs.replace(
        improved,
        objective_by=found if "objective" in better else entry.objective_by,
        bound_by=found if "bound" in better else entry.bound_by,
    )
    return Judged(group, improved, joined, list(better.values()))


def _joined(known: Document, result: Document, better: Mapping[str, str]) -> Document:
    """Return the better solution with the better bound, and what that bound is proved from."""
    best = result if "objective" in better else known
    sure = result if "bound" in better else known
    bound = snap_bound(best.objective, sure.bound)
    apart = gap(best.objective, bound)
    met = apart == 0
    return structs.replace(
        best,
        formulation=sure.formulation or known.formulation,
        solver=sure.solver or known.solver,
        policy=UNSET,
        options=sure.options,
        bound=bound,
        gap=apart,
        certificate=sure.certificate,
        bound_checked=sure.bound_checked,
        solution_status="optimal" if met else "feasible",
        termination="optimal" if met else "completed",
        trace=(),
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
