"""The verb solve: builds the formulation, solves it, and checks the result."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

from schedopt import __version__
from schedopt.instances.constraints import label
from schedopt.instances.errors import InputError, expect
from schedopt.instances.extras import report_missing_extras
from schedopt.instances.files import load
from schedopt.instances.options import Options, check_options, most_at_once
from schedopt.instances.protocol import AnyInstance, is_instance
from schedopt.problems import Problem, problem, problem_of
from schedopt.solvers import portfolio
from schedopt.solvers.clock import compiling, now
from schedopt.solvers.engine import LargeCertificateError, NoCertificateError
from schedopt.solvers.question import LazyQuestion, as_document
from schedopt.solvers.result import Details, Limits, Result, S, alarm, gap, with_alarm
from schedopt.solvers.running import remaining_limits
from schedopt.solvers.stopping import Event, Watch, stoppable, stoppable_by, stopped
from schedopt.verbs.load import Rules, read_rules

if TYPE_CHECKING:
    from schedopt.formulations.protocol import Formulation
    from schedopt.validation.report import Report

    What = AnyInstance | Formulation | str | Path

Stage = Callable[[Result, Limits], Result]
MODELS = (".lp", ".mps")  # endings of model files
LABEL = 200  # most characters of a label in a model file; LP files allow 255
AGREE = 1e-6  # relative difference within which the optima of two engines agree
NOTICED = 0.5  # seconds of compiling from which on the result reports them

CONFIRMED = "confirmed by"
"""The first words of the note that a second engine found the same optimum."""


@report_missing_extras()
def solve(
    what: Formulation[S] | AnyInstance | str | Path,
    *,
    formulation: str | None = None,
    solver: str | None = None,
    constraints: Rules = (),
    time_limit: float | None = None,
    gap: float = 0.0,
    threads: int | None = None,
    seed: int = 0,
    options: Options | None = None,
    risk: str | None = None,
    watch: Watch | None = None,
    stop: Event | None = None,
    certificate: bool = False,
    confirm: bool = False,
    explain: bool = False,
    start: Any | None = None,
) -> Result[S]:
    """Find the optimum of an instance or of a formulation, and check it.

    Parameters
    ----------
    what : Instance, Formulation, str or Path
        An instance, a formulation, or a file, which is loaded.
    formulation : str, optional
        The name of the formulation to build; by default the first of the problem.
    solver : str, optional
        The name of an engine, which then runs alone; by default the engines are tried in order.
    constraints : Constraint or path, or iterable of them
        Side constraints beyond those of the instance; a path is loaded.
    time_limit : float, optional
        Seconds for building, solving and checking, exceeded by at most a second or a tenth; the
        incumbent is kept. Reading files and compiling kernels are not counted. The search and each
        of ``confirm``, ``certificate`` and ``explain`` have equal shares of the limit.
    gap : float
        The relative gap at which the search stops; 0 asks for a proof.
    threads : int, optional
        The number of threads; by default the engine chooses.
    seed : int
        The random seed.
    options : mapping, optional
        Options of the formulation, such as ``fill``.
    risk : str, optional
        The objective over scenarios of uncertain run times: ``mean``, ``cvar:Q`` or ``chance:Q``.
        The option ``scenarios`` sets their number; they are drawn from the seed.
    watch : callable, optional
        Called with seconds, incumbent and bound while the solver runs. If it returns True or raises
        an exception, the run ends with the termination ``interrupted`` and keeps the incumbent.
    stop : threading.Event, optional
        Ends the run in the same way once another thread has set it.
    certificate : bool
        Whether to add a certificate of the bound, which the checker verifies.
    confirm : bool
        Whether to solve again by another engine. If the two disagree, nothing is optimal.
    explain : bool
        Whether to explain why jobs are left out and what side constraints cost, by further solves.
    start : solution record, optional
        A feasible solution to start from, such as the ``solution`` of a result.

    Returns
    -------
    Result
        Checked: ``violations`` is empty unless solver and checker disagree. The type of its
        ``solution`` is that of the formulation, such as ``Result[dssp.Selected]``.

    Raises
    ------
    InputError
        If a file, a name, an option or a limit is not valid.
    """
    _expect_limits(Limits(time_limit, gap, threads, seed))
    if isinstance(what, str | Path):
        what = load(what)  # does not count to the time limit
    with stoppable(), stoppable_by(stop, watch) as request:
        limits = Limits(time_limit, gap, threads, seed, request.watch)
        clock = _Clock(limits, confirm + certificate + explain)
        if risk is not None:
            options = {"risk": risk, "seed": seed, **(options or {})}
        model = build_formulation(what, formulation, options)
        model.add(*read_rules(constraints, model.problem, model.instance))
        record = problem(model.problem)
        if explain:
            record.expect_explained(model)
        result = clock.search(partial(_search, record, model, solver, start))
        if start is not None and not model.changed:
            result = _against_start(model, result, start)
        if confirm:
            result = clock.run_stage("confirm", result, partial(_confirm, model))
        why: list[str] = []
        if certificate:
            certify = partial(_certify, model, why, confirm=not confirm)
            result = clock.run_stage("certify", result, certify)
        if explain:
            explaining = partial(_explain, record, model)
            result = clock.run_stage("explain", result, explaining)
        result = msgspec.structs.replace(result, asked=_asked(model))
        result = _with_risk_out_of_sample(clock, model, result)
        result = clock.with_seconds(_judge(clock, model, result, why if certificate else None))
        return with_note(result, request.error)


def _search(
    record: Problem, model: Formulation, solver: str | None, start: Any | None, limits: Limits
) -> Result:
    """Solve a formulation; start from ``start`` or, if it is None, from a warm start if needed."""
    began = now()

    def warm_start() -> Any | None:
        left = remaining_limits(limits, began).time_limit
        return record.hint(model, left) if start is None else start

    quick = partial(record.fallback, model)
    return portfolio.solve(model, limits, solver=solver, start=warm_start, fallback=quick)


class _Clock:
    """The clock of a solve: the search and each further stage have equal shares of the limit."""

    def __init__(self, limits: Limits, beyond: int) -> None:
        self.limits, self._beyond = limits, beyond
        self._began, self._compiled = now(), compiling.seconds()
        self._spent: dict[str, float] = {}
        self._cut: list[str] = []

    def _limits_left(self) -> Limits:
        limit = self.limits.time_limit
        if limit is None:
            return self.limits
        remaining = max(0.0, limit - (now() - self._began))
        return replace(self.limits, time_limit=remaining / (1 + self._beyond))

    def seconds_to_check(self) -> float | None:
        """Return the seconds that the check may take, or None without a limit.

        A solve may exceed its time limit by a second or a tenth, whichever is more.
        """
        limit = self.limits.time_limit
        if stopped():
            return 1.0
        if limit is None:
            return None
        return max(0.25, limit + max(1.0, 0.1 * limit) - (now() - self._began))

    def search(self, search: Callable[[Limits], Result]) -> Result:
        """Return the result of the search; the formulation has been built."""
        built = now() - self._began
        result = search(self._limits_left())
        spent = now() - self._began
        build = min(max(built, result.seconds.build), spent)
        self._spent |= {"build": build, "solve": spent - build}
        with_limit = result.options | {"time_limit": self.limits.time_limit}
        return msgspec.structs.replace(result, options=with_limit)

    def run_stage(self, name: str, result: Result, stage: Stage) -> Result:
        """Return the result after a further stage, or as it was if the stage is interrupted."""
        began = now()
        self._beyond -= 1
        try:
            if not stopped():
                result = stage(result, self._limits_left())
        except KeyboardInterrupt:
            pass
        except InputError as refused:  # such as an engine that is not installed
            result = with_note(result, f"{name}: {refused}")
        if stopped():
            self._cut.append(name)
        self._spent[name] = now() - began
        return result

    def run_check(self, model: Formulation, result: Result) -> Result:
        """Return the checked result; a note says so if the check is interrupted."""
        began = now()
        try:
            result = with_report(result, _report(model, result, self.seconds_to_check()))
        except KeyboardInterrupt:
            result = with_note(result, "not checked: interrupted")
        self._spent["check"] = self._spent.get("check", 0.0) + now() - began
        return result

    def with_seconds(self, result: Result) -> Result:
        """Return the result with the seconds of each stage; other time counts to the search."""
        spent = self._spent
        spent["solve"] += max(0.0, now() - self._began - sum(spent.values()))
        compiled = compiling.seconds() - self._compiled
        more = {"compile": compiled} if compiled >= NOTICED else {}
        seconds = msgspec.structs.replace(result.seconds, **spent, **more)
        note = f"interrupted before the end of: {', '.join(self._cut)}" if self._cut else ""
        return with_note(msgspec.structs.replace(result, seconds=seconds), note)


def with_note(result: Result, *notes: str | msgspec.UnsetType) -> Result:
    """Return the result with notes added to its message."""
    said = [str(note) for note in (result.message, *notes) if note]
    return msgspec.structs.replace(result, message="; ".join(said) or msgspec.UNSET)


def _against_start(model: Formulation, result: Result, start: object) -> Result:
    """Return the result, or an alarm if a feasible start beats its bound."""
    claim = msgspec.structs.replace(
        result,
        termination="completed",
        solution_status="feasible",
        bound=None,
        gap=None,
        found_by="the start",
        solution=start,
        objective=model.instance.objective_of(start),
        details=Details(),
    )
    what = alarm(claim, result, getattr(model, "tolerance", 0.0))
    if not what or _report(model, claim, None).violations:
        return result
    return with_alarm(claim, what)


def _asked(model: Formulation) -> LazyQuestion:
    names = model.known_options
    asks = {key: value for key, value in model.options.items() if key in names and names[key].asks}
    return LazyQuestion(model.instance, model.name, asks, tuple(model.added))


def _with_risk_out_of_sample(clock: _Clock, model: Formulation, result: Result) -> Result:
    """Return the result with its value in new scenarios, if it was solved under risk.

    The value is omitted if the time limit was reached and too little time is left for them.
    """
    estimate = getattr(model, "estimate_risk", None)
    if estimate is None or result.solution is None:
        return result
    left = clock.seconds_to_check()
    if left is not None and result.termination in ("time-limit", "interrupted"):
        sample = getattr(model, "sample", None)
        if sample is not None and left < 2 * sample.seconds_to_judge:
            return with_note(result, "no value out of sample: the time limit was reached")
    return result.with_details(risk=estimate(result.solution) or msgspec.UNSET)


def _confirm(model: Formulation, result: Result, limits: Limits) -> Result:
    """Return a result confirmed by another method, if there is one."""
    return with_confirmation(result, portfolio.confirm(model, result, limits))


def _certify(
    model: Formulation,
    why: list[str],
    result: Result,
    limits: Limits,
    *,
    confirm: bool,
) -> Result:
    """Return the result with a certificate of its bound.

    If the certificate would be too large, a second engine confirms a proven optimum instead.
    """
    if result.bound is None:
        return result
    began = now()
    try:
        found = portfolio.certificate(model, result, limits)
    except NoCertificateError as reason:
        why.append(str(reason))
        if confirm and isinstance(reason, LargeCertificateError) and result.proven:
            return _confirm(model, result, remaining_limits(limits, began))
        return result
    return result.with_details(certificate=found or msgspec.UNSET)


def _judge(clock: _Clock, model: Formulation, result: Result, why: list[str] | None) -> Result:
    """Return the checked result; a certificate that does not prove the bound is removed."""
    answer, result = result, clock.run_check(model, result)
    if why is None or result.bound is None or result.bound_checked:
        return result
    if answer.certificate and not stopped():  # it does not prove the bound
        why += [v for v in result.violations if v.startswith("bound: ")]
        result = clock.run_check(model, answer.with_details(certificate=msgspec.UNSET))
        if result.bound_checked:
            return result
    reasons = f" ({'; '.join(why)})" if why else ""
    confirmed = any(note.startswith(CONFIRMED) for note in str(result.message).split("; "))
    believed = "" if confirmed else ": the bound is believed"
    return with_note(result, f"no certificate{reasons}{believed}")


def _explain(
    record: Problem,
    model: Formulation,
    result: Result,
    limits: Limits,
) -> Result:
    if result.solution is None:
        return with_note(result, "nothing to explain: there is no solution")
    explanation = record.explain(model, result, limits)
    note = ""
    if explanation.unproven:
        note = f"{explanation.unproven} of the prices are not proven; allow a longer time limit"
    return with_note(result.with_details(explanation=as_document(explanation)), note)


def with_confirmation(result: Result, other: Result | None) -> Result:
    """Return the result with a note on a second engine's; an error if the two disagree."""
    if other is None:
        return with_note(result, "not confirmed: there is no second method")
    summary = f"{other.solver}: {other.termination}, objective {other.objective}"
    if not (other.proven or other.termination == "infeasible"):
        return with_note(result, f"not confirmed: {summary} without a proof")
    if result.proven and other.proven:
        agree = gap(result.objective, other.objective) or 0.0
        if agree <= AGREE:
            return with_note(result, f"{CONFIRMED} {other.solver}")
    elif result.termination == other.termination == "infeasible":
        return with_note(result, f"{CONFIRMED} {other.solver}")
    elif not result.proven and result.termination != "infeasible":
        return result
    return with_alarm(result, f"two methods disagree: {summary}")


