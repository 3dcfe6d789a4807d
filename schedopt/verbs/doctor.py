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
from schedopt.instances.extras import EXTRAS, installed, missing, need, version_of
from schedopt.instances.files import parse
from schedopt.instances.plugins import KINDS, load, points
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import Problem, problems
from schedopt.solvers.clock import compiling
from schedopt.solvers.compiling import always
from schedopt.solvers.engine import resolve
from schedopt.verbs.evaluate import warm as warm_policy
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

BASE = ("numpy", "highspy", "pyomo", "msgspec", "typer", "rich")


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
        if here is not None:
            findings.append(Finding(package, True, here))
        elif package in BASE:
            findings.append(Finding(package, False, "not installed"))
        else:
            findings.append(Finding(package, None, f"opens {missing(package).expected}"))
    findings += [_plugged(point) for kind in KINDS for point in points(kind).values()]
    findings += [
        _tried(name, engine, 6.0)
        for name, engine in ENGINES.items()
        if all(map(installed, NEEDS.get(name, ())))
    ]
    return findings + (_warmed(progress) if warm else [])


def _warmed(progress: Callable[[int, int], None] | None) -> Findings:
    """Compile the kernels of all problems, which numba keeps on disk: solve and run all there is.

    Each formulation solves a tiny instance, what is bundled or generated is solved for a second,
    and each policy runs once.
    """
    need("numba")
    always()
    plan = [(record.name, list(_runs(record))) for record in problems()]
    total, done, findings = sum(len(runs) for _, runs in plan), 0, []
    for name, runs in plan:
        before = compiling.seconds()
        for run in runs:
            run()
            done += 1
            if progress:
                progress(done, total)
        spent = compiling.seconds() - before
        detail = f"compiled, or loaded, in {spent:.1f} s ({len(runs)} runs)"
        findings.append(Finding(f"kernels of {name}", True, detail))
    return findings


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


def _plugged(point: EntryPoint) -> Finding:
    """Return a plug-in's additions, or why it cannot be imported."""
    whose = f"{point.dist.name} {point.dist.version}" if point.dist else "unknown"
    try:
        load(point)
    except InputError as error:
        return Finding(f"plug-in {point.name}", False, str(error))
    return Finding(f"plug-in {point.name}", True, f"{point.group} of {whose}")


def _tried(name: str, engine: Callable[[], float], optimum: float) -> Finding:
    try:
        found = engine()
    except Exception as error:  # noqa: BLE001  whatever it is, it is the finding
        return Finding(f"engine {name}", False, f"{type(error).__name__}: {error}")
    right = abs(found - optimum) < 1e-6
    return Finding(f"engine {name}", right, f"optimum {found:g}, expected {optimum:g}")


def highs() -> float:
    """Solve max 5a + 3b + c, 3a + 3b + c <= 4 (binary) with HiGHS."""
    import highspy

    engine = highspy.Highs()
    engine.silent()
    a, b, c = (engine.addBinary() for _ in "abc")
    engine.addConstr(3 * a + 3 * b + c <= 4)
    engine.maximize(5 * a + 3 * b + c)
    return float(engine.getInfo().objective_function_value)


def core() -> float:
    """Solve the same with the exact knapsack algorithm."""
    Core = resolve("schedopt.solvers.dssp.selection.knapsack.search:Core")
    search = Core([5.0, 3.0, 1.0], [3.0, 3.0, 1.0], 4.0)
    search.advance(60.0)
    return float(search.value)


def cp_sat() -> float:
    """Solve the same with CP-SAT."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    a, b, c = (model.new_bool_var(name) for name in "abc")
    model.add(3 * a + 3 * b + c <= 4)
    model.maximize(5 * a + 3 * b + c)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.solve(model)
    return float(solver.objective_value)


def clarabel() -> float:
    """Solve max 2·sqrt(3x), x + y <= 3, y >= 0 with Clarabel through CVXPY: 2·3 = 6."""
    import cvxpy as cp

    x, y = cp.Variable(), cp.Variable(nonneg=True)
    problem = cp.Problem(cp.Maximize(2 * cp.sqrt(3 * x)), [x + y <= 3])
    problem.solve(solver=cp.CLARABEL)
    return round(float(problem.value), 6)


NEEDS = {"cp-sat": ("ortools",), "clarabel": ("cvxpy", "clarabel")}
ENGINES: dict[str, Callable[[], float]] = {
    "highs": highs,
    "core": core,
    "cp-sat": cp_sat,
    "clarabel": clarabel,
}
