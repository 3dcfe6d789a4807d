"""Policies evaluated: simulated where they may be stable, refused where the run was not."""

import numpy as np

from schedopt.instances.errors import InputError, shown
from schedopt.instances.extras import missing
from schedopt.instances.msfq import Instance, Simulated
from schedopt.policies.msfq.experiment import Measured
from schedopt.policies.msfq.rule import Plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.stability import require_settled, require_stable
from schedopt.policies.msfq.summary import summarize
from schedopt.solvers.compiling import COMPILES

MOST_PLAIN = 1_000_000
"""Most arrivals without a compiler: Python takes some minutes for as many."""


def evaluate_plan(
    queue: Instance,
    plan: Plan,
    *,
    seed: int,
    arrivals: int,
    trace: str | None = None,
    estimates: bool = False,
) -> Simulated:
    """Simulate a policy on random jobs of a seed, or on a trace.

    With ``estimates`` a rule in plain Python knows how long each job takes.

    `UnstableError` if the policy cannot be stable, starves a class, or lets jobs pile up;
    `InputError` if an argument or the rule is wrong.
    """
    if not 0 <= seed < 2**31:
        raise InputError("a whole number from 0 to 2^31 - 1", found=shown(seed), place="seed")
    if not COMPILES and arrivals > MOST_PLAIN:
        raise missing("numba", f"option arrivals={arrivals:,} (at most {MOST_PLAIN:,} in Python)")
    read = load = None
    if trace is None:
        region = require_stable(queue, plan.name)
        load = region.load
        measured = simulate(queue, plan, arrivals=arrivals, seed=seed, estimates=estimates)
        require_settled(queue, plan.name, measured, proven=region.exact)
    else:
        from schedopt.instances.msfq.traces import read_trace

        read = read_trace(trace, queue)
        arrivals = len(read.times)
        measured = simulate(
            queue, plan, arrivals=arrivals, seed=seed, trace=read, each=True, estimates=estimates
        )
        require_settled(queue, plan.name, measured, ended=True)
    return summarize(
        queue,
        measured,
        arrivals,
        threshold=plan.make().threshold,
        trace=read,
        load=load,
        note=_remarks(queue, plan, measured, arrivals),
    )


def _remarks(queue: Instance, plan: Plan, measured: Measured, arrivals: int) -> str:
    """Return remarks on a run."""
    notes = []
    if not plan.compiled or not COMPILES:
        notes.append(f"simulated in plain Python, {arrivals:,} arrivals")
    unseen = np.flatnonzero(measured.counts.sum(axis=0) == 0)
    if unseen.size:
        needs = ", ".join(str(queue.classes[c].need) for c in unseen)
        notes.append(f"no job of need {needs} completed: not in the means")
    return "; ".join(notes)
