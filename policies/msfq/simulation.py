"""A rule played on random jobs or a trace: compiled where it has a twin, else in plain Python."""

from collections.abc import Sequence

import numpy as np

from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.traces import Trace
from schedopt.policies.msfq.intervals import BATCHES
from schedopt.policies.msfq.played import Experiment, Floats, Measured, Pace
from schedopt.policies.msfq.rule import Plan

WARM_UP_FRACTION = 0.1
"""The fraction of arrivals that is not counted."""


def simulate(
    queue: Instance,
    plan: Plan,
    *,
    arrivals: int,
    seed: int = 0,
    trace: Trace | None = None,
    common: bool = False,
    each: bool = False,
    warm: int | None = None,
    grid: Sequence[float] | Floats = (),
    estimates: bool = False,
    plainly: bool = False,
    replication: int = 0,
    pace: Pace | None = None,
) -> Measured:
    """Simulate a policy on so many arrivals, or at most so many of a trace; see `Experiment`.

    With ``common`` sizes come with the jobs, so that policies share them; this is slower, and
    always so for sizes that are not exponential. ``warm`` is by default a tenth of the arrivals,
    and none where each job counts. With ``plainly`` a rule is played in plain Python even if it has
    a compiled twin; sizes then come with the jobs. `InputError` if the rule fails, or starts a job
    that it may not.
    """
    if trace is not None:
        arrivals = min(arrivals, len(trace.times))
    if warm is None:
        warm = 0 if each else int(WARM_UP_FRACTION * arrivals)
    run = Experiment(
        arrivals=arrivals,
        warm=warm,
        batches=max(1, min(BATCHES, arrivals - warm)),
        seed=seed,
        trace=trace,
        sized=common or trace is not None or not queue.memoryless,
        each=each,
        grid=np.asarray(grid, dtype=np.float64),
        estimates=estimates,
        replication=replication,
        pace=pace,
    )
    if plan.twin is None or plainly:
        from schedopt.policies.msfq.plain import play_plainly

        return play_plainly(queue, plan.name, plan.make(), run)
    from schedopt.policies.msfq.compiled import play_compiled

    return play_compiled(queue, plan.name, plan.make(), plan.twin, run)
