"""Check a result document: its consistency, and its solution and bound by the problem's checker."""

import importlib
import importlib.util
import time
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from math import isfinite
from operator import or_
from typing import Any, get_args

import msgspec
from msgspec import UNSET, Struct, structs

from schedopt.instances import extras, plugins
from schedopt.instances.constraints import Constraint, check_rules, label
from schedopt.instances.encoding import convert, to_json
from schedopt.instances.errors import InputError, at_place, listing, pick_name, quote
from schedopt.instances.files import PROBLEMS, module_path, parse
from schedopt.instances.protocol import identity
from schedopt.solvers.question import LazyQuestion, as_document
from schedopt.solvers.result import Details, Document, Outcome, Result
from schedopt.validation.report import OutOfTimeError, Refuted, Report, same


def check(
    instance: Any,
    result: Document,
    constraints: Sequence[Constraint] | None = None,
    seconds: float | None = None,
    always_checked: int = 2**20,
) -> Report:
    """Recompute a result from the raw instance, without a solver.

    Parameters
    ----------
    instance : Instance
    result : Document
    constraints : sequence of Constraint, optional
        Side constraints beyond the instance's; by default those in the document.
    seconds : float, optional
        Time limit. The report lists what could not be recomputed within it.
    always_checked : int
        Bytes of a solution up to which its check is started whatever time is left.

    Raises
    ------
    InputError
        If the document is of another instance, or cannot be read.
    """
    for place, ours in (
        ("problem", type(instance).__struct_config__.tag),
        ("instance", instance.name),
    ):
        if (theirs := getattr(result, place)) != ours:
            raise InputError(f"a result of {quote(ours)}", found=quote(theirs), place=place)
    checker = _checker_of(result.problem)
    report = Report(until=None if seconds is None else time.perf_counter() + seconds)
    own = list(instance.constraints)
    if constraints is None:
        added = convert(result.constraints, _constraint_types(result.problem), "constraints")
        check_rules(instance, added)
        together = _rules_to_judge(instance, result, [*own, *added], report)
    else:
        together = [*own, *constraints]
    sense = getattr(checker, "SENSE", result.sense)
    report.expect(result.sense == sense, f"sense: {result.sense}, where it is {sense}")
    _check_statuses(result, report, getattr(checker, "NEAR", 1e-9))
    _check_origin(result, report)
    result = structs.replace(result, options=_options_of(checker, instance, result, report))
    asked = not result.risk or bool(result.options.get("risk"))
    report.expect(asked, "risk, although the question has none")
    if result.termination == "infeasible":
        report.bound = f"believed, from {result.solver}"
        rules = {label(rule, i) for i, rule in enumerate(together)}
        for name in result.conflict:
            report.expect(name in rules, f"conflict: {quote(name)}, which is no side constraint")
        report.expect(result.certificate is UNSET, "a certificate, which cannot be re-proved")
    elif result.solution_status == "none":
        _judge_bound(instance, result, together, report)
    if result.solution_status != "none":
        began = time.perf_counter()
        text = to_json(result.solution)
        # A checker's ``OF_ENCODING`` is the time of a check as a multiple of that of encoding.
        needed = getattr(checker, "OF_ENCODING", 10.0) * (time.perf_counter() - began)
        if len(text) > always_checked and report.seconds_left < needed:
            return _without_time(result, report)
        solution = as_record(result, text)
        try:
            checker.check(instance, solution, result, together, report)
            _judge_bound(instance, result, together, report)
        except OverflowError:
            report.violations.append("numbers whose quotients exceed the range of doubles")
        except ModuleNotFoundError as error:
            report.unchecked.append(str(extras.missing_import(error)))
        except OutOfTimeError:
            return _without_time(result, report)
    return report


def _without_time(result: Document, report: Report) -> Report:
    """Return the report of a solution that was not checked because of the time limit."""
    report.late = True
    report.bound = "" if result.bound is None else f"believed, from {result.solver}"
    report.unchecked.append("the solution: no time was left; `schedopt check` has its own")
    return report


