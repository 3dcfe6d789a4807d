"""Warm: compile every kernel before it is needed, so that nobody's first solve waits for it."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from schedopt.instances.errors import InputError
from schedopt.instances.extras import need
from schedopt.instances.files import parse
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import Problem, problems
from schedopt.solvers.clock import compiling
from schedopt.solvers.compiling import always
from schedopt.solvers.stopping import ignored
from schedopt.sweep.starting import began, may_be_copied
from schedopt.verbs.evaluate import warm as warm_policy
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

SECONDS = 1.0  # how long each instance is solved; the clock stands still while kernels are compiled
MOST_MB = 350  # memory from which on another process goes on, where this one may be copied


class Warmed(msgspec.Struct, frozen=True):
    """What was compiled for one problem."""

    problem: str
    runs: int  # formulations, examples, generators and policies that were tried
    seconds: float  # what compiling, or loading what is compiled already, took


def warm(progress: Callable[[int, int], None] | None = None) -> list[Warmed]:
    """Compile the kernels of all problems, and keep them on disk.

    Each formulation solves a tiny instance, what is bundled or generated is solved for a second,
    and each policy runs once: whatever that compiles is there for every later process.

    Parameters
    ----------
    progress : callable, optional
        Called with runs done and in all.

    Returns
    -------
    list of Warmed
        One for each problem.
    """
    need("numba")
    always()
    plan = [(record, list(_runs(record))) for record in problems()]
    total, done = sum(len(runs) for _, runs in plan), 0
    found = []
    for record, runs in plan:
        spent, left, apart = 0.0, deque(runs), may_be_copied()
        while left:
            for seconds in _apart(tuple(left)) if apart else map(_timed, tuple(left)):
                left.popleft()
                spent += seconds
                done += 1
                if progress:
                    progress(done, total)
        found.append(Warmed(record.name, len(runs), spent))
    return found


def _timed(run: Callable[[], None]) -> float:
    before = compiling.seconds()
    run()
    return compiling.seconds() - before


def _apart(runs: Sequence[Callable[[], None]]) -> Iterator[float]:
    """Try some runs in a process of its own, with which the memory goes that compiling took."""
    process, line = began(partial(_serve, runs), copied=True)
    tried = False
    try:
        with suppress(EOFError):
            while True:
                yield line.recv()
                tried, compiling.tell = True, None  # the other process has said so
    finally:
        line.close()
        process.kill()
        process.join()
    if not tried:
        yield _timed(runs[0])  # which says why


def _serve(runs: Sequence[Callable[[], None]], line: Connection) -> None:
    from resource import RUSAGE_SELF, getrusage

    ignored()  # Ctrl-C is the parent's
    try:
        for run in runs:
            line.send(_timed(run))
            if getrusage(RUSAGE_SELF).ru_maxrss / 1024 > MOST_MB:
                break
    finally:
        os._exit(0)


def _runs(record: Problem) -> Iterator[Callable[[], None]]:
    from schedopt.instances.examples import examples

    for name in record.formulation_homes:
        yield partial(_tried, parse(record.tiny), name)
    for example in examples().values():
        if example.problem == record.name:
            yield partial(_tried, example.path)
    for name in record.generators():
        yield partial(_tried, generate(record.name, name))
    for name, options in record.warming:
        yield partial(_tried, generate(record.name, name, options=options))
    for policy in record.policies().values():
        yield partial(warm_policy, policy, parse(record.tiny))


def _tried(what: AnyInstance | Path, formulation: str | None = None) -> None:
    try:
        solve(what, formulation=formulation, time_limit=SECONDS, certificate=True)
    except InputError:
        return  # not every formulation takes every instance
