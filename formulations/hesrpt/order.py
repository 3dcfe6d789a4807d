"""Completion orders: as an option names them, and the initial one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, shown, suggestion
from schedopt.instances.hesrpt import Instance
from schedopt.instances.options import Option

Order = NDArray[np.int64]
"""Positions of jobs, the last to complete first, shape (M,)."""

ORDER = Option(
    default=None,
    expected="names of all jobs, the first to complete first, with commas between",
    accepts=lambda value: isinstance(value, str | int | float),
)


def positions(instance: Instance, order: str | Sequence[str]) -> Order:
    """Return a completion order from job names, the first to complete first, or one text of them.

    `InputError` says which job is missing, named twice or unknown.
    """
    if isinstance(order, str | int | float):
        order = [name.strip() for name in str(order).split(",")]
    names = list(order)
    for name in names:
        if name not in instance.index:
            hint = suggestion(name, instance.index)
            raise InputError(f"the name of a job{hint}", found=shown(name), place="option order")
    if len(set(names)) < len(names) or len(names) < len(instance.jobs):
        raise InputError(ORDER.expected, found=shown(",".join(names)), place="option order")
    return np.array([instance.index[name] for name in reversed(names)], dtype=np.int64)


def smiths_order(instance: Instance) -> Order:
    """Return the order by time over weight at even shares: Smith's rule on divided servers."""
    known: Order | None = instance.__dict__.get("_smiths")
    if known is None:
        count = len(instance.jobs)
        even = np.full(count, instance.servers / count)
        rates = instance.each("at", np.arange(count), even)
        by = -instance.sizes / rates / instance.costs
        instance.__dict__["_smiths"] = known = np.argsort(by, kind="stable").astype(np.int64)
    return known.copy()
