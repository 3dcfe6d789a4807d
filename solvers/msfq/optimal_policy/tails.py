"""How values go on beyond a box, from below for every policy and from above for a given one.

With n small jobs more than I waiting, and m large ones more than J, values go on as

    h(c, I+n, J+m) = h(c, I, J) + n·side(c, J) + m·top(c, I) + w·n(n-1)/2 + β·n·m + e·m(m-1)/2,

and likewise above the top alone or beside the side alone. Then what `lower_bound` looks at
is linear in n and m for any choice of decisions, and it suffices that it does not fall (does not
rise, for a given policy) in either. For a bound on every policy one job more adds as much whether
it waits or runs, so that starting it changes nothing, and in proportion to the others, as in the
fluid; for one on a given policy `top` solves the equations of that policy with endlessly many large
jobs waiting.

Costs grow with the number of jobs and values with its square, so that values bound costs from below
for every policy: one with a finite mean number of jobs has n of them so seldom (at most o(1/n²) a
unit of time, as they take time to leave) that emptying the system whenever it gets there would
change its cost by o(1), and then its squares are bounded in the mean.
"""

import numpy as np

from schedopt.formulations.msfq.process import Process
from schedopt.solvers.msfq.optimal_policy.equations import Equations, Floats, pad_edge
from schedopt.solvers.msfq.optimal_policy.relative_values import Tail
from schedopt.solvers.msfq.optimal_policy.tables import Decisions

SLACK = 1e-3
"""Relative safety margin of second differences."""


def second_differences(process: Process) -> tuple[float, float, float]:
    """Return the second differences w, β and e with which values bound every policy from below.

    They are those of the fluid, in which nothing is lost to switching: with K = k·μ_1, all of

        e·(μ_k - λ_k) <= C_k + λ_1·β,   β·(K - λ_1) <= C_k + λ_k·e,
        w·(K - λ_1) <= C_1 + λ_k·β,     β·(μ_k - λ_k) <= C_1 + λ_1·w

    hold, so that one job more costs at least as much as the values say, whatever is served.
    """
    k, l1, lk, m1, mk = process.system
    small, large = process.small_cost, process.large_cost
    spare = mk * k * m1 - mk * l1 - lk * k * m1
    both = min(large * mk, small * k * m1) / spare
    e, w = (large + l1 * both) / (mk - lk), (small + lk * both) / (k * m1 - l1)
    return (1.0 - SLACK) * w, (1.0 - SLACK) * both, (1.0 - SLACK) * e


def lower_tail(process: Process, box: tuple[int, int], prices: tuple[float, float]) -> Tail:
    """Return a tail that bounds every policy from below if the slopes at the edges are no less.

    `prices` are the increments of one more job at the edges of the box (I, J): a small one where no
    large one waits, a large one where no small one does.
    """
    w, both, e = found = second_differences(process)
    running = np.arange(process.system.k + 2.0)[:, None]
    running[-1] = 0.0
    top = prices[1] + both * (np.arange(box[0] + 1.0) + running)
    top[-1] += e
    side = prices[0] + both * np.arange(box[1] + 1.0) + w * running
    side[-1] += both
    return Tail(top, side, found)


def upper_tail(
    process: Process, decisions: Decisions, slopes: tuple[Floats, Floats], lifts: Floats
) -> Tail | None:
    """Return a tail that bounds a given policy from above; None where it is not stable there.

    Where I small jobs wait the policy must start small ones. `slopes`, shapes (I + 1,) and (J +
    1,), are the known increments of values at the top with a large job in service, and at the side
    with all servers busy on small ones; `lifts` are added to those of one large job above the top,
    and one small one beyond the side.
    """
    k, l1, lk, m1, mk = process.system
    more = 1.0 + SLACK
    found = _endless_queue_terms(process, decisions[-1])
    if found is None:
        return None
    e, top = found
    both = more * (process.large_cost + lk * e) / (k * m1 - l1)
    w = more * (process.small_cost + lk * both) / (k * m1 - l1)
    leads = decisions[-1, 0] == 2
    top += float((slopes[0] + e - top[-1])[leads].max()) + lifts[0]
    line = both * np.arange(len(decisions))
    line = line + max(float((slopes[1] + w - line).max()) + lifts[1], 0.0)
    side = np.tile(line, (k + 2, 1))
    side[-1] += more * (process.small_cost + l1 * w + lk * both) / mk - k * w
    return Tail(top, side, (w, both, e))


def _endless_queue_terms(process: Process, decisions: Decisions) -> tuple[float, Floats] | None:
    """Return e, and what a large job more adds to each state, with endlessly many waiting.

    Both solve large_cost + Σ rate·(top(s') - top(s)) + e·(λ_k - rate of starting a large job) = 0,
    with a little more than the cost.
    """
    k, l1, lk, m1, _ = process.system
    if not (decisions[0] == 2).any():
        return None
    equations = Equations(pad_edge(decisions[None]), process.system, endless=True)
    cost, grows = np.full(equations.shape, process.large_cost), equations.leads - lk
    beyond = l1 / (k * m1 - l1)  # a small job more at the side leaves by as much more to do
    cost[:, :, -1] += (1.0 + SLACK) * beyond * process.large_cost
    grows[:, :, -1] -= (1.0 + SLACK) * beyond * lk
    equations.gains = grows
    e, values = equations.solve((1.0 + SLACK) * cost)
    return (e, values[0]) if 0.0 <= e < np.inf else None
