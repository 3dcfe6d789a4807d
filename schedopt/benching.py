"""Bench: every policy on every instance, against the solver's optimum or bound."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from instances.constraints import Constraint
from instances.errors import InputError, shown
from schedopt import sweeps
from schedopt.rows import Row, Rows
from schedopt.sweeps import Sweep

Progress = Callable[[int, int], None]
MOST_RESTARTS = 3


class BenchError(Exception):
    """Some instances could not be used; the others' rows are complete.

    Attributes
    ----------
    failures : list of str
        A line for each.
    rows : list of Row
        The rows of the others.
    """

    def __init__(self, failures: list[str], rows: list[Row]) -> None:
        self.failures, self.rows = failures, rows
        super().__init__("\n".join(failures))


def bench(
    paths: str | Path | Iterable[str | Path],
    *,
    policies: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    options: Mapping[str, Any] | None = None,
    constraints: Sequence[Constraint] = (),
    time_limit: float | None = None,
    jobs: int = 1,
    output: str | Path | None = None,
    progress: Progress | None = None,
) -> list[Row]:
    """Compare policies with the optimum on many instances.

    Parameters
    ----------
    paths : path or iterable of paths
        Instance files, and folders of them.
    policies : sequence of str, optional
        Names; all of the problem by default.
    seeds : sequence of int
        For policies that draw random numbers; the others run once, with the first.
    options : mapping, optional
        Policies and the formulation take those that they know.
    constraints : sequence of Constraint
        Side constraints beyond the instances' own.
    time_limit : float, optional
        Seconds for each reference; where it is not proven by then, its bound says how far it is.
    jobs : int
        Processes.
    output : path, optional
        A .jsonl, .csv or .parquet file. Rows that it holds already are not computed again.
    progress : callable, optional
        Called with instances done and in all.

    Returns
    -------
    list of Row
        By instance as given, then policy, then seed.

    Raises
    ------
    InputError
        If a path, a policy or an option is not right, or ``output`` holds other rows.
    BenchError
        If single instances cannot be used, when all the others are done.
    """
    if jobs < 1 or not seeds:
        raise InputError("one process and one seed at the least", place="jobs or seeds")
    sweep = Sweep(
        policies=tuple(policies) if policies else None,
        seeds=tuple(seeds),
        options=dict(options or {}),
        constraints=tuple(constraints),
        time_limit=time_limit,
    )
    files = sweeps.instance_files([paths] if isinstance(paths, str | Path) else paths)
    plan, failures = _planned(files, sweep)
    rows = Rows(output, [key for keys in plan.values() for key in keys])
    todo = {file: [key for key in keys if key not in rows] for file, keys in plan.items()}
    todo = {file: keys for file, keys in todo.items() if keys}
    done = len(plan) - len(todo)
    try:
        for file, outcome in _computed(todo, sweep, jobs):
            done += 1
            if isinstance(outcome, str):
                failures.append(outcome if str(file) in outcome else f"{file}: {outcome}")
            else:
                rows.extend(outcome)
            if progress:
                progress(done, len(plan))
    finally:
        finished = rows.finish()
    if failures:
        raise BenchError(failures, finished)
    return finished


def _planned(files: Sequence[Path], sweep: Sweep) -> tuple[dict[Path, list[str]], list[str]]:
    """Return each file's row keys, and a line for each file that is no instance."""
    plan: dict[Path, list[str]] = {}
    failures: list[str] = []
    for file in files:
        try:
            plan[file] = list(sweeps.keys(file, sweep))
        except InputError as error:
            if error.file is None:  # a policy or an option, wrong for all of them
                raise
            failures.append(str(error))
    return plan, failures


Outcome = list[Row] | str


def _computed(
    todo: Mapping[Path, list[str]], sweep: Sweep, jobs: int
) -> Iterator[tuple[Path, Outcome]]:
    """Yield each file's rows, or a line that says why there are none, as they are done."""
    if jobs == 1 or len(todo) == 1:
        for file, keys in todo.items():
            yield file, _attempt(file, sweep, keys)
        return
    left = dict(todo)
    for _ in range(MOST_RESTARTS):
        try:
            for file, outcome in _in_processes(left, sweep, min(jobs, len(left))):
                del left[file]
                yield file, outcome
        except BrokenProcessPool:
            continue  # a worker was killed; the others' rows are safe, the rest is tried again
        return
    for file in list(left):
        yield file, "its process was ended from outside, time and again"


def _in_processes(
    todo: Mapping[Path, list[str]], sweep: Sweep, jobs: int
) -> Iterator[tuple[Path, Outcome]]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=_settle_in) as pool:
        running = {pool.submit(_attempt, file, sweep, keys): file for file, keys in todo.items()}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        except BaseException:  # interrupted, broken, or no longer wanted
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise


def _settle_in() -> None:
    """Leave Ctrl-C to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _attempt(file: Path, sweep: Sweep, keys: list[str]) -> Outcome:
    try:
        return sweeps.rows(file, sweep, keys)
    except InputError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001  one instance must not end the others
        return f"{type(error).__name__}: {shown(str(error))}"
