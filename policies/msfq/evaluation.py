"""Policies evaluated: simulated where they may be stable, refused where the run was not."""

import numpy as np

from schedopt.instances.errors import InputError, shown
from schedopt.instances.extras import missing
from schedopt.instances.msfq import Instance, Simulated
from schedopt.policies.msfq.experiment import Measured
from schedopt.policies.msfq.replications import Replicated, default_replications, pool, replicate
from schedopt.policies.msfq.rule import Plan, Watch
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.stability import require_settled, require_stable
from schedopt.policies.msfq.summary import summarize
from schedopt.policies.registry import InterruptedRunError
from schedopt.solvers.compiling import COMPILES

MOST_PLAIN = 1_000_000
"""Most arrivals without a compiler: Python takes some minutes for as many."""


def evaluate_plan(
    queue: Instance,
    plan: Plan,
    *,
    seed: int,
    arrivals: int,
    replications: int | None = None,
    trace: str | None = None,
    estimates: bool = False,
    jobs: int = 1,
    watch: Watch | None = None,
) -> Simulated:
    """Simulate a policy on random jobs of a seed, or on a trace.

    The arrivals are split into ``replications`` independent runs (see `default_replications`);
    ``jobs`` is the number of cores for these, which does not change the answer. With ``estimates``
    a rule in plain Python knows how long each job takes.

    `UnstableError` if the policy cannot be stable, starves a class, or lets jobs pile up;
    `InputError` if an argument or the rule is wrong; `InterruptedRunError` after an interrupt if
    some replications are done.
    """
    if not 0 <= seed < 2**31:
        raise InputError("a whole number from 0 to 2^31 - 1", found=shown(seed), place="seed")
    if not COMPILES and arrivals > MOST_PLAIN:
        raise missing("numba", f"option arrivals={arrivals:,} (at most {MOST_PLAIN:,} in Python)")
    rule = plan.make()
    runs = None
    if trace is not None:
        if replications not in (None, 1):
            found = shown(replications)
            raise InputError("1: a trace is one run", found=found, place="option replications")
        from schedopt.instances.msfq.traces import read_trace

        read, load = read_trace(trace, queue), None
        arrivals = len(read.times)
        measured = simulate(
            queue, plan, arrivals=arrivals, seed=seed, trace=read, each=True, estimates=estimates
        )
        require_settled(queue, plan.name, measured, ended=True)
    else:
        read, region = None, require_stable(queue, plan.name)
        load = region.load
        runs = replicate(
            queue,
            plan,
            arrivals=arrivals,
            seed=seed,
            jobs=jobs,
            watch=watch,
            estimates=estimates,
            replications=replications or default_replications(queue, plan, arrivals, load),
        )
        for part in runs.done:
            require_settled(queue, plan.name, part, proven=region.exact)
        arrivals, measured = runs.arrivals, pool(runs.done)
    solution = summarize(
        queue,
        measured,
        arrivals,
        threshold=rule.threshold,
        trace=read,
        load=load,
        replications=len(runs.done) if runs else 1,
        note=_remarks(queue, plan, measured, arrivals, runs),
    )
    if runs and len(runs.done) < runs.of:
        raise InterruptedRunError(solution)
    return solution


def _remarks(
    queue: Instance, plan: Plan, measured: Measured, arrivals: int, runs: Replicated | None
) -> str:
    """Return remarks on a run."""
    notes = []
    if runs and len(runs.done) < runs.of:
        notes.append(f"interrupted: {len(runs.done)} of {runs.of} replications are done")
    if not plan.compiled or not COMPILES:
        notes.append(f"simulated in plain Python, {arrivals:,} arrivals")
    unseen = np.flatnonzero(measured.counts.sum(axis=0) == 0)
    if unseen.size:
        needs = ", ".join(str(queue.classes[c].need) for c in unseen)
        notes.append(f"no job of need {needs} completed: not in the means")
    return "; ".join(notes)
