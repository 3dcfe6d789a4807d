"""The probability that each job of a plan is on time, by simulation.

Run times are the planned ones times random factors. The plan of a dispatcher is carried out by that
dispatcher. Any other plan is carried out in its own order: the runnable task with the earliest
planned start runs first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from schedopt.instances.dssp import Instance, Scheduled
from schedopt.instances.dssp.scenarios import DECIDING, MILLION, RUNNING, factors
from schedopt.planning.moments import ON_TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedopt.instances.dssp.planned import Floats, Ints


def chances(night: Instance, schedule: Scheduled, policy: str, seed: int) -> dict[str, float]:
    """Return the fraction of scenarios in which each job of a schedule is on time."""
    if not any(night.jobs[night.index[name]].spread for name in schedule.completion):
        return {}
    jobs, in_time = jobs_in_time(night, schedule, policy, seed)
    shares = in_time.mean(axis=0).tolist()
    return dict(zip((night.jobs[j].name for j in jobs), shares, strict=True))


def jobs_in_time(
    night: Instance,
    schedule: Scheduled,
    policy: str,
    seed: int,
    drawn: Ints | None = None,
    *,
    draws: int = 400,  # most scenarios
) -> tuple[Ints, NDArray[np.bool_]]:
    """Simulate a schedule in scenarios; return its jobs, and which are on time in each scenario.

    ``policy`` is the policy of the schedule, such as ``selection+lcpf``. The scenarios are
    ``drawn``, or drawn from ``seed``.
    """
    from schedopt.policies.dssp.dispatchers import DRAWN, KEYS
    from schedopt.solvers.dssp.schedule.solving import starts_of_tasks

    jobs = np.array(sorted(night.index[name] for name in schedule.completion), dtype=np.int64)
    if drawn is None:
        drawn = factors(night, seed, RUNNING, _count(night, draws))
    dispatcher = policy.rpartition("+")[2]
    is_replayable = dispatcher in KEYS and dispatcher not in DRAWN
    keys = KEYS[dispatcher](night) if is_replayable else starts_of_tasks(night, schedule)
    return jobs, _in_time(night, jobs, keys, drawn)


def compared_dispatchers() -> list[str]:
    """Return the names of the built-in dispatchers that are deterministic."""
    from schedopt.policies.dssp.dispatchers import DRAWN, KEYS
    from schedopt.policies.registry import is_own

    return [name for name in KEYS if name not in DRAWN and is_own("dssp", name)]


def steadiest_dispatcher(night: Instance, jobs: Ints, seed: int, draws: int = 24) -> str:
    """Return the dispatcher with the highest mean reward over a few scenarios."""
    from schedopt.policies.dssp.dispatchers import KEYS

    drawn = factors(night, seed, DECIDING, _count(night, draws))
    worth = {
        name: float((_in_time(night, jobs, KEYS[name](night), drawn) @ night.rewards[jobs]).sum())
        for name in compared_dispatchers()
    }
    return max(worth, key=worth.__getitem__)


def _count(night: Instance, draws: int, most_tasks: int = 5_000) -> int:
    """Return the number of scenarios to run: fewer, down to an eighth, if there are more tasks."""
    tasks = max(1, len(night.tasks.lengths))
    return max(draws // 8, min(draws, draws * most_tasks // tasks))


def _in_time(night: Instance, jobs: Ints, keys: Floats, drawn: Ints) -> NDArray[np.bool_]:
    """Return, for each scenario, which jobs a dispatcher with planned keys completes on time."""
    from schedopt.policies.dssp.dispatch import simulate

    in_time = np.zeros((len(drawn), len(jobs)), dtype=np.bool_)
    for done, factor in zip(in_time, drawn / MILLION, strict=True):
        lengths = night.tasks.lengths * factor[night.tasks.job_of]
        ends = simulate(night, jobs, keys=keys, lengths=lengths).completion[jobs]
        done[:] = ends <= night.deadlines[jobs] * ON_TIME  # never, where it does not complete
    return in_time
