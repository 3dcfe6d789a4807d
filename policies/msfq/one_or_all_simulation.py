"""MSFQ on a one-or-all system with exponential sizes, by its own kernel, from records and back."""

from __future__ import annotations

from typing import Any

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
    found = compiled.nothing_yet(run, 2)
    filled = {name: found[name] for name in found if name not in ("responses", "samples")}
    draw, when = (stream(run.seed, 8 * run.replication + number) for number in (1, 2))
    exponential(when)  # `compiled` draws a first gap, for jobs whose sizes come with them
    whole, real, heads = np.zeros(11, np.int64), np.zeros(8), np.zeros(2, np.int64)
    whole[kernels.BATCH] = -1
    given = {
        "k": k, "threshold": rule.most, "lazy": rule.lazy, "small": small,
        "rates": np.array([job.arrival_rate for job in queue.classes]),
        "services": np.array([job.service_rate for job in queue.classes]),
        "arrivals": run.arrivals, "warm": run.warm, "whole": whole, "real": real,
        "draw": draw, "when": when, "gaps": np.zeros(DRAWN_AHEAD), "picks": np.zeros(DRAWN_AHEAD),
        "heads": heads, "served": np.zeros(k),
    }  # fmt: skip
    lines: dict[str, Any] = {"small_line": np.zeros(PLACES), "large_line": np.zeros(PLACES)}
    while True:
        whole[kernels.PAUSE] = whole[kernels.NUMBER] + compiled.SLICE
        kernels.advance(**given, **lines, **filled)
        if run.pace:
            run.pace(int(whole[kernels.NUMBER]))
        if whole[kernels.NUMBER] >= run.arrivals:
            break
        if whole[kernels.FULL]:
            lines = _longer(lines, heads)
            whole[kernels.FULL] = 0
    now, running, busy = real[kernels.NOW], whole[kernels.RUNNING], whole[kernels.BUSY]
    smalls, larges = whole[kernels.SMALL], whole[kernels.LARGE]
    found["areas"][small] += smalls * (now - real[kernels.SMALL_SINCE])
    found["areas"][large] += larges * (now - real[kernels.LARGE_SINCE])
    found["phases"][0, whole[kernels.PHASE]] += now
    oldest = np.zeros(2)
    if smalls > running:
        oldest[small] = now - abs(lines["small_line"][heads[0]])
    if larges > busy:
        oldest[large] = now - abs(lines["large_line"][heads[1]])
    working = k if busy else running
    return Played(
        **found, time=float(now - real[kernels.BEGAN]),
        busy=float(real[kernels.BUSY_AREA] + working * (now - real[kernels.BUSY_SINCE])),
        most=int(whole[kernels.MOST]), elapsed=float(now), oldest=oldest,
    )  # fmt: skip


def _longer(lines: dict[str, Any], heads: Any) -> dict[str, Any]:
    """Return the lines with twice as many places, each from its beginning on."""
    turned = [np.roll(line, -head) for line, head in zip(lines.values(), heads, strict=True)]
    heads[:] = 0
    return {name: np.concatenate([line, line]) for name, line in zip(lines, turned, strict=True)}
