"""Check: recompute results from the raw instance, without any solver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schedopt.instances.errors import InputError
from schedopt.instances.files import decode, load, read_bytes
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import problem
from schedopt.solvers.result import Document, Result
from schedopt.validation.report import Report


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
    found = [judged for _, judged in reports(instance, result)]
    if len(found) != 1:
        raise InputError("one result", found=f"a list of {len(found)}", file=str(result))
    return found[0]


def answered(document: Document, report: Report) -> str:
    """Return which question a result answers, in words, and how it differs from the file's own."""
    what = document.formulation or f"policy {document.policy}"
    told = differences(document, report)
    if not told:
        return f"answers {what}, as the file stands"
    return f"answers {what} with {' and '.join(told)}, not the file as it stands"


def differences(document: Document, report: Report) -> list[str]:
    """Return where a result's question is not the file's own: options, side constraints, digest."""
    if not document.formulation:
        return report.differences
    known = problem(document.problem).formulation(document.formulation).known_options
    asks = document.question.options if document.question else document.options
    own = {key: option.default for key, option in known.items() if option.asks and key in asks}
    options = [
        f"{key}={asks[key]}"
        for key, default in own.items()
        if default is not None and asks[key] != default
    ]
    return [*options, *report.differences]


def reports(instance: AnyInstance, path: str | Path) -> list[tuple[Document, Report]]:
    """Check every result in a file: one document, or the list that several policies make.

    Raises
    ------
    InputError
        If the file cannot be read, or a result is of another instance.
    """
    from schedopt.validation.documents import check as judge

    data = read_bytes(path)
    several = data.lstrip().startswith(b"[")
    documents: tuple[Document, ...] = (
        decode(data, tuple[Document, ...], file=str(path))
        if several
        else (decode(data, Document, file=str(path)),)
    )
    found = []
    for i, result in enumerate(documents):
        try:
            found.append((result, judge(instance, result)))
        except InputError as error:
            if several:
                error.within(f"[{i}]")
            error.file = str(path)
            raise
    return found
