"""Share policies: each is a function from the present jobs to their shares.

Jobs are ordered by increasing remaining size, and equal ones by their position in the file. The
policies of 2025 and 2026, for any concave speedup, follow from the properties that the abstract and
the first page of each paper state.
"""

from collections.abc import Callable, Mapping

import msgspec
import numpy as np

from schedopt.instances.hesrpt import Allocated, Instance, allocated
from schedopt.instances.options import Option, is_number
from schedopt.policies.hesrpt.simulator import (
    Floats,
    Jobs,
    ShareFunction,
    StalledError,
    hesrpt_shares,
    simulate,
)
from schedopt.policies.registry import (
    NotApplicableError,
    Policy,
    as_array,
    is_own,
    register,
)
from schedopt.solvers.hesrpt.closed_form import least_makespan

PAPER = "Berg, Vesilo and Harchol-Balter, heSRPT, 2019"
SMARTFILL = "Li, Ju, Eryilmaz and Shroff, arXiv 2509.01811, 2025"
CAM = "Li, Harchol-Balter and Berg, arXiv 2602.01411, 2026"
HALVINGS = 200
SEARCHED = Option(
    None, "a number > 0; the best by search where not given", lambda v: is_number(v) and v > 0
)
MOST_SETS = 1 << 12
"""Most sets of last jobs (of 12 different jobs): a plan takes at most a second or two."""


def share_policy(
    name: str,
    *,
    source: str,
    summary: str,
    options: Mapping[str, Option] | None = None,
    setting: Callable[[Instance], dict[str, float]] | None = None,
) -> Callable[[Callable[..., Floats]], Callable[..., Floats]]:
    """Register a share function ``shares(instance, jobs, left)`` as a policy.

    Its arguments are the positions of the present jobs and their remaining sizes, shape (present,),
    in increasing order. It returns their shares, whose sum is at most 1.

    Parameters
    ----------
    name, source, summary : str
    options : mapping of str to Option
        Options of the share function, which receives them as keywords.
    setting : callable, optional
        ``setting(instance)`` returns values of options that were not given, once for a run.
    """

    def decorate(function: Callable[..., Floats]) -> Callable[..., Floats]:
        def run(instance: Instance, **given: float) -> Allocated:
            own = is_own("hesrpt", name)
            options = given if given or setting is None else setting(instance)

            def shares(night: Instance, jobs: Jobs, left: Floats) -> Floats:
                parts = function(night, jobs, left, **options)
                return parts if own else as_array(parts, name, "job there", float, len(jobs))

            return allocation_under(instance, shares)

        register(
            Policy(
                name=name,
                problem="hesrpt",
                run=run,
                source=source,
                summary=summary,
                options=options or {},
            )
        )
        return function

    return decorate


def allocation_under(instance: Instance, shares: ShareFunction) -> Allocated:
    """Return the allocation of a share function; `NotApplicableError` if a job is never served."""
    try:
        return allocated(instance, *simulate(instance, shares))
    except StalledError as error:
        raise NotApplicableError(str(error)) from None


@share_policy(
    "hesrpt",
    source=f"{PAPER}, Theorem 7",
    summary="optimal for one speedup k^p: shares rise with the rank, the smallest job has most",
    options={
        "p": Option(
            None,
            "a number over 0, up to 1; the file's own where all jobs have one k^p",
            lambda v: is_number(v) and 0 < v <= 1,
        )
    },
)
def hesrpt(instance: Instance, jobs: Jobs, left: Floats, p: float | None = None) -> Floats:
    """Return (i/m)^c - ((i-1)/m)^c for the i-th largest of m jobs, with c = 1/(1-p)."""
    del left
    exponent = instance.power if p is None else p
    if exponent is None:
        raise NotApplicableError("jobs have no common speedup k^p; give option p")
    return hesrpt_shares(len(jobs), exponent)


@share_policy(
    "helrpt",
    source=f"{PAPER}, Theorem 2 (whose makespan lacks the factor 1/s(N))",
    summary="optimal for the makespan: all jobs complete together",
)
def helrpt(instance: Instance, jobs: Jobs, left: Floats) -> Floats:
    """Return x^(1/p) over its sum; for other speedups, shares with which all complete together."""
    p = instance.power
    if p is not None:
        logs = np.log(left) / p
        powers = np.exp(logs - logs.max())
        return np.asarray(powers / powers.sum())
    _, _, shares = least_makespan(instance, jobs, left)
    return np.asarray(shares / max(shares.sum(), 1.0))


@share_policy(
    "srpt",
    source=f"{PAPER}, section 4.2",
    summary="all servers to the job that would complete first on them",
)
def srpt(instance: Instance, jobs: Jobs, left: Floats) -> Floats:
    """Return all servers for the job with the least x/s(N): the shortest if speedups are equal."""
    rates = instance.each("at", jobs, np.full(len(jobs), float(instance.servers)))
    shares = np.zeros(len(jobs))
    shares[np.argmin(left / rates)] = 1.0
    return shares


@share_policy(
    "equi",
    source=f"{PAPER}, section 4.2",
    summary="the same share to each job",
)
def equi(instance: Instance, jobs: Jobs, left: Floats) -> Floats:
    """Return 1/m for each of m jobs."""
    del instance, left
    return np.full(len(jobs), 1.0 / len(jobs))


