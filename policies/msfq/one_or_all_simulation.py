"""MSFQ on a one-or-all system with exponential sizes, by its own kernel, from records and back."""

from __future__ import annotations

import numpy as np

from schedopt.instances.msfq import Instance
from schedopt.policies.msfq import compiled
from schedopt.policies.msfq import one_or_all_kernels as kernels
from schedopt.policies.msfq.kernels import DRAWN_AHEAD
from schedopt.policies.msfq.one_or_all import Msfq
from schedopt.policies.msfq.played import Played, Run
from schedopt.policies.msfq.random_kernels import exponential, stream

PLACES = 8 * DRAWN_AHEAD
"""Of each line to begin with; doubled whenever that may be too few."""


def play_lean(queue: Instance, rule: Msfq, run: Run) -> Played:
    """Play MSFQ: see `simulation.play`."""
    small, large, k = rule.small, rule.large, queue.servers
    found, given = compiled.nothing_yet(run, 2), compiled.given_of(queue, rule, run)
    draw, when = (stream(run.seed, 8 * run.replication + number) for number in (1, 2))
    exponential(when)  # `compiled` draws a first gap, for jobs whose sizes come with them
    whole, real, heads = np.zeros(11, np.int64), np.zeros(8), np.zeros(2, np.int64)
    whole[kernels.BATCH] = -1
    kept = kernels.Kept(
        whole, real, draw, when, np.zeros(DRAWN_AHEAD), np.zeros(DRAWN_AHEAD), heads, np.zeros(k)
    )
    lines = [np.zeros(PLACES), np.zeros(PLACES)]
    while True:
        whole[kernels.PAUSE] = whole[kernels.NUMBER] + compiled.SLICE
        kernels.advance(rule.most, rule.lazy, small, given, kept, found, *lines)
        if run.pace:
            run.pace(int(whole[kernels.NUMBER]))
        if whole[kernels.NUMBER] >= run.arrivals:
            break
        if whole[kernels.FULL]:
            lines = [
                np.tile(np.roll(line, -head), 2) for line, head in zip(lines, heads, strict=True)
            ]
            heads[:], whole[kernels.FULL] = 0, 0
    now, running, busy = real[kernels.NOW], whole[kernels.RUNNING], whole[kernels.BUSY]
    smalls, larges = whole[kernels.SMALL], whole[kernels.LARGE]
    found.areas[small] += smalls * (now - real[kernels.SMALL_SINCE])
    found.areas[large] += larges * (now - real[kernels.LARGE_SINCE])
    found.phases[0, whole[kernels.PHASE]] += now
    oldest = np.zeros(2)
    if smalls > running:
        oldest[small] = now - abs(lines[0][heads[0]])
    if larges > busy:
        oldest[large] = now - abs(lines[1][heads[1]])
    working = k if busy else running
    return Played(
        **found._asdict(), time=float(now - real[kernels.BEGAN]),
        busy=float(real[kernels.BUSY_AREA] + working * (now - real[kernels.BUSY_SINCE])),
        most=int(whole[kernels.MOST]), elapsed=float(now), oldest=oldest,
    )  # fmt: skip
