"""Rows of a what-if, and the solves behind them on processes of their own."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from schedopt.instances.csv_text import guarded
from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import encode, parse, read_bytes, write_bytes
from schedopt.sweep.varying import Value, changed

FORMATS = (".jsonl", ".csv")


class Variation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One combination of values, solved.

    Attributes
    ----------
    instance, problem : str
    values : dict
        The value at each place.
    formulation, solver : str
    termination, solution_status : str
    objective, bound, gap : float or None
    numbers : dict of str to float
        What the solution says in single numbers, such as its demand.
    shares : dict
        Of a solution with shares: by grouping and group.
    violations, conflict : tuple of str
    message : str
    seconds : float
    key : str
        A digest of all that the row depends on.
    """

    instance: str
    problem: str
    values: dict[str, Value]
    formulation: str
    solver: str
    termination: str
    solution_status: str
    objective: float | None
    bound: float | None
    gap: float | None
    numbers: dict[str, float] = {}
    shares: dict[str, dict[str, float]] = {}
    violations: tuple[str, ...] = ()
    conflict: tuple[str, ...] = ()
    message: str = ""
    seconds: float = 0.0
    key: str = ""


@dataclass(frozen=True)
class Question:
    """What is solved: an instance and rules as files hold them, values, and how.

    Attributes
    ----------
    document : mapping
    rules : tuple
    values : mapping
    how : mapping
        Arguments of `schedopt.solve`.
    key : str
    """

    document: Mapping[str, Any]
    rules: tuple[Any, ...]
    values: Mapping[str, Value]
    how: Mapping[str, Any]
    key: str

    def read(self) -> tuple[Any, list[Any], dict[str, Value]]:
        """Return the instance, further rules and options, all of them read afresh.

        Raises
        ------
        InputError
            If a value is not right where it stands.
        """
        from schedopt.problems import problem_of
        from schedopt.verbs.constraints import rules_from

        own, more, options = changed(self.document, self.rules, self.values)
        instance = parse(encode(own))
        return instance, rules_from(encode(more), problem_of(instance).name), options


def answer(question: Question) -> Variation:
    """Solve one combination."""
    from schedopt.problems import problem_of
    from schedopt.verbs.solve import solve

    instance, rules, options = question.read()
    how = dict(question.how)
    given = {**how.pop("options", {}), **options}
    result = solve(instance, constraints=rules, options=given, **how)
    document = result.document()
    solution = document.solution
    shares = problem_of(instance).shares(result)
    return Variation(
        instance=document.instance,
        problem=document.problem,
        values=dict(question.values),
        formulation=str(document.formulation),
        solver=str(document.solver),
        termination=document.termination,
        solution_status=document.solution_status,
        objective=document.objective,
        bound=document.bound,
        gap=document.gap,
        numbers={
            name: float(value)
            for name, value in solution.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        },
        shares={by: dict(parts) for by, parts in shares.items()},
        violations=document.violations,
        conflict=document.conflict,
        message=str(document.message or ""),
        seconds=document.seconds.solve,
        key=question.key,
    )


def _leave_interrupts() -> None:
    """Leave Ctrl-C to the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def answers(questions: Sequence[Question], jobs: int) -> Iterator[Variation]:
    """Solve combinations, and yield each as it is known; on processes where there are several."""
    if jobs == 1 or len(questions) < 2:
        yield from map(answer, questions)
        return
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(
        min(jobs, len(questions)), mp_context=spawn, initializer=_leave_interrupts
    )
    try:
        futures: list[Future[Variation]] = [pool.submit(answer, one) for one in questions]
        for future in as_completed(futures):
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def read(path: Path) -> list[Variation]:
    """Read the rows of a what-if.

    Raises
    ------
    InputError
        If the file holds something else.
    """
    lines = [line for line in read_bytes(path).splitlines() if line.strip()]
    rows: list[Variation] = []
    for i, line in enumerate(lines):
        try:
            rows.append(msgspec.json.decode(line, type=Variation))
        except msgspec.MsgspecError as error:
            if rows and i == len(lines) - 1:
                break  # cut off when it was interrupted
            expected = "rows of a what-if"
            place = f"line {i + 1}"
            raise InputError(expected, found=str(error), place=place, file=str(path)) from None
    return rows


def is_variations(data: bytes) -> bool:
    """Tell whether a file of rows is of a what-if."""
    first = data.lstrip().split(b"\n", 1)[0]
    return first.startswith(b'{"instance"') and b'"values":{' in first


def table(rows: Sequence[Variation], ending: str) -> bytes:
    """Return rows as a file of them: JSON lines, or CSV with a column for each place and share.

    Raises
    ------
    InputError
        If the ending is another.
    """
    if ending == ".jsonl":
        return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
    if ending != ".csv":
        raise InputError(f"a name ending in {', '.join(FORMATS)}", found=shown(ending))
    flat = [_flat(row) for row in rows]
    heads = list(dict.fromkeys(name for row in flat for name in row))
    lines = [",".join(map(_cell, heads))]
    lines += [",".join(_cell(row.get(head)) for head in heads) for row in flat]
    return ("\r\n".join(lines) + "\r\n").encode()


def _flat(row: Variation) -> dict[str, Any]:
    return {
        "instance": row.instance,
        **row.values,
        "objective": row.objective,
        "bound": row.bound,
        "gap": row.gap,
        "termination": row.termination,
        "solution_status": row.solution_status,
        "seconds": row.seconds,
        **row.numbers,
        **{
            f"share {by} {group}": share
            for by, shares in row.shares.items()
            for group, share in shares.items()
        },
        "conflict": "; ".join(row.conflict),
        "message": row.message,
    }


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = guarded(value) if isinstance(value, str) else repr(value)
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if set(text) & set(',"\r\n') else text


def write(rows: Sequence[Variation], path: Path) -> None:
    """Write rows whole or not at all."""
    write_bytes(path, table(rows, path.suffix.lower()))