def _rules_to_judge(
    instance: Any, result: Document, rules: Sequence[Constraint], report: Report
) -> Sequence[Constraint]:
    """Return the side constraints to check; report if the result answers another question.

    These are the constraints of the file and of the question. It is a violation if the question is
    of this very file and lacks one of its constraints, or has one that contradicts the rest of the
    document. It is a difference if the question is of another file of this name, or has further
    constraints.
    """
    question = getattr(result, "question", UNSET)
    if not question:
        report.asked = False
        report.differences += _further(rules, instance.constraints)
        return rules
    formulation = result.formulation or None
    report.expect(
        question.formulation == formulation,
        f"question: of formulation {question.formulation}, where the result is of {formulation}",
    )
    report.expect(question.instance.name == instance.name, "question: of another instance")
    another = question.instance != identity(instance)
    if another:
        report.differences.append("another instance of this name: its digest is not the file's")
    asked: Sequence[Constraint] = convert(
        question.constraints, _constraint_types(result.problem), "question"
    )
    for rule in rules[len(instance.constraints) :]:
        report.expect(rule in asked, f"question: without {_called(rule)}, which was added")
    report.differences += _further(asked, instance.constraints)
    for rule in instance.constraints:
        if rule not in asked:
            without = f"without the file's {_called(rule)}"
            if another:
                report.differences.append(f"{without}, which is kept here")
            else:
                report.violations.append(f"question: {without}")
    together = [
        *instance.constraints,
        *(rule for rule in asked if rule not in instance.constraints),
    ]
    check_rules(structs.replace(instance, constraints=()), together)
    return together


def _check_origin(result: Document, report: Report) -> None:
    """Check that a result names a formulation, or a policy and no bound."""
    if result.formulation and result.policy:
        report.violations.append(
            f"of formulation {result.formulation} and of policy {result.policy}: it can be of one"
        )
    elif not result.formulation:
        report.expect(bool(result.policy), "neither a formulation nor a policy is named")
        report.expect(result.bound is None, "a bound, although a policy proves none")


def _options_of(checker: Any, instance: Any, result: Document, report: Report) -> dict[str, Any]:
    """Return the options that a result is judged by: those of its question, or their defaults.

    If the document repeats an option outside of its question with another value, that is a
    violation. Other options of a policy are not checked.
    """
    said = getattr(checker, "asks", None)  # a plug-in's problem may have no options
    asks: Mapping[str, Any] = said(instance, result.formulation or None) if said else {}
    options = result.options
    question = getattr(result, "question", UNSET)
    asked = question.options if question else options
    for key in asks:
        report.expect(
            asked.get(key) == options.get(key),
            f"question: {key}={asked.get(key)}, where the options say {options.get(key)}",
        )
    if result.formulation:  # else options of engines are allowed too
        others = () if question else getattr(checker, "ANSWERS", ())
        known = {key for other in others for key in (said(instance, other) if said else ())}
        for key in (asked.keys() if question else known & options.keys()) - asks.keys():
            report.violations.append(f"question: no option of {result.formulation} is {quote(key)}")
    stated = {key: asked.get(key, default) for key, default in asks.items()}
    report.settings += [f"{key}={value}" for key, value in stated.items() if value != asks[key]]
    return stated if result.formulation else {**options, **stated}


def _further(rules: Sequence[Constraint], own: Sequence[Constraint]) -> list[str]:
    """Return a line for each of the side constraints that the instance does not have."""
    return [f"an added {_called(rule)}" for rule in rules if rule not in own]


def _called(rule: Constraint) -> str:
    """Return the kind and the name of a side constraint."""
    return f"{rule.kind()} {quote(rule.name)}" if rule.name else str(rule.kind())


@cache
def _checker_of(problem: str) -> Any:
    return importlib.import_module(module_path("validation", problem))


def _constraint_types(problem: str) -> Any:
    """Return the type of the side constraints in a document, with the kinds of plug-ins."""
    more = [plugins.load(point) for point in plugins.of("constraints", problem).values()]
    own = _checker_of(problem).CONSTRAINTS
    union: Any = reduce(or_, more, get_args(own)[0])
    return tuple[union, ...] if more else own


@cache
def _prover_of(problem: str) -> Any:
    """Return the function that proves bounds of a problem again, or None.

    ``reprove(instance, constraints, certificate, claim)`` returns None if the claimed bound holds,
    or else a line that says why it does not follow.
    """
    name = f"{module_path('validation', problem)}.bound"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def _judge_bound(
    instance: Any, claim: Document, constraints: Sequence[Constraint], report: Report
) -> None:
    """Report whether the bound was proved again; a certificate that fails is a violation."""
    if claim.bound is None:
        return
    if not isfinite(claim.bound):
        report.bound = f"believed, from {claim.solver}"
        report.violations.append(f"bound: {claim.bound}, where a number is expected")
        return
    judge = _prover_of(claim.problem)
    unaided = getattr(judge, "UNAIDED", ())  # formulations whose bound needs no certificate
    claimed = claim.certificate is not UNSET
    if judge is None or not (claimed or claim.formulation in unaided):
        report.bound = f"believed, from {claim.solver}"
        report.expect(not claimed, f"a certificate, which cannot be re-proved for {claim.problem}")
        return
    if report.late and not claimed:
        report.bound = f"believed, from {claim.solver}"
        return
    wrong = _reprove(judge, instance, constraints, claim)
    report.bound = f"believed, from {claim.solver}" if wrong else "re-proved"
    if wrong and (claimed or isinstance(wrong, Refuted)):
        report.violations.append(f"bound: {wrong}")
    elif wrong:
        report.unchecked.append(f"bound: {wrong}")


