"""The decorator that registers an admission rule as a policy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from schedopt.instances.errors import InputError, listing, shown, suggestion
from schedopt.instances.msfq import Expected, Instance, Replayed, Simulated
from schedopt.instances.msfq.logs import Floats
from schedopt.instances.options import Option, is_count
from schedopt.policies.msfq.logs.measures import SLOWDOWN_BOUND
from schedopt.policies.msfq.logs.registration import OPTIONS as LOG_OPTIONS
from schedopt.policies.msfq.rule import Choice, FlatRule, Plan, Rule, State, Watch
from schedopt.policies.registry import Policy, Suits, register
from schedopt.solvers.compiling import COMPILES

FEWEST_ARRIVALS, PLAIN_ARRIVALS = 1000, 50_000
ARRIVALS = 1_000_000 if COMPILES else PLAIN_ARRIVALS
"""Arrivals of a simulation: the least, and the defaults in plain Python and compiled."""
MOST_REPLICATIONS = 1000


TIMES = Option(
    None,
    "exact or simulated; exact where left out, if it is quick and no arrivals are asked for",
    lambda v: v in ("exact", "simulated"),
)


class _FunctionRule(Rule):
    """A rule given as a function of the state."""

    def __init__(self, function: Callable[[State], Choice]) -> None:
        self._function = function

    def __call__(self, state: State) -> Choice:
        return self._function(state)


Solved = Callable[[Instance, bool], Expected | None]
"""``solved(queue, required)``: exact times; unless required, None if simulating is better."""


@dataclass(frozen=True)
class _RegisteredRule:
    make: Callable[..., Rule]
    flat: bool
    solved: Solved | None = None


_RULES: dict[str, _RegisteredRule] = {}

R = TypeVar("R", bound=Callable[..., Any])


def admission_rule(
    name: str,
    *,
    source: str,
    summary: str,
    flat: bool = False,
    solved: Solved | None = None,
    suits: Suits = "",
    **options: Option,
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
    flat : bool
        Whether the rule is a function of flat arrays (see `FlatState`), which is compiled. One of
        the `State` is run in plain Python, some hundred times as slow, and so with fewer arrivals.
    solved : callable, optional
        What the rule gets exactly, of an instance, where that can be had without simulating.
    suits : {"", "alone", "beside"}
        ``alone`` for a rule that is of no use on a log.
    **options : Option
        The rule's own options.

    Returns
    -------
    callable
        Takes the rule: a function, or a subclass of `Rule` or `FlatRule` that is made from the
        instance and the options.
    """

    def decorate(rule: R) -> R:
        is_flat = issubclass(rule, FlatRule) if isinstance(rule, type) else flat
        make = rule if isinstance(rule, type) else _rule_of(rule, flat)
        times = {} if solved is None else {"times": TIMES}
        register(
            Policy(
                name=name,
                problem="msfq",
                run=partial(_run, name),
                source=source,
                summary=summary if is_flat else f"{summary} (in plain Python)",
                options={**options, **times, **_common_options(is_flat)},
                random=True,
                replays=("beside", "trace"),
                parallel=True,
                trial={"arrivals": FEWEST_ARRIVALS},
                suits=suits,
            )
        )
        _RULES[name] = _RegisteredRule(make, is_flat, solved)
        return rule

    return decorate


def _rule_of(function: Callable[..., Any], flat: bool) -> Callable[[Instance], Rule]:
    """Return what makes a rule of a function: of flat arrays, or of the state."""
    return lambda queue: FlatRule(queue, function) if flat else _FunctionRule(function)


def _common_options(flat: bool) -> dict[str, Option]:
    """Return the options that every simulated policy has."""
    options = {
        "arrivals": Option(
            ARRIVALS if flat else PLAIN_ARRIVALS,
            "a whole number from 1000 to 10^11",
            lambda v: is_count(v) and FEWEST_ARRIVALS <= v <= 10**11,
        ),
        "replications": Option(
            None,
            f"a whole number from 1 to {MOST_REPLICATIONS}; where left out as few as cores need, "
            "and 1 for a short run",
            lambda v: is_count(v) and v <= MOST_REPLICATIONS,
        ),
        "trace": Option(
            None,
            "a file of arrivals: .csv (time, need, size)",
            lambda v: isinstance(v, str),
        ),
        **LOG_OPTIONS,
    }
    if not flat:
        options["estimates"] = Option(
            "none",
            "none, or exact: rules then know how long each job takes",
            lambda v: v in ("none", "exact"),
        )
    return options


def rules() -> Mapping[str, bool]:
    """Return all registered rules by name, and whether they are compiled."""
    return {name: rule.flat for name, rule in _RULES.items()}


def plan(queue: Instance, name: str, **options: Any) -> Plan:
    """Set up a registered rule for an instance, with the rule's own options.

    `InputError` if there is no such rule, or an option is wrong; `NotApplicableError` if the rule
    is not for such an instance.
    """
    if name not in _RULES:
        hint = suggestion(name, _RULES) or listing(_RULES)
        raise InputError(f"an admission rule{hint}", found=shown(name))
    rule = _RULES[name]
    make = partial(rule.make, queue, **options)
    make()  # so that what is wrong is said now
    return Plan(name, make)


def _run(
    name: str,
    queue: Instance,
    *,
    seed: int = 0,
    jobs: int = 1,
    watch: Watch | None = None,
    arrivals: int | None = None,
    replications: int | None = None,
    trace: str | None = None,
    estimates: str = "none",
    starts: str | None = None,
    slowdown_bound: float = SLOWDOWN_BOUND,
    resamples: int = 0,
    times: str | None = None,
    **own: Any,
) -> Simulated | Expected | Replayed:
    if queue.log is not None:
        log = {"starts": starts, "slowdown_bound": slowdown_bound, "resamples": resamples}
        return _replay(name, queue, own, estimates, log)
    from schedopt.policies.msfq.evaluation import evaluate_plan

    chosen, solved = plan(queue, name, **own), _RULES[name].solved
    if solved and (times == "exact" or (times is None and arrivals is None and trace is None)):
        if trace is not None:
            raise InputError("times=simulated, with a trace", found="exact", place="option times")
        expected = solved(queue, times == "exact")
        if expected is not None:
            return expected
    if arrivals is None:
        arrivals = ARRIVALS if chosen.compiled else PLAIN_ARRIVALS
    return evaluate_plan(
        queue,
        chosen,
        seed=seed,
        arrivals=arrivals,
        replications=replications,
        trace=trace,
        estimates=estimates == "exact",
        jobs=jobs,
        watch=watch,
    )


def _replay(
    name: str,
    queue: Instance,
    own: Mapping[str, Any],
    estimates: str,
    log: Mapping[str, Any],
) -> Replayed:
    """Replay a log with a log's options: job by job where that is faster, else by class."""
    from schedopt.policies.msfq.logs import class_rules, registration

    if name in registration.LOG_POLICIES:
        return registration.run(name, queue, **log, **own)

    def begun(other: Instance) -> Floats:
        chosen = plan(class_rules.classes(other), name, **own)
        return class_rules.replay_classes(other, chosen, estimates=estimates == "exact")

    note = "" if _RULES[name].flat else "replayed in plain Python"
    return registration.measure_replay(queue, begun, estimates=estimates, note=note, **log)
