"""Solve open and uncertified entries of the archive again, and keep improvements.

``python -m benchmarks.archive [GROUP ...]`` (``make archive-solve``) solves each of these instances
for up to a minute. A better solution is combined with the best known bound, and a better bound with
the best known solution. Optima without a certificate are confirmed by a second engine. Instances
never change.
"""

import hashlib
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import UNSET, structs

from schedopt import archive
from schedopt.archive import NEEDS_NONE, Entry, asking
from schedopt.instances import examples
from schedopt.instances.examples import groups, packed_group
from schedopt.instances.files import encode, write_bytes
from schedopt.problems import problem
from schedopt.solvers import portfolio
from schedopt.solvers.result import Document, Limits, better, gap, snap_bound
from schedopt.validation.documents import check, result_of
from schedopt.verbs.solve import CONFIRMED, solve, with_confirmation

SECONDS = 60.0
CLOSER = 1e-9
"""Relative margin by which an improvement must be better than the known value."""


def improve(group: str) -> None:
    """Solve the entries of a group that are not certified optima, and keep better results."""
    path = packed_group(group)
    files = {name: examples.read_packed(path, name) for name in examples.packed_names(path)}
    recorded = {entry.name: entry for entry in archive.entries(group)}
    try:
        for name, entry in recorded.items():
            if entry.status == "proven" and (entry.certificate or entry.confirmed_by):
                continue
            improved = solve_again(group, entry)
            if improved is not None:
                recorded[name], files[f"results/{name}.json"] = improved
            by = "" if improved or entry.status != "proven" else second_engine(group, entry)
            if by:
                recorded[name] = structs.replace(entry, confirmed_by=by)
            no_better = f"confirmed by {by}" if by else "no better than what is known"
            print(f"{name}: {'improved' if improved else no_better}")
    finally:
        files["entries.jsonl"] = b"".join(map(encode, recorded.values()))
        write_bytes(path, examples.pack(files))


def solve_again(group: str, entry: Entry) -> tuple[Entry, bytes] | None:
    """Solve an instance again; return its entry and result if the solution or bound improved."""
    instance, known = archive.instance_of_entry(group, entry), archive.document(group, entry)
    options = asking(entry.problem, entry.formulation, entry.options)
    result = solve(
        instance,
        formulation=entry.formulation,
        options=options,
        time_limit=SECONDS,
        threads=1,
        certificate=True,
    )
    found = structs.replace(result.document(), trace=())
    report = check(instance, found)
    if not report.whole:
        raise AssertionError(f"{entry.name}: {[*report.violations, *report.unjudged]}")
    has_better_bound = report.bound == "re-proved" and (
        not entry.certificate or _is_better(entry.sense, entry.bound, found.bound)
    )
    has_better_solution = _is_better(entry.sense, found.objective, entry.objective)
    if not (has_better_bound or has_better_solution):
        return None
    best = found if has_better_solution else known
    joined = _joined(best, found if has_better_bound else known)
    report = check(instance, joined)
    if not report.whole:
        raise AssertionError(f"{entry.name}: {[*report.violations, *report.unjudged]}")
    today = datetime.now(UTC).date().isoformat()
    provenance = archive.Provenance(by=str(result.solver), date=today, version=result.version)
    text = encode(joined)
    kind = str((joined.certificate or {}).get("kind", NEEDS_NONE))
    improved = structs.replace(
        entry,
        status="proven" if joined.proven else "open",
        objective=joined.objective,
        bound=joined.bound,
        gap=joined.gap,
        certificate=kind if report.bound == "re-proved" else "",
        objective_by=provenance if has_better_solution else entry.objective_by,
        bound_by=provenance if has_better_bound else entry.bound_by,
        result=hashlib.sha256(text).hexdigest(),
    )
    return improved, text


def second_engine(group: str, entry: Entry) -> str:
    """Return the name of a second engine that proves the same optimum, or an empty text."""
    kind = problem(entry.problem).formulation(entry.formulation)
    model = kind(archive.instance_of_entry(group, entry), **entry.options)
    known = result_of(archive.document(group, entry))
    other = portfolio.confirm(model, known, Limits(time_limit=SECONDS, threads=1))
    if other is None or not other.proven:
        return ""
    message = str(with_confirmation(structs.replace(known, message=UNSET), other).message)
    return message.removeprefix(f"{CONFIRMED} ") if message.startswith(CONFIRMED) else ""


def _is_better(sense: str, value: float | None, than: float | None) -> bool:
    """Return True if a value is better by more than rounding; any value is better than none."""
    if value is None or than is None:
        return value is not None
    far = abs(value - than) > CLOSER * abs(than)
    return far and better("maximize" if sense == "maximize" else "minimize", value, than)


def _joined(best: Document, bounded: Document) -> Document:
    """Return the solution of one result with the bound and the certificate of another."""
    bound = snap_bound(best.objective, bounded.bound)
    apart = gap(best.objective, bound)
    return structs.replace(
        best,
        solver=bounded.solver or best.solver,
        policy=UNSET,
        options=bounded.options,
        bound=bound,
        gap=apart,
        question=UNSET,
        certificate=bounded.certificate,
        bound_checked=bounded.bound_checked,
        solution_status="optimal" if apart == 0 else "feasible",
        termination="optimal" if apart == 0 else "completed",
        trace=(),
    )


def main(names: Sequence[str]) -> None:
    """Improve the named groups, or all groups."""
    for name in names or groups():
        improve(name)


if __name__ == "__main__":
    main(sys.argv[1:])
