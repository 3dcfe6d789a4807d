"""The decorator that registers an admission rule as a policy."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np

from schedopt.instances.errors import InputError, listing, quote, suggestion
from schedopt.instances.extras import missing
from schedopt.instances.msfq import Instance, JobClass, Replayed, Simulated
from schedopt.instances.msfq.logs import Floats
from schedopt.instances.msfq.records import MOST_SERVERS
from schedopt.instances.options import Option, is_count
from schedopt.policies.msfq.logs import registration
from schedopt.policies.msfq.rule import FlatRule, Rule, RuleFactory
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.stability import require_settled, require_stable
from schedopt.policies.msfq.summary import SLOWDOWN_BOUND, Counters, Trace, measure, summarize
from schedopt.policies.registry import NotApplicableError, Policy, Suits, register
from schedopt.solvers.compiling import COMPILES

FEWEST, MOST = 1000, 10**11
"""The limits of the option ``arrivals``."""
PLAIN, COMPILED = 50_000, 1_000_000 if COMPILES else 50_000
"""Its defaults for rules in plain Python and for compiled rules."""
MOST_PLAIN = 1_000_000
"""The most arrivals without numba; Python takes some minutes for these."""

_RULES: dict[str, tuple[Callable[..., Rule], bool]] = {}
"""By name, what makes a rule from an instance and the options, and whether it is flat."""

R = TypeVar("R", bound=Callable[..., Any])


def admission_rule(
    name: str,
    *,
    source: str,
    summary: str,
    flat: bool = False,
    suits: Suits = "",
    **options: Option,
) -> Callable[[R], R]:
    """Register an admission rule as a policy for `evaluate` and `bench`.

    Parameters
    ----------
    name : str
        The policy's name.
    source : str
        Where it is defined: paper and section, or book.
    summary : str
        What it does, in one line.
    flat : bool
        Whether the rule is a function of flat arrays (see `FlatState`), which is compiled. A rule
        of the `State` runs in plain Python, about a hundred times slower, and with fewer arrivals.
    suits : {"", "alone", "beside"}
        ``alone`` for a rule that cannot replay logs.
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
        if isinstance(rule, type):
            make: Callable[..., Any] = rule
        elif flat:
            make = lambda queue: FlatRule(queue, rule)  # noqa: E731
        else:
            make = lambda queue: rule  # noqa: E731
        register(
            Policy(
                name=name,
                problem="msfq",
                run=partial(_run, name),
                source=source,
                summary=summary if is_flat else f"{summary} (in plain Python)",
                options={**options, **_common_options(is_flat)},
                random=True,
                suits=suits,
            )
        )
        _RULES[name] = make, is_flat
        return rule

    return decorate


def _common_options(flat: bool) -> dict[str, Option]:
    options = {
        "arrivals": Option(
            COMPILED if flat else PLAIN,
            "a whole number from 1000 to 10^11",
            lambda v: is_count(v) and FEWEST <= v <= MOST,
        ),
        **registration.OPTIONS,
    }
    if not flat:
        options["estimates"] = Option(
            "none",
            "none, or exact: rules know the size of each job",
            lambda v: v in ("none", "exact"),
        )
    return options


def rules() -> Mapping[str, bool]:
    """Return the names of all registered rules, and whether each is compiled."""
    return {name: flat for name, (_, flat) in _RULES.items()}


def plan(queue: Instance, name: str, **options: Any) -> RuleFactory:
    """Set up a registered rule for an instance, with the rule's own options.

    `InputError` if there is no such rule, or an option is wrong; `NotApplicableError` if the rule
    is not for such an instance.
    """
    if name not in _RULES:
        hint = suggestion(name, _RULES) or listing(_RULES)
        raise InputError(f"an admission rule{hint}", found=quote(name))
    rule, flat = _RULES[name]
    make = partial(rule, queue, **options)
    make()  # wrong options are errors now
    return RuleFactory(name, make, flat)