def with_report(result: Result, report: Report) -> Result:
    """Return the result with the findings of the checker; with violations it is not optimal."""
    missing = [*report.unchecked, *report.unjudged]
    faulty = report.violations and result.solution_status == "optimal"
    result = msgspec.structs.replace(
        result,
        solution_status="feasible" if faulty else result.solution_status,
        version={"schedopt": __version__, **result.version},
        checked=not missing,
        bound_checked=report.bound == "re-proved",
        violations=tuple(report.violations),
    )
    return with_note(result, *(f"not checked: {what}" for what in missing))


def _expect_limits(limits: Limits) -> None:
    limit, threads, most = limits.time_limit, limits.threads, most_at_once()
    seconds = limit is None or 0 <= limit < inf
    expect(seconds, "seconds, 0 or more, or none", limit, parameter="time_limit")
    expect(0 <= limits.gap < inf, "a number >= 0", limits.gap, parameter="gap")
    some = threads is None or 1 <= threads <= most
    expect(some, f"a number from 1 to {most}", threads, parameter="threads")
    whole = "a whole number from 0 to 2^31 - 1"
    expect(0 <= limits.seed < 2**31, whole, limits.seed, parameter="seed")


def build_formulation(what: What, formulation: str | None, options: Options | None) -> Formulation:
    """Return a formulation: the given one, or one built from an instance or a file."""
    if isinstance(what, str | Path):
        what = load(what)
    if is_instance(what):
        record = problem_of(what)
        kind = record.formulation(formulation or record.default_formulation(what))
        for key, instead in getattr(kind, "elsewhere", {}).items():
            if key in (options or {}):
                raise InputError(instead, found=kind.name, parameter=key)
        return kind(what, **check_options(options or {}, kind.known_options, kind.name))
    if formulation is not None or options:
        raise InputError("no formulation and no options, since the model is built already")
    return what


