"""Verify entries without a solver, and judge claimed improvements."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec import UNSET, structs

from schedopt.archive import entries
from schedopt.instances.errors import InputError, quote
from schedopt.instances.examples import folder_of, groups, instance_path, result_path
from schedopt.instances.files import companion_files, decode, encode, load, read_bytes
from schedopt.instances.tables import Table
from schedopt.problems import problem as record_of
from schedopt.solvers.result import Document, gap, snap_bound
from schedopt.validation.documents import as_record, check

NEEDS_NONE = "none needed"  # the proof named by an entry whose bound the checker finds by itself
NO_POLICIES = ("job", "best_wait", "best_makespan")  # columns of a table of starts
CLOSER = 1e-9  # relative margin by which a claim must improve on what is known


@dataclass(frozen=True)
class Judgement:
    """What became of a claimed improvement."""

    group: str
    entry: entries.Entry | None  # with the improvement; None where there is none
    result: Document | None  # what the entry is of: the better solution with the better bound
    why: list[str]  # what is better, or what is wrong, a line each


@dataclass(frozen=True)
class Verdict:
    """What became of an entry."""

    group: str
    name: str
    status: str  # the entry's; a proven one that is not re-proved is ``confirmed`` or ``believed``
    bound: str  # ``re-proved``, ``confirmed by`` or ``believed, from`` an engine; empty if none
    wrong: list[str]  # what does not hold, a line each


def verify(group: str, entry: entries.Entry) -> Verdict:
    """Recompute an entry from its files: the digests, the solution, the bound, the numbers."""
    name, wrong, bound = f"{group}/{entry.name}", [], ""
    try:
        for what, path, recorded in (
            ("instance", instance_path(name), entry.instance),
            ("result", result_path(name), entry.result),
        ):
            if entries.digest(path) != recorded:
                wrong.append(f"the {what} is not that of the entry: {path.name} has another digest")
        result = entries.document(group, entry)
        expect_solution_of(entry, result, result_path(name).name)
        report = check(entries.instance_of_entry(group, entry), result)
        wrong += [*report.violations, *report.unjudged]
        wrong += [f"question: {what}" for what in report.differences]
        bound = report.bound
        if bound != "re-proved" and entry.confirmed_by:
            bound = f"confirmed by {entry.confirmed_by}"
        wrong += [*_differences(entry, result, bound), *_wrong_starts(group, entry)]
    except InputError as error:
        wrong.append(str(error))
    status: str = entry.status
    if status == "proven" and bound != "re-proved":
        status = "confirmed" if entry.confirmed_by else "believed"
    return Verdict(group, entry.name, status, bound, wrong)


def _wrong_starts(group: str, entry: entries.Entry) -> Iterator[str]:
    """Yield what is wrong with the starts that a group holds, in a column for each policy."""
    path = folder_of(group) / "starts" / f"{entry.name}.csv"
    if not path.parent.is_dir():
        return
    policies = [title for title in Table.read(path).titles if title not in NO_POLICIES]
    for policy in policies:
        wrong = record_of(entry.problem).wrong_start(
            entries.instance_of_entry(group, entry), path, policy
        )
        if wrong is not None:
            yield f"{path.name}: {wrong.in_words()}"


def _differences(entry: entries.Entry, result: Document, bound: str) -> list[str]:
    """Return the fields in which an entry differs from its result."""
    differences = (
        ("objective", entry.objective, result.objective),
        ("bound", entry.bound, result.bound),
        ("gap", entry.gap, gap(result.objective, result.bound)),
        ("status", entry.status, "proven" if result.proven else "open"),
        ("formulation", entry.formulation, result.formulation or ""),
        ("sense", entry.sense, result.sense),
    )
    wrong = [
        f"{what}: {ours}, where the result says {theirs}"
        for what, ours, theirs in differences
        if ours != theirs
    ]
    wrong += [f"question: {what}" for what in _other_question(entry, result)]
    kind = str((result.certificate or {}).get("kind", NEEDS_NONE))
    if entry.certificate not in ("", kind):
        wrong.append(f"certificate: {entry.certificate}, where the result has {kind}")
    if entry.certificate and bound != "re-proved":
        wrong.append(f"certificate: {entry.certificate}, where the bound is {bound or 'not given'}")
    return wrong


def _other_question(entry: entries.Entry, result: Document) -> list[str]:
    """Return the fields in which a result answers another question than its entry."""
    asked = result.question.options if result.question else result.options
    asks, wanted = (
        entries.asking(entry.problem, entry.formulation, options)
        for options in (asked, entry.options)
    )
    other = []
    if result.formulation and asks != wanted:
        other.append(f"options {asks or 'none'}, where the entry has {wanted or 'none'}")
    if result.constraints:
        other.append(f"{len(result.constraints)} added side constraints")
    return other


def submit(file: Path, result_file: Path, by: str) -> Judgement:
    """Judge a claimed improvement of an instance of the archive."""
    if not by.isprintable():
        raise InputError("a name of characters that print", found=quote(by), parameter="by")
    group, entry = _entry_for(file)
    result = decode(read_bytes(result_file), Document, file=str(result_file))
    instance = load(file)
    report = check(instance, result)
    if not report.whole:
        return Judgement(group, None, None, [*report.violations, *report.unjudged])
    expect_solution_of(entry, result, str(result_file))
    other = [*_other_question(entry, result), *report.differences]
    if other:
        return Judgement(group, None, None, [f"another question: {what}" for what in other])
    better = _improvements(entry, result, report.bound)
    if not better:
        why = "no better than what is known, in objective or re-proved bound"
        return Judgement(group, None, None, [why])
    joined = _merge(entries.document(group, entry), result, better)
    again = check(instance, joined)
    if not again.whole:
        return Judgement(group, None, None, [*again.violations, *again.unjudged])
    provenance = entries.Provenance(
        by=by, date=datetime.now(UTC).date().isoformat(), version=result.version
    )
    kind = str((joined.certificate or {}).get("kind", NEEDS_NONE))
    improved = structs.replace(
        entry,
        status="proven" if joined.proven else "open",
        objective=joined.objective,
        bound=joined.bound,
        gap=gap(joined.objective, joined.bound),
        certificate=kind if again.bound == "re-proved" else "",
        objective_by=provenance if "objective" in better else entry.objective_by,
        bound_by=provenance if "bound" in better else entry.bound_by,
        result=hashlib.sha256(encode(joined)).hexdigest(),
    )
    return Judgement(group, improved, joined, list(better.values()))


def expect_solution_of(entry: entries.Entry, result: Document, file: str) -> None:
    """Raise `InputError` unless a result's solution is one of the entry's formulation."""
    if (result.formulation or "") not in ("", entry.formulation):
        expected = f"a result of formulation {entry.formulation}"
        raise InputError(expected, found=repr(result.formulation), file=file)
    try:
        as_record(structs.replace(result, formulation=entry.formulation))
    except InputError as error:
        expected = f"a solution of formulation {entry.formulation}"
        raise InputError(expected, found=f"{error.place}: {error.found}", file=file) from None


def _merge(known: Document, result: Document, better: Mapping[str, str]) -> Document:
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
        question=UNSET,
        certificate=sure.certificate,
        bound_checked=sure.bound_checked,
        solution_status="optimal" if met else "feasible",
        termination="optimal" if met else "completed",
        trace=(),
    )


def _improvements(entry: entries.Entry, result: Document, bound: str) -> dict[str, str]:
    """Return what a result is better in, and how."""
    improvements = {}
    upward = entry.sense == "maximize"
    for what, ours, theirs, up in (
        ("objective", entry.objective, result.objective, upward),
        ("bound", entry.bound, result.bound if bound == "re-proved" else None, not upward),
    ):
        if theirs is None:
            continue
        ahead = 1.0 if ours is None else (theirs - ours if up else ours - theirs)
        apart = CLOSER * abs(ours or 0.0)
        if ahead > apart:
            improvements[what] = f"{what} {theirs:.12g}, where {ours} was known"
        elif what == "bound" and not entry.certificate and ahead >= -apart:
            improvements[what] = f"bound {theirs:.12g} is re-proved, which was believed"
    return improvements


def _entry_for(file: Path) -> tuple[str, entries.Entry]:
    """Return the group and the entry of an instance file: the same instance, wherever it stands."""
    instance, whole = load(file), not companion_files(read_bytes(file))
    for name in groups():
        for entry in entries.entries(name):
            if entry.name != instance.name:
                continue
            if entries.digest(file) == entry.instance or (
                whole and entries.instance_of_entry(name, entry) == instance
            ):
                return name, entry
    raise InputError("an instance of the archive", found=quote(instance.name), file=str(file))
