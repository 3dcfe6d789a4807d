"""Check: recompute results from the raw instance, without any solver."""

from pathlib import Path
from typing import Any

from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.files import TABLES, load, read_bytes
from schedopt.instances.protocol import AnyInstance
from schedopt.solvers.result import Document, Result
from schedopt.validation.report import Report
from schedopt.verbs.load import documents, is_list


def check(instance: AnyInstance, result: Any) -> Report:
    """Check a result against its instance.

    Parameters
    ----------
    instance : Instance, str or Path
        What was solved.
    result : Result, str or Path
        The result, or a file of one.

    Returns
    -------
    Report
        ``ok``, and what is wrong in ``violations``.

    Raises
    ------
    InputError
        If a file cannot be read, or the result is of another instance.
    """
    from schedopt.validation.documents import check as judge

    if isinstance(instance, str | Path):
        instance = load(instance)
    if isinstance(result, Result):
        result = result.document()
    if isinstance(result, Document):
        return judge(instance, result)
    checks = [judged for _, judged in check_file(instance, result)]
    if len(checks) != 1:
        raise InputError("one result", found=f"a list of {len(checks)}", file=str(result))
    return checks[0]


def question_differences(report: Report) -> list[str]:
    """Return where a result's question is not the file's own: options, side constraints, digest."""
    return [*report.settings, *report.differences]


def check_file(instance: AnyInstance, path: str | Path) -> list[tuple[Document, Report]]:
    """Check every result in a file: one document, or the list that several policies make."""
    from schedopt.validation.documents import check as judge

    if str(path).lower().endswith(TABLES):
        expected = (
            "a result, as `schedopt solve --output result.json` writes it: a plan has no proof"
        )
        raise InputError(expected, found=quote(Path(path).name), file=str(path))
    data = read_bytes(path)
    checks = []
    for i, result in enumerate(documents(data, path)):
        with at_place(f"[{i}]" * is_list(data), path):
            checks.append((result, judge(instance, result)))
    return checks
