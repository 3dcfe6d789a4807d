"""Verification of entries of the archive, without a solver."""

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import structs

from schedopt.archive import entries
from schedopt.instances import packed
from schedopt.instances.errors import InputError
from schedopt.instances.examples import packed_group
from schedopt.instances.tables import TextTable
from schedopt.problems import problem as record_of
from schedopt.solvers.result import Document, gap
from schedopt.validation.documents import as_record, check

NEEDS_NONE = "none needed"  # the certificate of entries whose bound the checker computes itself
NO_POLICIES = ("job", "best_wait", "best_makespan")  # columns of starts that are not of policies


@dataclass(frozen=True)
class Verdict:
    """The verdict on an entry."""

    group: str
    name: str
    status: str  # that of the entry, or ``confirmed`` or ``believed`` if it is not proved again
    bound: str  # ``re-proved``, ``confirmed by`` or ``believed, from`` an engine; empty if none
    wrong: list[str]  # a line for each error


def verify(group: str, entry: entries.Entry) -> Verdict:
    """Verify the digests, the solution, the bound and the numbers of an entry."""
    wrong: list[str] = []
    bound = ""
    try:
        recorded = ("instance", entry.instance), ("result", entry.result)
        for (what, digest), found in zip(recorded, entries.digests(group, entry), strict=True):
            if found != digest:
                wrong.append(f"the {what} is not that of the entry: it has another digest")
        result = entries.document(group, entry)
        expect_solution_of(entry, result)
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
    """Yield the errors in the table of an entry's starts, which has a column for each policy."""
    name = f"starts/{entry.name}.csv"
    if name not in packed.names(packed_group(group)):
        return
    path = packed.unpack(packed_group(group), name) / name
    policies = [title for title in TextTable.read(path).titles if title not in NO_POLICIES]
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
    wrong += [f"question: {what}" for what in other_question(entry, result)]
    kind = str((result.certificate or {}).get("kind", NEEDS_NONE))
    if entry.certificate not in ("", kind):
        wrong.append(f"certificate: {entry.certificate}, where the result has {kind}")
    if entry.certificate and bound != "re-proved":
        wrong.append(f"certificate: {entry.certificate}, where the bound is {bound or 'not given'}")
    return wrong


def other_question(entry: entries.Entry, result: Document) -> list[str]:
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


def expect_solution_of(entry: entries.Entry, result: Document) -> None:
    """Raise `InputError` unless a result's solution is one of the entry's formulation."""
    if (result.formulation or "") not in ("", entry.formulation):
        expected = f"a result of formulation {entry.formulation}"
        raise InputError(expected, found=repr(result.formulation))
    try:
        as_record(structs.replace(result, formulation=entry.formulation))
    except InputError as error:
        expected = f"a solution of formulation {entry.formulation}"
        raise InputError(expected, found=f"{error.place}: {error.problem}") from None
