"""Which jobs fit into one epoch, how many nodes each gets, and the record of a partition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from schedopt.instances.epoch.records import Epoch, Instance, Partitioned


def fits(minima: Sequence[int], nodes: int, inequity: int) -> bool:
    """Tell whether jobs of these minima can share all nodes of one epoch.

    With inequity k >= 1 they can if and only if Σ max(M_j, max M - k, 1) <= N: give each job that
    many nodes, then each spare node to a smallest allotment. With k = 0 each of h jobs gets N/h,
    which must be whole.
    """
    if not minima:
        return False
    largest = max(minima)
    if inequity == 0:
        return nodes % len(minima) == 0 and largest * len(minima) <= nodes
    floor = max(1, largest - inequity)
    return sum(max(m, floor) for m in minima) <= nodes


def allotted(minima: Sequence[int], nodes: int, inequity: int) -> list[int]:
    """Return A_j of jobs that share all nodes as evenly as possible, else `ValueError`."""
    if not fits(minima, nodes, inequity):
        raise ValueError(f"{minima} do not fit into {nodes} nodes with inequity {inequity}")
    if inequity == 0:
        return [nodes // len(minima)] * len(minima)
    floor = max(1, max(minima) - inequity)
    least = [max(m, floor) for m in minima]
    level, above = floor, nodes + 1  # the highest level to which all can be raised
    while above - level > 1:
        middle = (level + above) // 2
        enough = sum(max(a, middle) for a in least) <= nodes
        level, above = (middle, above) if enough else (level, middle)
    raised = [max(a, level) for a in least]
    spare = nodes - sum(raised)
    for i, a in enumerate(raised):
        if spare and a == level:
            raised[i] += 1
            spare -= 1
    return raised


def partitioned(
    instance: Instance,
    epochs: Iterable[Sequence[int]],
    *,
    inequity: int | None = None,
    tested: int | None = None,
) -> Partitioned:
    """Return the record of a partition, given as the positions of each epoch's jobs.

    A policy may state a smaller ``inequity`` than the instance's, and how many assignments it
    ``tested``. `ValueError` if the jobs of an epoch do not fit.
    """
    jobs, made = instance.jobs, []
    most = instance.inequity if inequity is None else inequity
    for members in epochs:
        minima = [jobs[j].minimum for j in members]
        nodes = allotted(minima, instance.nodes, most)
        names = [jobs[j].name for j in members]
        made.append(
            Epoch(
                duration=len(names) / len(jobs),
                nodes=dict(zip(names, nodes, strict=True)),
            )
        )
    return Partitioned(epochs=tuple(made), tested=tested)
