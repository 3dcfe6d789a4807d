"""How many epochs there are at least, and at most."""

from __future__ import annotations

from collections.abc import Sequence

from schedopt.formulations.epoch.rectangles import Rectangles
from schedopt.instances.arithmetic import divisors
from schedopt.instances.epoch import Instance
from schedopt.solvers.epoch.blocks import blocks
from schedopt.solvers.epoch.items import Items, items


def least_overhead(instance: Instance) -> float:
    """Return an overhead that no partition is below, whatever the side constraints."""
    minima = instance.minima[instance.descending].tolist()
    return float(instance.nodes * least_epochs(minima, instance.nodes, instance.inequity))


def least_epochs(descending: Sequence[int], nodes: int, inequity: int) -> int:
    """Return a number of epochs that no partition is below: by leaders, and by ΣM/N.

    With inequity 0 it is the fewest, by a shortest path.

    Parameters
    ----------
    descending : sequence of int
        Minima, not increasing.
    nodes, inequity : int
        N and k.
    """
    if inequity == 0:
        return len(blocks(descending, nodes)[0])
    return max(len(leaders(descending, nodes, inequity)), -(-sum(descending) // nodes))


def least_of(items: Items, descending: Sequence[int]) -> int:
    """Return a number of epochs that no partition under side constraints is below.

    Beside `least_epochs`: bundles leave nodes unused, and jobs that are apart need an epoch each.
    """
    free = least_epochs(descending, items.nodes, items.inequity)
    forced = -(-items.forced // items.nodes) if items.inequity else 0
    return max(free, forced, items.apart)


def leaders(descending: Sequence[int], nodes: int, inequity: int) -> list[int]:
    """Return minima that the leaders of any partition are no smaller than, one by one.

    An epoch whose largest job has minimum v holds at most 1 + floor((N - v)/max(1, s, v - k)) jobs
    of minimum s or more; with k = 0, at most the largest h that divides N with h·v <= N. The
    smaller v, the more. So walk down the sizes s and add a leader of size s only when those so far
    cannot hold all jobs of s or more: by induction, the i-th largest leader of any partition is
    no smaller than the i-th added here, and no partition has fewer.

    Parameters
    ----------
    descending : sequence of int
        Minima, not increasing.
    nodes, inequity : int
        N and k.
    """
    ways = divisors(nodes) if inequity == 0 else []

    def holds(leader: int, size: int) -> int:
        if inequity == 0:
            return next(h for h in ways if h * leader <= nodes)
        return 1 + (nodes - leader) // max(1, size, leader - inequity)

    found: list[int] = []
    for i, size in enumerate(descending):
        if i + 1 < len(descending) and descending[i + 1] == size:
            continue
        room = sum(holds(leader, size) for leader in found)
        if room <= i:
            found += [size] * -(-(i + 1 - room) // holds(size, size))
    return found


def narrowest(model: Rectangles) -> int:
    """Return an overhead that no schedule of rectangles is below.

    Each job has the narrowest width that it can have in any schedule, or that the largest job has
    that it must be together with; and at each instant all nodes run a job.
    """
    packed = items(model.instance, model.rules.values())
    minima: list[int] = model.instance.minima.tolist()
    width_of: dict[int, int] = dict(zip(minima, model.narrowest, strict=True))
    kinds = [] if packed is None else packed.kinds
    total: int = sum(width_of[kind.top] * len(kind.sizes) * len(kind.items) for kind in kinds)
    nodes: int = model.instance.nodes
    return max(total, nodes)
