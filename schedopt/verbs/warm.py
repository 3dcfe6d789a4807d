"""Warm: compile every kernel before it is needed, so that nobody's first solve waits for it."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from schedopt.instances.errors import InputError
from schedopt.instances.extras import need
from schedopt.instances.files import parse
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import Problem, problems
from schedopt.solvers.clock import compiling
from schedopt.solvers.compiling import always
from schedopt.verbs.evaluate import warm as warm_policy
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

SECONDS = 1.0  # how long each instance is solved; the clock stands still while kernels are compiled


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
        before = compiling.seconds()
        for run in runs:
            run()
            done += 1
            if progress:
                progress(done, total)
        found.append(Warmed(record.name, len(runs), compiling.seconds() - before))
    return found


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
