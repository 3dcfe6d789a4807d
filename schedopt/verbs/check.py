"""The verb check: recomputes results from the raw instance, without a solver."""

from pathlib import Path
from typing import Any

from msgspec import UNSET

from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.files import TABLES, load, read_bytes
from schedopt.instances.protocol import AnyInstance, identity
from schedopt.planning.document import rest_of
from schedopt.solvers.result import Document, Result
from schedopt.validation.documents import check as judge
from schedopt.validation.documents import night_of, result_of
from schedopt.validation.report import Report
from schedopt.verbs.load import documents, is_list


def check(instance: AnyInstance, result: Any) -> Report:
    """Check a result against its instance.

    Parameters
    ----------
    instance : Instance, str or Path
        The instance; a path is loaded.
    result : Result, str or Path
        The result; a path is loaded.

    Returns
    -------
    Report
        ``ok`` is True if the result is valid; ``violations`` lists what is wrong.

    Raises
    ------
    InputError
        If a file cannot be read, or the result is of another instance.
    """
    if isinstance(instance, str | Path):
        instance = load(instance)
    if isinstance(result, Result):
        result = result.document()
    if isinstance(result, Document):
        return judged(instance, result)
    checks = [judged for _, judged in check_file(instance, result)]
    if len(checks) != 1:
        raise InputError("one result", found=f"a list of {len(checks)}", file=str(result))
    return checks[0]


def question_in_words(document: Document, report: Report) -> str:
    """Return the question of a result in words, and how it differs from the instance file."""
    what = document.formulation or f"policy {document.policy}"
    differences = question_differences(report)
    if not report.asked:
        return f"answers {what}; the document has no question to compare with the file"
    if not differences:
        return f"answers {what}, as the file stands"
    return f"answers {what} with {' and '.join(differences)}, not the file as it stands"


def question_differences(report: Report) -> list[str]:
    """Return how the question differs from the file: options, side constraints, digest."""
    return [*report.settings, *report.differences]


def verdict_in_words(document: Document, report: Report) -> str:
    """Return in words what is verified of a valid result, and what relies on the solver alone."""
    if document.termination == "infeasible":
        return f"no solution in hand: that there is none is {report.bound}"
    if document.solution_status == "none":
        return f"no solution to check ({document.termination})"
    if report.bound == "re-proved":
        return (
            f"holds ({document.solution_status}, objective {document.objective}); bound re-proved"
        )
    verdict = f"the solution holds (objective {document.objective})"
    if document.policy:
        return f"{verdict}; that the policy made it is believed"
    if document.solution_status == "optimal":
        hint = " (solve with a certificate to have it re-proved)"
        if document.seconds.certify is not UNSET:  # a certificate was asked for
            hint = " (no certificate could be made)"
        elif "believed" not in report.bound or document.risk:
            hint = ""
        return f"{verdict}; that it is optimal is {report.bound}{hint}"
    return f"{verdict}; bound {document.bound}: {report.bound}" if report.bound else verdict


def check_file(instance: AnyInstance | None, path: str | Path) -> list[tuple[Document, Report]]:
    """Check every result in a file, which holds one document or a list of them.

    Without an instance the file must be a plan document, which holds its own.
    """
    if str(path).lower().endswith(TABLES):
        expected = (
            "a result, as `schedopt solve --output result.json` writes it: a plan has no proof"
        )
        raise InputError(expected, found=quote(Path(path).name), file=str(path))
    data = read_bytes(path)
    checks = []
    for i, result in enumerate(documents(data, path)):
        with at_place(f"[{i}]" * is_list(data), path):
            checks.append((result, judged(instance, result)))
    return checks


def judged(instance: AnyInstance | None, document: Document) -> Report:
    """Return the report on a document; a replanned one is checked on the rest of its night."""
    night = night_of(document)
    if instance is None and night is None:
        expected = "a plan document, which holds its night; or the instance before the result"
        raise InputError(expected, found=f"a result of {quote(document.instance)} alone")
    if not document.history:
        return judge(instance or night, document)
    replanned = rest_of(result_of(document))
    assert replanned is not None  # noqa: S101  the document has a history
    rest, on_rest = replanned
    report = judge(rest.instance, on_rest.document())
    if instance is not None and identity(instance) != identity(night):
        report.differences.append("another instance of this name: its digest is not the file's")
    return report