def _report(model: Formulation, result: Result, seconds: float | None) -> Report:
    """Return the checker's report, which lists native changes as not judged."""
    from schedopt.validation.documents import check

    declared = [*model.instance.constraints, *model.added]
    names = {label(constraint, i) for i, constraint in enumerate(declared)}
    conflict = result.conflict
    if model.changed:  # the checker does not know the names of native constraints
        conflict = tuple(name for name in conflict if name in names)
    judged = result.with_details(conflict=conflict)
    report = check(model.instance, judged.written(question=False), model.added, seconds)
    if model.changed and (result.solution or conflict != result.conflict):
        native = [name for name in model.side_constraints() if name not in names]
        what = f"native constraints {', '.join(native)}" if native else "native changes"
        report.unjudged.append(what)
    return report


def write_model(
    what: What,
    path: str | Path,
    *,
    formulation: str | None = None,
    constraints: Rules = (),
    options: Options | None = None,
) -> None:
    """Write a formulation in Pyomo as an LP or an MPS file.

    Columns and rows have the names of jobs and side constraints. Characters that the format does
    not allow become ``_``, and repeated names get a number. Numbers are rounded to doubles.

    Raises
    ------
    InputError
        If the formulation is not linear, or the file cannot be written.
    """
    path = Path(path)
    model = build_formulation(what, formulation, options)
    if model.engine != "pyomo":
        expected = "a linear formulation"
        raise InputError(expected, found=model.name, parameter="formulation")
    model.add(*read_rules(constraints, model.problem, model.instance))
    from pyomo.core.base.label import LPFileLabeler, ShortNameLabeler

    labeler = ShortNameLabeler(LABEL, "_", labeler=LPFileLabeler(), caseInsensitive=True)
    try:
        with TemporaryDirectory(dir=path.absolute().parent, prefix=".schedopt-") as folder:
            file = Path(folder) / f"model{path.suffix.lower()}"
            model.model.name = re.sub(r"[^A-Za-z0-9_.-]", "_", model.instance.name)[:LABEL]
            model.model.write(str(file), io_options={"labeler": labeler})
            file.replace(path)
    except OSError as error:
        raise InputError("a writable file", found=error.strerror, file=str(path)) from None
