"""A policy evaluated: simulated where it may be stable, and refused a number where it was not."""

from __future__ import annotations

import numpy as np

from instances.errors import InputError, shown
from instances.msfq import Instance, Simulated
from policies.msfq.played import Played
from policies.msfq.rule import Plan
from policies.msfq.simulation import play
from policies.msfq.stability import require_settled, require_stable
from policies.msfq.summary import summary


def evaluated(
    queue: Instance, plan: Plan, *, seed: int, arrivals: int, trace: str | None, estimates: bool
) -> Simulated:
    """Simulate a policy.

    Parameters
    ----------
    queue : Instance
        Servers and classes.
    plan : Plan
        The policy.
    seed : int
        The same seed, the same jobs.
    arrivals : int
        Jobs.
    trace : str or None
        A file of jobs to play in place of random ones.
    estimates : bool
        Whether a rule in plain Python knows how long each job takes.

    Raises
    ------
    UnstableError
        If the policy cannot be stable, starves a class, or lets jobs pile up.
    InputError
        If the seed, the trace or the rule is not right.
    """
    if not 0 <= seed < 2**31:
        raise InputError("a whole number from 0 to 2^31 - 1", found=shown(seed), place="seed")
    rule = plan.make()
    if trace is not None:
        from instances.msfq.traces import read_trace

        read, load = read_trace(trace, queue), None
        arrivals = len(read.times)
        played = play(
            queue, plan, arrivals=arrivals, seed=seed, trace=read, each=True, estimates=estimates
        )
        require_settled(queue, plan.name, played, ended=True)
    else:
        read, region = None, require_stable(queue, plan.name)
        load = region.load
        played = play(queue, plan, arrivals=arrivals, seed=seed, estimates=estimates)
        require_settled(queue, plan.name, played, proven=region.exact)
    note = _note(queue, plan, played, arrivals)
    return summary(
        queue, played, arrivals, threshold=rule.threshold, trace=read, load=load, note=note
    )


def _note(queue: Instance, plan: Plan, played: Played, arrivals: int) -> str:
    """Return what is to be said of a run beside its numbers."""
    notes = []
    if plan.twin is None:
        notes.append(f"simulated in plain Python, {arrivals:,} arrivals")
    unseen = np.flatnonzero(played.counts.sum(axis=0) == 0)
    if unseen.size:
        needs = ", ".join(str(queue.classes[c].need) for c in unseen)
        notes.append(f"no job of need {needs} completed: not in the means")
    return "; ".join(notes)