def _run(
    name: str,
    queue: Instance,
    *,
    seed: int = 0,
    arrivals: int | None = None,
    estimates: str = "none",
    starts: str | None = None,
    slowdown_bound: float = SLOWDOWN_BOUND,
    **own: Any,
) -> Simulated | Replayed:
    """Simulate a rule on classes, or replay a log under it.

    `UnstableError` if the policy cannot be stable, starves a class, or lets jobs pile up;
    `InputError` if an argument or the rule is wrong.
    """
    if queue.log is not None and name in registration.LOG_POLICIES:
        return registration.run(name, queue, starts=starts, slowdown_bound=slowdown_bound, **own)
    if queue.log is not None:
        chosen = plan(classes_of(queue), name, **own)
        times = replay_classes(queue, chosen, estimates=estimates == "exact")
        registration.write_starts(times, starts, queue)
        note = "" if chosen.compiled else "replayed in plain Python"
        return measure(queue, times, slowdown_bound=slowdown_bound, estimates=estimates, note=note)
    chosen, known = plan(queue, name, **own), estimates == "exact"
    if arrivals is None:
        arrivals = COMPILED if chosen.compiled else PLAIN
    if not 0 <= seed < 2**31:
        raise InputError("a whole number from 0 to 2^31 - 1", found=quote(seed), parameter="seed")
    if not COMPILES and arrivals > MOST_PLAIN:
        raise missing("numba", f"option arrivals={arrivals:,} (at most {MOST_PLAIN:,} in Python)")
    region = require_stable(queue, name)
    measured = simulate(queue, chosen, arrivals=arrivals, seed=seed, estimates=known)
    require_settled(queue, name, measured, proven=region.exact)
    note = _remarks(queue, chosen, measured, arrivals)
    threshold = getattr(chosen.make(), "threshold", None)
    return summarize(queue, measured, arrivals, threshold=threshold, load=region.load, note=note)


def classes_of(queue: Instance) -> Instance:
    """Return the queue of classes of a log: one for each need, with the rates of its jobs.

    `NotApplicableError` if the machine has resources, partitions, or more servers than a queue of
    classes may.
    """
    if queue.resources or queue.partitions:
        raise NotApplicableError("admission rules are for logs without resources or partitions")
    if queue.servers > MOST_SERVERS:
        raise NotApplicableError(f"admission rules are for at most {MOST_SERVERS} servers")
    jobs = queue.jobs
    span = jobs.span or 1.0
    needs, kind = np.unique(jobs.need, return_inverse=True)
    counts, means = np.bincount(kind), np.bincount(kind, jobs.run) / np.bincount(kind)
    return Instance(
        name=queue.name,
        servers=queue.servers,
        classes=tuple(
            JobClass(
                need=int(need),
                arrival_rate=float(counts[i]) / span,
                service_rate=1.0 / float(means[i]),
            )
            for i, need in enumerate(needs.tolist())
        ),
    )


def replay_classes(queue: Instance, plan: RuleFactory, *, estimates: bool = False) -> Floats:
    """Return the start of each job of a log under an admission rule, shape (jobs,).

    `NotApplicableError` if the rule has a random clock, or some jobs never start.
    """
    if getattr(plan.make(), "holding", ()):
        raise NotApplicableError(f"{plan.name} has a random clock, which a log does not have")
    queue, rows = queue.as_released()
    jobs = queue.jobs
    kind = np.unique(jobs.need, return_inverse=True)[1].astype(np.int64)
    trace = Trace(jobs.submit, kind, jobs.run)
    starts = simulate(
        classes_of(queue),
        plan,
        arrivals=len(jobs),
        trace=trace,
        estimates=estimates,
    ).starts
    if waiting := int(np.isnan(starts).sum()):
        raise NotApplicableError(f"{waiting} jobs never start under {plan.name}")
    in_rows = np.empty(len(rows))
    in_rows[rows] = starts
    return in_rows


def _remarks(queue: Instance, plan: RuleFactory, measured: Counters, arrivals: int) -> str:
    notes = []
    if not plan.compiled or not COMPILES:
        notes.append(f"simulated in plain Python, {arrivals:,} arrivals")
    unseen = np.flatnonzero(measured.counts.sum(axis=0) == 0)
    if unseen.size:
        needs = ", ".join(str(queue.classes[c].need) for c in unseen)
        notes.append(f"no job of need {needs} completed; the means are without them")
    return "; ".join(notes)
