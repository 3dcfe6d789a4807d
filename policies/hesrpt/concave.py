"""Policies of 2025 and 2026 for any concave speedup, as their abstracts define them.

They follow from the properties that the abstract and the first page of each paper state.
"""

import numpy as np
from msgspec.structs import replace

from schedopt.instances.hesrpt import Instance
from schedopt.instances.options import Option, is_number
from schedopt.policies.hesrpt.shares import best_setting, serve_in_order, share_policy
from schedopt.policies.hesrpt.simulator import Floats, Jobs
from schedopt.policies.registry import NotApplicableError

SMARTFILL = "Li, Ju, Eryilmaz and Shroff, arXiv 2509.01811, 2025"
CAM = "Li, Harchol-Balter and Berg, arXiv 2602.01411, 2026"
HALVINGS = 200


@share_policy(
    "smartfill",
    source=f"{SMARTFILL}: consistent derivative ratios, by the dual prices of shortest first",
    summary="for one concave speedup: shares whose marginal speedups keep their ratios",
)
def smartfill(instance: Instance, jobs: Jobs, left: Floats) -> Floats:
    """Return shares that use all servers at work prices with equal lambda_j s'(k_j) where k_j > 0.

    The prices follow from the last job to complete: with each further job, the value of work equals
    the total weight. So the ratios of derivatives are constant until a job completes.
    """
    from schedopt.solvers.hesrpt.price_kernels import best_shares, curves, prices_of

    del left
    if len(instance.speedups) > 1:
        raise NotApplicableError("jobs have different speedups; the policy needs a common one")
    if instance.objective == "makespan":
        raise NotApplicableError("the policy minimizes flow times; use helrpt for a makespan")
    order = np.ascontiguousarray(jobs[::-1], dtype=np.int64)
    speeds, shares = curves(replace(instance, constraints=())), np.zeros(len(jobs))
    prices = prices_of(speeds, order, np.cumsum(instance.costs[order]))
    best_shares(speeds, prices, order, len(order), np.zeros(1), shares)
    return shares[::-1]


@share_policy(
    "wham",
    source=f"{CAM}: Whittle's allocation, read as one price of servers for all",
    summary="each job its best width at the price of servers at which all are taken",
)
def wham(instance: Instance, jobs: Jobs, left: Floats) -> Floats:
    """Return the k_j with the least (w_j + price k_j) / s_j(k_j), at the price that uses all.

    A job alone that pays for its servers costs (w_j + price k) x_j / s_j(k), whose minimum does not
    depend on its size. If widths jump at the price, the smaller jobs use the larger width.
    """
    del left
    low, high = 0.0, 1.0
    while widths(instance, jobs, high).sum() > instance.servers and high < 1e300:
        low, high = high, high * 4.0
    for _ in range(HALVINGS):
        price = (low * high) ** 0.5 if low else high / 4.0
        if not low < price < high or price < 1e-300:
            break
        fits = widths(instance, jobs, price).sum() <= instance.servers
        low, high = (low, price) if fits else (price, high)
    few = serve_in_order(widths(instance, jobs, high), float(instance.servers))
    if low:
        few += serve_in_order(
            widths(instance, jobs, low) - few, instance.servers - float(few.sum())
        )
    return few / instance.servers


def widths(instance: Instance, jobs: Jobs, price: float) -> Floats:
    """Return the servers that each job uses at a price, at most N, shape (m,)."""
    costs = np.maximum(instance.costs[jobs], 1e-12 * instance.costs.max())
    each = instance.each("width", jobs, costs / price)
    return np.minimum(each, float(instance.servers))


def best_price(instance: Instance) -> float:
    """Return the price of servers with the least cost, by a search on refined grids."""
    jobs, servers, price = np.arange(len(instance.jobs)), float(instance.servers), 1.0
    while widths(instance, jobs, price).min() < servers and price > 1e-12:
        price /= 4.0
    low = price
    while widths(instance, jobs, price).max() > servers / len(jobs) / 4.0 and price < 1e12:
        price *= 4.0
    return best_setting(instance, lambda at: lambda *present: fw_cam(*present, at), low, price)


@share_policy(
    "fw-cam",
    source=f"{CAM}: fixed widths, read as first come first served, the price by search",
    summary="fixed widths at a price of servers, whatever the sizes, first come first served",
    options={
        "price": Option(
            None,
            "a number > 0; the best by search where not given",
            lambda v: is_number(v) and v > 0,
        )
    },
    setting=lambda instance: {"price": best_price(instance)},
)
def fw_cam(instance: Instance, jobs: Jobs, left: Floats, price: float) -> Floats:
    """Return each job's width at a price while servers are left, in order of arrival."""
    del left
    wide = widths(instance, jobs, price) / instance.servers
    order = np.lexsort((jobs, instance.arrivals[jobs]))
    shares = np.zeros(len(jobs))
    shares[order] = serve_in_order(wide[order], 1.0)
    return shares
