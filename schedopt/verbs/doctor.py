"""Doctor: whether Python, the packages and the engines are there and work."""

import platform
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec

from schedopt.instances.errors import InputError
from schedopt.instances.examples import examples
from schedopt.instances.extras import EXTRAS, missing, need, version_of
from schedopt.instances.files import parse
from schedopt.instances.plugins import KINDS, load, points
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import Problem, problems
from schedopt.solvers.clock import compiling
from schedopt.solvers.compiling import always
from schedopt.verbs.evaluate import warm as warm_policy
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import build_formulation, solve

BASE = ("numpy", "highspy", "pyomo", "msgspec", "typer", "rich")
NEAR = 1e-5  # relative difference of optima that engines of different tolerances may find


class Finding(msgspec.Struct, frozen=True):
    """What was examined, whether it works (None if absent), and what was seen."""

    name: str
    ok: bool | None
    detail: str


Findings = list[Finding]


def doctor(*, warm: bool = False, progress: Callable[[int, int], None] | None = None) -> Findings:
    """Say versions, and whether each solver loads and solves a tiny model right.

    Parameters
    ----------
    warm : bool
        Compile every kernel now, so that no first solve waits for it; once for each version.
    progress : callable, optional
        Called with runs of kernels done and in all.

    Returns
    -------
    list of Finding
    """
    findings = [Finding("python", True, platform.python_version())]
    for package in (*BASE, *EXTRAS):
        here = version_of(package)
        absent = "not installed" if package in BASE else f"opens {missing(package).expected}"
        ok = True if here is not None else False if package in BASE else None
        findings.append(Finding(package, ok, here or absent))
    findings += [_plugged(point) for kind in KINDS for point in points(kind).values()]
    for record in problems():
        for formulation in record.formulation_homes:
            findings += _tried(record, formulation)
    return findings + ([_warmed(progress)] if warm else [])


def _plugged(point: EntryPoint) -> Finding:
    """Return a plug-in's additions, or why it cannot be imported."""
    whose = f"{point.dist.name} {point.dist.version}" if point.dist else "unknown"
    try:
        load(point)
    except InputError as error:
        return Finding(f"plug-in {point.name}", False, str(error))
    return Finding(f"plug-in {point.name}", True, f"{point.group} of {whose}")


def _tried(record: Problem, formulation: str) -> Iterator[Finding]:
    """Yield whether each engine solves the problem's tiny instance, as the others do."""
    tiny, optimum = parse(record.tiny), None
    try:
        model = build_formulation(tiny, formulation, None)
    except InputError:  # not every formulation takes every instance
        return
    for engine in record.engines(formulation):
        if not (engine.available and engine.accepts(model)):
            continue
        name = f"engine {engine.name} of {formulation}"
        try:
            result = solve(tiny, formulation=formulation, solver=engine.name)
        except Exception as error:  # noqa: BLE001  whatever it is, it is the finding
            yield Finding(name, False, f"{type(error).__name__}: {error}")
            continue
        found = result.objective
        optimum = found if optimum is None and result.proven else optimum
        agrees = found is not None and (
            optimum is None or abs(found - optimum) <= NEAR * max(1.0, abs(optimum))
        )
        right = not result.violations and (agrees or not result.proven)
        yield Finding(name, right, f"objective {found}, {result.termination}")


def _warmed(progress: Callable[[int, int], None] | None) -> Finding:
    """Compile the kernels of all problems, which numba keeps on disk: solve and run all there is.

    Each formulation solves a tiny instance, what is bundled or generated is solved for a second,
    and each policy runs once.
    """
    need("numba")
    always()
    runs, before = [run for record in problems() for run in _runs(record)], compiling.seconds()
    for done, run in enumerate(runs, start=1):
        run()
        if progress:
            progress(done, len(runs))
    spent = compiling.seconds() - before
    return Finding("kernels", True, f"compiled, or loaded, in {spent:.1f} s ({len(runs)} runs)")


def _runs(record: Problem) -> Iterator[Callable[[], None]]:
    tiny = parse(record.tiny)
    for name in record.formulation_homes:
        yield partial(_solve, tiny, name)
    for example in examples().values():
        if example.problem == record.name:
            yield partial(_solve, example.path)
    for name, options in [*((name, {}) for name in record.generators()), *record.warming]:
        yield partial(_solve, generate(record.name, name, options=options))
    for policy in record.policies().values():
        yield partial(warm_policy, policy, tiny)


def _solve(what: AnyInstance | Path, formulation: str | None = None) -> None:
    with suppress(InputError):  # not every formulation takes every instance
        solve(what, formulation=formulation, time_limit=1.0, certificate=True)
