"""The verb doctor: tests whether packages, plug-ins and engines are installed and work."""

import platform
from collections.abc import Iterator
from importlib.metadata import EntryPoint

import msgspec

from schedopt.instances.errors import InputError
from schedopt.instances.extras import EXTRAS, missing, version_of
from schedopt.instances.files import parse
from schedopt.instances.plugins import KINDS, load, points
from schedopt.problems import Problem, problems
from schedopt.solvers.portfolio import engines
from schedopt.verbs.solve import build_formulation, solve

BASE = ("numpy", "highspy", "pyomo", "msgspec", "typer", "rich")
NEAR = 1e-5  # relative difference within which the optima of two engines agree


class Finding(msgspec.Struct, frozen=True):
    """What was tested, whether it works (None if it is not installed), and details."""

    name: str
    ok: bool | None
    detail: str


def doctor() -> list[Finding]:
    """Return the versions of packages, and whether each engine solves a tiny model correctly."""
    findings = [Finding("python", True, platform.python_version())]
    for package in (*BASE, *EXTRAS):
        here = version_of(package)
        absent = "not installed" if package in BASE else f"opens {missing(package).expected}"
        ok = True if here is not None else False if package in BASE else None
        findings.append(Finding(package, ok, here or absent))
    findings += [_plugin_finding(point) for kind in KINDS for point in points(kind).values()]
    for record in problems():
        for formulation in record.formulation_names:
            findings += _engine_findings(record, formulation)
    return findings


def _plugin_finding(point: EntryPoint) -> Finding:
    """Return the finding on a plug-in: its additions, or the reason why the import fails."""
    whose = f"{point.dist.name} {point.dist.version}" if point.dist else "unknown"
    try:
        load(point)
    except InputError as error:
        return Finding(f"plug-in {point.name}", False, str(error))
    return Finding(f"plug-in {point.name}", True, f"{point.group} of {whose}")


def _engine_findings(record: Problem, formulation: str) -> Iterator[Finding]:
    """Yield whether each engine solves the problem's tiny instance with the same optimum."""
    tiny, optimum = parse(record.tiny), None
    try:
        model = build_formulation(tiny, formulation, None)
    except InputError:  # the formulation does not accept the instance
        return
    for engine in engines(record.name, formulation):
        if not (engine.available and engine.accepts(model)):
            continue
        name = f"engine {engine.name} of {formulation}"
        try:
            result = solve(tiny, formulation=formulation, solver=engine.name)
        except Exception as error:  # noqa: BLE001  whatever it is, it is the finding
            yield Finding(name, False, f"{type(error).__name__}: {error}")
            continue
        objective = result.objective
        optimum = objective if optimum is None and result.proven else optimum
        agrees = objective is not None and (
            optimum is None or abs(objective - optimum) <= NEAR * max(1.0, abs(optimum))
        )
        right = not result.violations and (agrees or not result.proven)
        yield Finding(name, right, f"objective {objective}, {result.termination}")
