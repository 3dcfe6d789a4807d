"""EQUI-EPOCH and HEURISTIC-EPOCH(k): epochs filled greedily, from the smallest or the largest job.

Source: McCann and Zahorjan, TR 94-10-05, University of Washington, 1994, sections 4.1 and 4.3.
"""

from collections.abc import Callable, Sequence

from schedopt.instances.arithmetic import divisors
from schedopt.instances.epoch import Instance, Partitioned, partitioned
from schedopt.policies.registry import Policy, register

PAPER = "McCann and Zahorjan, TR 94-10-05, University of Washington, 1994"
Packing = Callable[[Instance], Sequence[Sequence[int]]]
"""From an instance to the jobs of each epoch, by position."""


def equi_epochs(ascending: Sequence[int], nodes: int) -> list[int]:
    """Return how many jobs EQUI-EPOCH puts into each epoch, from the smallest job on.

    Each epoch has the largest h that divides N, with h jobs left, of which the largest fits on N/h
    nodes.
    """
    counts, done = [], 0
    while done < len(ascending):
        left = len(ascending) - done
        h = next(h for h in divisors(nodes) if h <= left and ascending[done + h - 1] * h <= nodes)
        counts.append(h)
        done += h
    return counts


def heuristic_epoch(descending: Sequence[int], nodes: int, inequity: int) -> list[int]:
    """Return which remaining jobs HEURISTIC-EPOCH(k) puts into the next epoch, by index.

    The largest job opens it; then each job, the largest first, is given max(M, largest - k, 1)
    nodes if as many are left. With k = 0 the largest job alone decides how many fit.
    """
    if inequity == 0:
        h = next(h for h in divisors(nodes) if h <= len(descending) and descending[0] * h <= nodes)
        return list(range(h))
    floor = max(1, descending[0] - inequity)
    taken, spare = [], nodes
    for i, minimum in enumerate(descending):
        width = max(minimum, floor)
        if width <= spare:
            taken.append(i)
            spare -= width
        if spare < floor:
            break
    return taken


def heuristic_epochs(instance: Instance, members: Sequence[int]) -> list[list[int]]:
    """Return the epochs of HEURISTIC-EPOCH(k) as positions; members by non-increasing minimum."""
    minima, left, epochs = instance.minima, list(members), []
    while left:
        taken = heuristic_epoch(minima[left].tolist(), instance.nodes, instance.inequity)
        epochs.append([left[i] for i in taken])
        gone = set(taken)
        left = [j for i, j in enumerate(left) if i not in gone]
    return epochs


def packing(name: str, *, source: str, summary: str) -> Callable[[Packing], Packing]:
    """Register a function from an instance to the positions of each epoch's jobs as a policy.

    An epoch's nodes are shared out as the instance's inequity allows; ``name``, ``source`` and
    ``summary`` are those of a `Policy`.
    """

    def decorate(pack: Packing) -> Packing:
        def run(instance: Instance) -> Partitioned:
            return partitioned(instance, pack(instance))

        register(Policy(name=name, problem="epoch", run=run, source=source, summary=summary))
        return pack

    return decorate


def _equi(instance: Instance) -> Partitioned:
    order, minima = instance.ascending, instance.minima
    epochs, done = [], 0
    for count in equi_epochs(minima[order].tolist(), instance.nodes):
        epochs.append(order[done : done + count])
        done += count
    return partitioned(instance, epochs, inequity=0)


register(
    Policy(
        name="equi-epoch",
        problem="epoch",
        run=_equi,
        source=f"{PAPER}, section 4.1",
        summary="equal allotments, the smallest jobs first; optimal for k = 0 and N = 2^n",
    )
)


@packing(
    "heuristic-epoch",
    source=f"{PAPER}, section 4.3",
    summary="HEURISTIC-EPOCH(k): the largest job opens an epoch, the largest that fit fill it",
)
def _heuristic(instance: Instance) -> list[list[int]]:
    return heuristic_epochs(instance, instance.descending)
