"""KNEE's shares, and the search for its best threshold alpha."""

import numpy as np

from schedopt.instances.hesrpt import Allocated, Instance
from schedopt.policies.hesrpt.simulator import Floats, Jobs, play

GRID, ZOOMS = 24, 3
"""Thresholds on a grid, and how often the grid is refined around the best one."""


def knee_shares(instance: Instance, jobs: Jobs, left: Floats, alpha: float) -> Floats:
    """Return KNEE's shares, shape (m,): knees from the smallest, as far as the servers go."""
    knees = instance.each("knee", jobs, left / alpha) / instance.servers
    order = np.argsort(knees, kind="stable")
    shares = np.zeros(len(jobs))
    before = np.concatenate([[0.0], np.cumsum(knees[order])[:-1]])
    shares[order] = np.clip(1.0 - before, 0.0, knees[order])
    return shares


def cost(instance: Instance, alpha: float) -> float:
    """Return what KNEE with a threshold costs."""

    def shares(night: Instance, jobs: Jobs, left: Floats) -> Floats:
        return knee_shares(night, jobs, left, alpha)

    ends, _ = play(instance, shares, record=False)
    names = (job.name for job in instance.jobs)
    done = Allocated(order=(), completion=dict(zip(names, ends.tolist(), strict=True)))
    return instance.objective_of(done)


def best_alpha(instance: Instance) -> float:
    """Return the threshold with the least cost, by trying thresholds on ever finer grids.

    Thresholds between those at which the largest job's knee is all servers and at which the
    smallest's is a hundredth of its even part are tried, in equal ratios.
    """
    everyone = np.arange(len(instance.jobs))
    sizes, servers = instance.sizes, float(instance.servers)

    def slope(k: float) -> Floats:
        """-d/dk x/s(k), over half a step in k on both sides."""
        low, high = np.full(len(sizes), 0.99 * k), np.full(len(sizes), 1.01 * k)
        slower = sizes / instance.each("at", everyone, low)
        faster = sizes / instance.each("at", everyone, high)
        return np.asarray((slower - faster) / (0.02 * k))

    few = servers / len(sizes) / 100.0
    high = float(slope(few).max())
    low = max(float(slope(servers).min()), high * 1e-15)
    best, least = high, np.inf
    for _ in range(ZOOMS + 1):
        alphas = np.geomspace(low, high, GRID)
        for alpha in alphas.tolist():
            trial = cost(instance, alpha)
            if trial < least:
                best, least = alpha, trial
        step = (high / low) ** (1 / (GRID - 1))
        low, high = best / step, best * step
    return best
