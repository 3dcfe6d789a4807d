"""Usage of earlier nights, carried over into fair shares of the next nights."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from schedopt.instances.constraints import Constraint, FairShare
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Scheduled, Selected, SelectedNight, SelectedNights
from schedopt.instances.dssp.clock import Clock
from schedopt.instances.errors import InputError, quote
from schedopt.instances.fair_share import weight
from schedopt.planning.document import PlanInHand
from schedopt.planning.history import machine_as_known
from schedopt.solvers.result import Result


@dataclass(frozen=True)
class Usage:
    """The capacity and the usage of one night."""

    capacity: Fraction
    demand: Fraction
    # For each grouping and group, the processor time that was used.
    groups: Mapping[str, Mapping[str, Fraction]]


def carry(
    results: Sequence[Result],
    rules: Sequence[Constraint],
    *,
    half_life: str | None,
    window: str | None,
) -> list[Constraint]:
    """Return fair shares that include the usage of earlier nights; results are in order of time.

    Without ``rules``, the fair shares of the last plan are carried: those of its night, and those
    that were added.
    """
    life, nights = _memory(half_life, window)
    used = [night for result in results for night in _nights_of(result)]
    if not used:
        raise InputError("results with a solution", found="none")
    last = results[-1]
    own = getattr(last.asked and last.asked.instance, "constraints", ())
    stated = [rule for rule in rules if isinstance(rule, FairShare)] or [
        rule for rule in (*own, *last.constraints) if isinstance(rule, FairShare)
    ]
    if not stated:
        expected = "a fair share, among the given constraints or in the last plan"
        raise InputError(expected, found="none")
    return [_with_past(rule, used, life, nights) for rule in stated]


def _memory(half_life: str | None, window: str | None) -> tuple[float | None, int | None]:
    """Return the half-life and the window, in nights; one of them is None."""
    if (half_life is None) == (window is None):
        raise InputError("either a half-life or a window")
    text = (half_life if window is None else window) or ""
    parameter = "half_life" if window is None else "window"
    try:
        nights = Clock(unit="d").length(text)
    except InputError:
        expected = "nights, such as 7 or 7d"
        raise InputError(expected, found=quote(text), parameter=parameter) from None
    if window is None:
        return nights, None
    if nights != int(nights) or nights < 1:
        raise InputError("whole nights, 1 or more", found=quote(text), parameter=parameter)
    return None, int(nights)


def _nights_of(result: Result) -> Iterator[Usage]:
    solution, asked = result.solution, result.asked
    if solution is None:
        raise InputError("results with a solution", found=f"{result.termination} without one")
    if asked is not None and asked.history is not None and isinstance(solution, Scheduled):
        yield _night_of_plan(result)
        return
    nights: list[tuple[Selected | SelectedNight, float]]
    if isinstance(solution, SelectedNights):
        nights = [(night, solution.capacity) for night in solution.nights]
    elif isinstance(solution, Selected):
        nights = [(solution, solution.capacity)]
    else:
        raise InputError("a result of dssp", found=f"a result of {result.problem}")
    for night, capacity in nights:
        groups = {
            by: {g: as_written(float(f"{share * capacity:.12g}")) for g, share in shares.items()}
            for by, shares in night.shares.items()
        }
        yield Usage(as_written(capacity), as_written(night.demand), groups)


def _night_of_plan(result: Result[Scheduled]) -> Usage:
    plan = PlanInHand.of(result)
    night_state = plan.night_state()
    night = machine_as_known(night_state)
    used, tasks = dict[str, Fraction](), plan.tasks()
    for job in night.jobs:
        spans = [(task.start, task.end) for task in tasks.get(job.name, {}).values()]
        spans += night_state.progress[job.name].failed
        lengths = (as_written(end) - as_written(start) for start, end in spans)
        used[job.name] = job.processors * sum(lengths, Fraction(0))
    groups = {
        by: {
            group: sum((used[night.jobs[j].name] for j in members), Fraction(0))
            for group, members in members_of.items()
        }
        for by, members_of in night.groups.items()
    }
    return Usage(night.exact_capacity(), sum(used.values(), Fraction(0)), groups)


def _with_past(
    rule: FairShare, used: Sequence[Usage], half_life: float | None, window: int | None
) -> FairShare:
    bounded = rule.at_most | rule.at_least
    past = dict.fromkeys(bounded, Fraction(0))  # also of groups without a job on a later night
    total = Fraction(0)
    for age, night in enumerate(reversed(used)):
        if window is not None and age >= window - 1:
            break
        counts = weight(age, half_life)
        total += counts * (night.demand if rule.of == "selected" else night.capacity)
        for group, amount in night.groups.get(rule.by, {}).items():
            past[group] = past.get(group, Fraction(0)) + counts * amount
    return msgspec.structs.replace(
        rule,
        past={group: float(amount) for group, amount in past.items() if amount or group in bounded},
        past_total=float(total),
        window=window,
        half_life=half_life,
    )


def with_past(
    rules: Sequence[Constraint], carried: Sequence[Constraint]
) -> tuple[list[Constraint], list[Constraint]]:
    """Return rules with the past of carried rules of the same name, and the other carried rules."""
    shares = {rule.name: rule for rule in carried if isinstance(rule, FairShare)}
    known = {rule.name for rule in rules if isinstance(rule, FairShare)}

    def remembering(rule: Constraint) -> Constraint:
        past = shares.get(rule.name)
        if past is None or not isinstance(rule, FairShare):
            return rule
        fields = ("past", "past_total", "window", "half_life")
        return msgspec.structs.replace(rule, **{key: getattr(past, key) for key in fields})

    return [*map(remembering, rules)], [rule for rule in carried if rule.name not in known]