@share_policy(
    "hell",
    source=f"{PAPER}, section 4.2, of Lin et al., MASCOTS 2018, read as: once for each job",
    summary="whole servers by the best ratio of efficiency s(k)/k to remaining time x/s(k)",
)
def hell(instance: Instance, jobs: Jobs, left: Floats) -> Floats:
    """Return shares that serve jobs in order of (s(k)/k)/(x/s(k)), each on its best k servers.

    For k^p this is SRPT if p >= 1/2, and one server for each job otherwise. The paper does not say
    what happens with servers that no job needs; here they stay idle.
    """
    free = instance.servers
    shares = np.zeros(len(jobs))
    waiting = list(range(len(jobs)))
    while free > 0 and waiting:
        leaders = _leaders(instance, jobs, waiting)
        best = {i: _most_efficient(instance, int(jobs[i]), free) for i in leaders}
        i = max(best, key=lambda i: best[i][1] / left[i])
        k = best[i][0]
        shares[i] = k / instance.servers
        free -= round(k)
        waiting.remove(i)
    return shares


def _leaders(instance: Instance, jobs: Jobs, waiting: list[int]) -> list[int]:
    """Return the first waiting job of each speedup: of equals, the smallest has the best ratio."""
    first: dict[int, int] = {}
    for i in waiting:
        first.setdefault(int(instance.kinds[jobs[i]]), i)
        if len(first) == len(instance.speedups):
            break
    return list(first.values())


def _most_efficient(instance: Instance, job: int, free: int) -> tuple[float, float]:
    speedup = instance.speedups[instance.kinds[job]]
    k = speedup.corners(float(free))
    ratio = np.asarray(speedup.at(k)) ** 2 / k
    best = int(len(k) - 1 - np.argmax(ratio[::-1]))
    return float(k[best]), float(ratio[best])


@share_policy(
    "knee",
    source=f"{PAPER}, section 4.2, of Lin et al., MASCOTS 2018, on remaining sizes",
    summary="servers until one more would shorten the job by less than alpha, smallest knee first",
    options={"alpha": SEARCHED},
    setting=lambda instance: {"alpha": best_alpha(instance)},
)
def knee(instance: Instance, jobs: Jobs, left: Floats, alpha: float) -> Floats:
    """Return shares for the k with -d/dk x/s(k) = alpha; the last job gets the rest.

    For k^p this is k = (p x/alpha)^(1/(1+p)).
    """
    knees = instance.each("knee", jobs, left / alpha) / instance.servers
    order = np.argsort(knees, kind="stable")
    shares = np.zeros(len(jobs))
    shares[order] = serve_in_order(knees[order], 1.0)
    return shares


def serve_in_order(wanted: Floats, servers: float) -> Floats:
    """Return what each job receives of ``servers`` that are given to the jobs in order."""
    before = np.concatenate([[0.0], np.cumsum(wanted)[:-1]])
    return np.clip(servers - before, 0.0, wanted)


def best_setting(
    instance: Instance,
    shares: Callable[[float], ShareFunction],
    low: float,
    high: float,
) -> float:
    """Return the setting with the least cost, by a search on refined grids.

    ``shares(setting)`` is the share function of a setting between ``low`` and ``high``. A grid has
    24 settings in equal ratios, and is refined three times around the best of them.
    """
    best, least = high, np.inf
    names = [job.name for job in instance.jobs]
    for _ in range(4):
        for setting in np.geomspace(low, high, 24).tolist():
            ends, _ = simulate(instance, shares(setting), record=False)
            done = Allocated(order=(), completion=dict(zip(names, ends.tolist(), strict=True)))
            trial = instance.objective_of(done)
            if trial < least:
                best, least = setting, trial
        step = (high / low) ** (1 / 23)
        low, high = best / step, best * step
    return best


def best_alpha(instance: Instance) -> float:
    """Return KNEE's best threshold, by a search on refined grids.

    The range of thresholds: from that at which the largest job's knee is all servers, to that at
    which the smallest job's knee is a hundredth of its equal share.
    """
    everyone = np.arange(len(instance.jobs))
    sizes, servers = instance.sizes, float(instance.servers)

    def slope(k: float) -> Floats:
        """Return -d/dk x/s(k), by a symmetric difference."""
        low, high = np.full(len(sizes), 0.99 * k), np.full(len(sizes), 1.01 * k)
        slower = sizes / instance.each("at", everyone, low)
        faster = sizes / instance.each("at", everyone, high)
        return np.asarray((slower - faster) / (0.02 * k))

    high = float(slope(servers / len(sizes) / 100.0).max())
    low = max(float(slope(servers).min()), high * 1e-15)
    return best_setting(instance, lambda alpha: lambda *present: knee(*present, alpha), low, high)


@share_policy(
    "replan",
    source="common practice: a rolling horizon; no paper is followed",
    summary="the optimal plan for those who are here, solved again whenever a job comes or goes",
)
def replan(instance: Instance, jobs: Jobs, left: Floats) -> Floats:
    """Return the first shares of the best plan that is found for the remaining sizes.

    It ignores side constraints, like the other policies.
    """
    from schedopt.solvers.hesrpt.order_search import BestOrder, order_search

    if instance.objective == "makespan":
        raise NotApplicableError("the policy minimizes flow times; use helrpt for a makespan")
    here = tuple(
        msgspec.structs.replace(instance.jobs[j], size=size, arrival=0.0)
        for j, size in zip(jobs.tolist(), left.tolist(), strict=True)
    )
    now = msgspec.structs.replace(instance, jobs=here, constraints=())
    search = order_search(now)
    if isinstance(search, BestOrder) and not 0 < search.sets <= MOST_SETS:
        found = f"{len(here)} jobs that differ are in the system at once"
        raise NotApplicableError(f"the policy supports about 12 jobs: {found}")
    while not search.advance(1.0):
        pass
    first = search.solution().epochs[0].share
    return np.array([first.get(job.name, 0.0) for job in here])


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
    speeds, shares = curves(msgspec.structs.replace(instance, constraints=())), np.zeros(len(jobs))
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
    options={"price": SEARCHED},
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
