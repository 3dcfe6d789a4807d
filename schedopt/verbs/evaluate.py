"""The verb evaluate: runs policies on an instance, and checks their solutions."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

import msgspec

from schedopt import __version__
from schedopt.instances.constraints import Constraint, check_rules
from schedopt.instances.errors import InputError, quote
from schedopt.instances.extras import report_missing_extras
from schedopt.instances.files import load
from schedopt.instances.options import Options, check_options
from schedopt.instances.protocol import AnyInstance
from schedopt.policies import from_file
from schedopt.policies.registry import (
    NotApplicableError,
    Policy,
    UnstableError,
)
from schedopt.problems import problem as record_of
from schedopt.problems import problem_of
from schedopt.solvers.clock import now
from schedopt.solvers.question import LazyQuestion
from schedopt.solvers.result import Result, Seconds, Termination
from schedopt.solvers.stopping import stoppable, stopped
from schedopt.validation.documents import check
from schedopt.verbs.load import Rules, read_rules
from schedopt.verbs.solve import with_note, with_report


class _How(TypedDict, total=False):
    """The keyword arguments of `evaluate`."""

    options: Options | None
    seed: int
    constraints: Rules
    policy_files: Iterable[str | Path]


@overload
def evaluate(what: Any, policy: str, **how: Unpack[_How]) -> Result: ...


@overload
def evaluate(what: Any, policy: Iterable[str], **how: Unpack[_How]) -> list[Result]: ...


@report_missing_extras()
def evaluate(
    what: Any,
    policy: str | Iterable[str],
    *,
    options: Options | None = None,
    seed: int = 0,
    constraints: Rules = (),
    policy_files: Iterable[str | Path] = (),
) -> Result | list[Result]:
    """Run one policy or several on an instance.

    Parameters
    ----------
    what : Instance, str or Path
        The instance; a path is loaded.
    policy : str or iterable of str
        The name of a policy, or several names.
    options : mapping, optional
        Options of the policies; each policy gets those that it has.
    seed : int
        The random seed of policies that draw random numbers.
    constraints : Constraint or path, or iterable of them
        Side constraints beyond the instance's. Policies ignore side constraints; the result's
        ``violations`` list the violated ones.
    policy_files : iterable of paths
        Python files that register policies; they are run.

    Returns
    -------
    Result or list of Result
        A result for one name, a list for several.

    Raises
    ------
    InputError
        If a policy or an option is unknown, or the value of an option is not valid.
    """
    for path in policy_files:
        from_file.load(from_file.read(path))
    if isinstance(what, str | Path):
        what = load(what)
    names = [policy] if isinstance(policy, str) else list(policy)
    added = read_rules(constraints, problem_of(what).name, what)
    check_rules(what, added)
    chosen = [problem_of(what).policy(name, added) for name in names]
    together = {key: option for each in chosen for key, option in each.options.items()}
    check_options(options or {}, together, ", ".join(each.name for each in chosen))
    expect_one_writer(chosen, options or {})
    results: list[Result] = []
    with stoppable():
        for one in chosen:
            results.append(_evaluated(what, one, options or {}, added, seed))
            if stopped() or results[-1].termination == "interrupted":
                break
    return results[0] if isinstance(policy, str) else results


def expect_one_writer(policies: Sequence[Policy], options: Options, instances: int = 1) -> None:
    """Raise `InputError` if several runs would write the same file."""
    for key, value in options.items():
        runs = instances * sum(key in p.options and p.options[key].written for p in policies)
        if runs > 1:
            expected = f"one policy on one instance: {runs} runs would write {quote(value)}"
            raise InputError(expected, place=f"option {key}")


def _evaluated(
    instance: AnyInstance,
    policy: Policy,
    options: Options,
    constraints: list[Constraint],
    seed: int,
) -> Result:
    record = record_of(policy.problem)
    own = {key: value for key, value in options.items() if key in policy.options}
    settings = {key: option.default for key, option in policy.options.items()} | own
    result = Result(
        instance=instance.name,
        problem=policy.problem,
        policy=policy.name,
        version={"schedopt": __version__},
        termination="not-applicable",
        solution_status="none",
        sense=record.sense,
        seed=seed,
        options=settings,
        constraints=tuple(constraints),
    )
    try:
        began = now()
        solution = policy.run(instance, **own, **({"seed": seed} if policy.random else {}))
    except KeyboardInterrupt:
        return msgspec.structs.replace(result, termination="interrupted")
    except NotApplicableError as reason:
        ended: Termination = "unstable" if isinstance(reason, UnstableError) else "not-applicable"
        return msgspec.structs.replace(result, termination=ended, message=str(reason))
    seconds = Seconds(solve=now() - began)
    options = record.settings(instance, settings)
    asks = {  # the name of an output file does not change the question
        key: value
        for key, value in options.items()
        if (option := policy.options.get(key)) and option.asks and not option.written
    }
    result = msgspec.structs.replace(
        result,
        asked=LazyQuestion(instance, None, asks, tuple(constraints)),
        options=options,
        termination="completed",
        solution_status="feasible",
        objective=instance.objective_of(solution),
        seconds=seconds,
        solution=solution,
    )
    if not record.measures(result):  # the objective of a replayed log is exact
        sure = getattr(solution, "confidence", msgspec.UNSET)
        result = msgspec.structs.replace(result, confidence=sure)
    return with_note(_check_result(instance, result, constraints), getattr(solution, "note", ""))


def _check_result(
    instance: AnyInstance, result: Result, constraints: Sequence[Constraint]
) -> Result:
    began = now()
    try:
        report = check(instance, result.written(question=False), constraints)
    except KeyboardInterrupt:
        result = msgspec.structs.replace(result, termination="interrupted")
        return with_note(result, "not checked: interrupted")
    seconds = msgspec.structs.replace(result.seconds, check=now() - began)
    return msgspec.structs.replace(with_report(result, report), seconds=seconds)
