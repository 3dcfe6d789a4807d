"""Two-phase policies: a selector chooses jobs, and a dispatcher runs them."""

from typing import Any, Final

import msgspec
import numpy as np

from schedopt.instances.dssp import Instance, Scheduled
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.instances.errors import InputError
from schedopt.instances.options import Option
from schedopt.policies.dssp.dispatch import schedule_of
from schedopt.policies.dssp.dispatchers import KEYS, simulate_dispatcher
from schedopt.policies.registry import NotApplicableError, Policy, register, registered

DISPATCHER: Final = Option(
    default="lcpf",
    expected=f"a dispatcher: {', '.join(KEYS)}",
    accepts=lambda value: value in KEYS and value in registered("dssp"),
)


def two_phase(selector: Policy, dispatcher: Policy) -> Policy:
    """Return the policy ``selector+dispatcher``.

    Parameters
    ----------
    selector : Policy
        A policy of the phase ``choose``. If it simulates dispatchers itself, as maxk does, it uses
        this one.
    dispatcher : Policy
        A policy of the phase ``dispatch``.

    Notes
    -----
    Source: Anderson et al., SPAA 2005, section 3.
    """
    own = {key: option for key, option in selector.options.items() if key != "dispatcher"}
    fixed = {"dispatcher": dispatcher.name} if "dispatcher" in selector.options else {}

    def run(instance: Instance, *, seed: int = 0, **options: Any) -> Scheduled:
        luck = {"seed": seed} if selector.random else {}
        chosen = selector.run(instance, **options, **fixed, **luck)
        scheduled: Scheduled = dispatcher.run(instance, seed=seed, after=chosen)
        if isinstance(chosen.note, msgspec.UnsetType):
            return scheduled
        return msgspec.structs.replace(scheduled, note=chosen.note)

    return Policy(
        name=f"{selector.name}+{dispatcher.name}",
        problem=selector.problem,
        run=run,
        source=f"{selector.source}; {dispatcher.source}",
        summary=f"{selector.summary}; then {dispatcher.summary}",
        options=own,
        random=dispatcher.random or selector.random,
        phase="both",
    )


def _maxk(instance: Instance, *, dispatcher: str = "lcpf", seed: int = 0) -> Scheduled:
    """Run the K best jobs by R/T_1, for a K such that they complete on time and K + 1 do not.

    Feasibility need not be monotone in K. The bound of Theorem 3 only needs a K that is feasible
    while K + 1 is not, which bisection finds.
    """
    if why := instance.unguaranteed:
        raise NotApplicableError(f"maxk rests on Theorem 3: {why}")
    order = _by_ratio(instance)
    enough, too_many = 0, len(order) + 1
    while too_many - enough > 1:
        k = (enough + too_many) // 2
        if _in_time(instance, dispatcher, order[:k], seed):
            enough = k
        else:
            too_many = k
    jobs = np.sort(order[:enough])
    return schedule_of(instance, jobs, simulate_dispatcher(instance, dispatcher, jobs, seed))


def _by_ratio(night: Instance) -> Ints:
    try:
        tasks = night.tasks
    except InputError as error:
        raise NotApplicableError(f"maxk needs the tasks of every job: {error}") from error
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios: Floats = night.rewards / tasks.demands
    order = np.argsort(-np.nan_to_num(ratios, nan=0.0, posinf=np.inf), kind="stable")
    paths = tasks.remaining_paths[tasks.first_stage[:-1]]
    return np.array([j for j in order if night.worth(int(j), paths[j]) == 1.0], dtype=np.int64)


def _in_time(night: Instance, dispatcher: str, jobs: Ints, seed: int) -> bool:
    played = simulate_dispatcher(night, dispatcher, np.sort(jobs), seed)
    ends = played.completion.tolist()
    return all(night.worth(int(j), ends[j]) == 1.0 for j in jobs)


register(
    Policy(
        name="maxk",
        problem="dssp",
        run=_maxk,
        source="Anderson et al., SPAA 2005, section 4.1 (Theorem 3)",
        summary="as many of the best jobs by reward over demand as a dispatcher completes in time",
        options={"dispatcher": DISPATCHER},
        random=True,
        phase="choose",
    )
)
