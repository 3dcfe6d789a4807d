"""Certificates of bounds on allocations: work prices by position in the completion order."""

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.hesrpt import Allocated
from schedopt.solvers.engine import Certificate, NoCertificateError
from schedopt.solvers.hesrpt.direct import prices as closed_prices
from schedopt.solvers.hesrpt.price_kernels import levels_of, prices_of
from schedopt.solvers.hesrpt.speedup_kernels import Ints, curves
from schedopt.solvers.result import Limits, Result

SLACK = 1e-11
"""Relative slack of prices, so that rounding in the checker does not make them infeasible."""
ENOUGH = 5e-10
"""Fraction of a bound that a certificate may leave unproven; twice that counts as rounding."""


def certificate(
    model: Allocation,
    result: Result[Allocated],
    limits: Limits,
) -> Certificate:
    """Return work prices by position in the order, which prove the bound on all orders again.

    The prices need no search, so ``limits`` is not used. They may prove a last digit less.

    Raises
    ------
    NoCertificateError
        If jobs differ in more than their sizes.
    """
    del limits
    instance = model.instance
    if result.bound is None or model.changed:
        raise NoCertificateError("the model was changed natively" if model.changed else "no bound")
    if model.given or instance.arrivals.any() or instance.objective == "makespan":
        raise NoCertificateError("only of flow times over all orders, without arrivals")
    if model.rules.names or len(instance.speedups) > 1 or np.ptp(instance.costs) > 0:
        raise NoCertificateError("jobs differ in more than their sizes")
    rank = np.lexsort((-np.arange(len(instance.jobs)), -instance.sizes))
    order: Ints = rank.astype(np.int64)
    levels = levels_of(instance.costs, order)
    if instance.power is not None:
        prices = closed_prices(levels, instance.power) / instance.servers**instance.power
    else:
        prices = prices_of(curves(instance), order, levels)[order]
    if float(np.sort(prices) @ instance.sizes[order]) < result.bound * (1.0 - ENOUGH):
        raise NoCertificateError("prices by place prove less")
    slack = SLACK + len(order) * 1e-15
    return {"kind": "ranks", "prices": (prices * (1.0 - slack)).tolist()}