def _reprove(
    judge: Any, instance: Any, constraints: Sequence[Constraint], claim: Document
) -> str | None:
    """Return None if the claim's certificate proves its bound, else the reason why it does not."""
    plain = _as_plain_json(claim)
    try:
        wrong: str | None = judge.reprove(instance, constraints, claim.certificate or {}, plain)
    except ArithmeticError as error:  # numbers of hundreds of digits exceed a float's range
        return f"the certificate cannot be evaluated: {error}"
    return wrong


def _as_plain_json(claim: Document) -> Document:
    """Return a document whose solution consists of JSON types."""
    if not isinstance(claim.solution, Struct):
        return claim
    return structs.replace(claim, solution=as_document(claim.solution))


def result_of(document: Document) -> Result[Any]:
    """Decode a document; `InputError` if a part cannot be decoded."""
    with at_place("problem"):
        pick_name(document.problem, PROBLEMS, "a problem")
    own = {name: getattr(document, name) for name in Outcome.__struct_fields__}
    few = {name: getattr(document, name) for name in Details.__struct_fields__}
    return Result(
        **own,
        details=Details(**few),
        asked=_asked_of(document),
        constraints=convert(
            document.constraints, _constraint_types(document.problem), "constraints"
        ),
        solution=as_record(document) if document.solution else None,
    )


def night_of(document: Document) -> Any | None:
    """Return the instance in a plan document; None for other documents."""
    if not document.night:
        return None
    with at_place("night"):
        return parse(bytes(document.night))


def _asked_of(document: Document) -> LazyQuestion | None:
    if not document.question:
        return None
    history = document.history or () if document.night else None
    return LazyQuestion.of_document(document.question, night_of(document), history)


def as_record(result: Document, text: bytes | None = None) -> Any:
    """Return a document's solution as the problem's record; `InputError` if it is none.

    ``text`` is its JSON if it is known already.
    """
    checker = _checker_of(result.problem)
    solution: Any = result.solution
    record = isinstance(solution, Struct)
    kind = type(solution) if record else checker.solution_type(solution)
    known_answers: Mapping[str, tuple[type, ...]] = getattr(checker, "ANSWERS", {})
    if result.formulation and known_answers and result.formulation not in known_answers:
        expected = listing(known_answers)
        found = quote(result.formulation)
        raise InputError(f"a formulation of {result.problem}{expected}", found=found)
    answers = known_answers.get(result.formulation or "", (kind,))
    raw = solution if text is None else msgspec.Raw(text)
    return convert(raw, kind if kind in answers else answers[0], "solution")


def _check_statuses(result: Document, report: Report, near: float) -> None:
    """Check that statuses, bound and gap agree; a gap up to ``near`` counts as closed."""
    objective, bound = result.objective, result.bound
    if result.solution_status == "none":
        report.expect(objective is None, "an objective without a solution")
        report.expect(not result.solution, "a solution although solution_status is none")
        report.expect(result.gap is None, "a gap without a solution")
    elif objective is None:
        report.violations.append("a solution without an objective")
    if result.termination in ("infeasible", "unbounded", "not-applicable", "unstable"):
        report.expect(result.solution_status == "none", f"a solution although {result.termination}")
    report.expect(
        result.solution_status != "optimal" or result.termination != "error",
        "called optimal although it ended in an error",
    )
    if result.conflict:
        report.expect(result.termination == "infeasible", "a conflict although not infeasible")
    if objective is None or bound is None:
        report.expect(result.gap is None, "a gap without an objective and a bound")
        report.expect(result.solution_status != "optimal", "called optimal without a bound")
        return
    beyond = bound < objective if result.sense == "maximize" else bound > objective
    report.expect(
        not beyond or same(bound, objective),
        f"the bound {bound:.12g} is on the wrong side of the objective {objective:.12g}",
    )
    gap = abs(objective - bound) / max(1e-10, abs(objective))
    report.expect(
        result.gap is not None and isfinite(gap) and abs(gap - result.gap) <= 1e-9 * (1 + gap),
        f"gap {result.gap} where |objective - bound| / |objective| is {gap:.12g}",
    )
    report.expect(
        result.solution_status != "optimal" or gap <= near,
        f"called optimal at a gap of {gap:.3g}",
    )
