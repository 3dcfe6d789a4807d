"""Rewards made from priorities or sizes, where a trace has only ordinal priorities.

Source: Anderson et al., SPAA 2005, section 5.1, "Reward Assignment".
"""

from collections.abc import Callable

from schedopt.instances.errors import InputError

Reward = Callable[[float | None, float], float]


def linear(priority: float | None, demand: float) -> float:
    """Return 500 - priority; never below 0, where the paper's formula would turn negative."""
    del demand
    return max(0.0, 500.0 - _given(priority, "linear"))


def size(priority: float | None, demand: float) -> float:
    """Return T_1(j): value in proportion to the processor time that is spent."""
    del priority
    return float(demand)


def banded(priority: float | None, demand: float) -> float:
    """Return 100,000, 1,000, 10 or 1 for a priority below 100, 200, 300 or none of these."""
    del demand
    priority = _given(priority, "banded")
    for bound, reward in ((100, 100_000.0), (200, 1_000.0), (300, 10.0)):
        if priority < bound:
            return reward
    return 1.0


REWARDS: dict[str, Reward] = {"linear": linear, "size": size, "banded": banded}
"""The reward functions by name; each takes (priority or None, demand in processor time).

`linear` and `banded` raise `InputError` for a job without a priority.
"""


def _given(priority: float | None, name: str) -> float:
    if priority is None:
        raise InputError(f"a priority for each job: reward {name!r} is made from it", found="none")
    return priority
