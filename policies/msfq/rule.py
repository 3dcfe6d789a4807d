"""How an admission rule is written and registered: one decorator, beside the rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from instances.errors import InputError, listing, shown, suggestion
from instances.msfq import Instance, Simulated
from instances.options import Option, is_count
from policies.msfq.state import Job, State
from policies.registry import Policy, register

Choice = int | Job | None
"""What starts next: the head of a class, a job, or nothing."""

ARRIVALS, PLAIN_ARRIVALS = 1_000_000, 50_000
"""Jobs of a simulation: of a rule with a compiled twin, and of one in plain Python."""


class Rule:
    """An admission rule with a memory or options: a fresh one is made for each simulation.

    It is made from the instance and the rule's options, and is asked after each arrival and each
    completion, over and over until it says None. A rule without either is a plain function of the
    state.

    Attributes
    ----------
    memory, numbers : sequence of int, sequence of float
        What the compiled twin begins with, if there is one.
    holding : sequence of float
        Where a rule goes round by a clock: for how long on average, by the value of ``turn``.
        Whoever simulates moves the turn on.
    threshold : int or None
        What a result document tells of the rule.
    """

    memory: Sequence[int] = ()
    numbers: Sequence[float] = ()
    holding: Sequence[float] = ()
    turn: int = 0
    threshold: int | None = None

    def __call__(self, state: State) -> Choice:
        """Return what starts next: the head of a class, a job, or nothing."""
        raise NotImplementedError


class _Function(Rule):
    """A rule that is a function of the state."""

    def __init__(self, function: Callable[[State], Choice]) -> None:
        self._function = function

    def __call__(self, state: State) -> Choice:
        return self._function(state)


@dataclass(frozen=True)
class Twin:
    """Where the compiled twin of a rule is: functions of flat arrays that numba can compile.

    Attributes
    ----------
    module : str
        The module that holds them, which is not imported before something is simulated.
    next_start : str
        The rule: see `admission_kernels`.
    after_arrival : str
        A shortcut that says what an arrival alone may start; none if empty.
    phases : bool
        Whether the phases of MSFQ (section 4.2) are noted.
    """

    module: str
    next_start: str
    after_arrival: str = ""
    phases: bool = False


@dataclass(frozen=True)
class Plan:
    """A rule that is set up for an instance.

    Attributes
    ----------
    name : str
        The policy's name.
    make : callable
        Makes the rule, with nothing in its memory.
    twin : Twin or None
        Its compiled twin.
    """

    name: str
    make: Callable[[], Rule]
    twin: Twin | None = None


@dataclass(frozen=True)
class _Registered:
    make: Callable[..., Rule]
    twin: Twin | None


_RULES: dict[str, _Registered] = {}

R = TypeVar("R", bound=Callable[..., Any])


def admission_rule(
    name: str, *, source: str, summary: str, twin: Twin | None = None, **options: Option
) -> Callable[[R], R]:
    """Register an admission rule as a policy: simulated, it can be evaluated and benched.

    Parameters
    ----------
    name : str
        The policy's name.
    source : str
        Where it is defined: paper and section, or book.
    summary : str
        What it does, in a line.
    twin : Twin, optional
        The same rule compiled. Without one the rule is run in plain Python, some hundred times as
        slow, and so with fewer arrivals.
    **options : Option
        The rule's own options.

    Returns
    -------
    callable
        Takes the rule: a function of the `State`, or a subclass of `Rule` that is made from the
        instance and the options.
    """
    known = {**options, **_common(twin)}
    if twin is None:
        summary = f"{summary} (in plain Python)"

    def decorate(rule: R) -> R:
        make = rule if isinstance(rule, type) else _without_options(rule)
        register(
            Policy(
                name=name,
                problem="msfq",
                run=partial(_run, name),
                source=source,
                summary=summary,
                options=known,
                random=True,
            )
        )
        _RULES[name] = _Registered(make, twin)
        return rule

    return decorate


def _without_options(function: Callable[[State], Choice]) -> Callable[[Instance], Rule]:
    return lambda _queue: _Function(function)


def _common(twin: Twin | None) -> dict[str, Option]:
    """Return the options that every simulated policy has."""
    found = {
        "arrivals": Option(
            ARRIVALS if twin else PLAIN_ARRIVALS,
            "a whole number from 1000 to 10^11",
            lambda v: is_count(v) and 1000 <= v <= 10**11,
        ),
        "trace": Option(
            None,
            "a file of arrivals: .csv (time, need, size) or .swf",
            lambda v: isinstance(v, str),
        ),
    }
    if twin is None:
        found["estimates"] = Option(
            "none",
            "none, or exact: rules then know how long each job takes",
            lambda v: v in ("none", "exact"),
        )
    return found


def rules() -> Mapping[str, Twin | None]:
    """Return all registered rules by name, with their twins."""
    return {name: rule.twin for name, rule in _RULES.items()}


def plan(queue: Instance, name: str, **options: Any) -> Plan:
    """Set a rule up for an instance.

    Parameters
    ----------
    queue : Instance
        Servers and classes.
    name : str
        A registered rule.
    **options
        The rule's own.

    Raises
    ------
    InputError
        If there is no such rule, or an option is not right.
    NotApplicableError
        If the rule is not for such an instance.
    """
    if name not in _RULES:
        hint = suggestion(name, _RULES) or listing(_RULES)
        raise InputError(f"an admission rule{hint}", found=shown(name))
    found = _RULES[name]
    make = partial(found.make, queue, **options)
    make()  # so that what is wrong is said now
    return Plan(name, make, found.twin)


def _run(
    name: str,
    queue: Instance,
    *,
    seed: int = 0,
    arrivals: int | None = None,
    trace: str | None = None,
    estimates: str = "none",
    **own: Any,
) -> Simulated:
    from policies.msfq.evaluation import evaluated

    chosen = plan(queue, name, **own)
    if arrivals is None:
        arrivals = ARRIVALS if chosen.twin else PLAIN_ARRIVALS
    return evaluated(
        queue, chosen, seed=seed, arrivals=arrivals, trace=trace, estimates=estimates == "exact"
    )
