"""EQUI-EPOCH and HEURISTIC-EPOCH(k); BUDDY, BUDDY* and HYBRID(k); the paper's search for OPT-EPOCH.

Source: McCann and Zahorjan, TR 94-10-05, University of Washington, 1994: section 4 for epochs,
section 3 for rectangles, whose widths are powers of two. A width is the **maximum** of the smallest
power of two that holds the job and the width (N/J)·2^x that the lowest segment forces: the text's
"minimum" and the sign of its exponent contradict its own Figure 3.
"""

from collections.abc import Callable, Sequence
from itertools import groupby

from schedopt.instances.epoch import Instance, Partitioned, Rectangle, Scheduled, partitioned
from schedopt.policies.epoch.kernels import CODES, Plan, plan
from schedopt.policies.registry import NotApplicableError, Policy, register
from schedopt.solvers.compiling import plainly

PAPER = "McCann and Zahorjan, TR 94-10-05, University of Washington, 1994"
Packing = Callable[[Instance], Sequence[Sequence[int]]]
"""From an instance to the jobs of each epoch, by position."""

MOST_LOOKED_AT = 10_000_000
"""The search gives up after so many slots of assignments: some seconds."""

MOST_JOBS = 400
"""The most jobs of the search."""


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


def planned(name: str, instance: Instance) -> tuple[Plan, int]:
    """Return what a policy plans for the jobs by non-increasing minimum, and what it tested."""
    minima = instance.minima[instance.descending].tolist()
    made = Plan(*([0] * len(minima) for _ in Plan._fields))
    nodes, k = instance.nodes, instance.inequity
    return made, plainly(plan, CODES[name], minima, nodes, k, MOST_LOOKED_AT, made)


def _epochs(instance: Instance, made: Plan) -> list[list[int]]:
    order = instance.descending
    return [[order[i] for i in some] for _, some in groupby(made.turn, made.start.__getitem__)]


def _equi(instance: Instance) -> Partitioned:
    made, _ = planned("equi-epoch", instance)
    return partitioned(instance, _epochs(instance, made), inequity=0)


def _heuristic(instance: Instance) -> Partitioned:
    made, _ = planned("heuristic-epoch", instance)
    return partitioned(instance, _epochs(instance, made))


def _rectangles(name: str, instance: Instance) -> Scheduled:
    total, names = len(instance.jobs), instance.names
    if not _is_power(instance.nodes):
        raise NotApplicableError(f"BUDDY is for 2^n nodes: {instance.nodes} is no power of two")
    made, _ = planned(name, instance)
    return Scheduled(
        rectangles={
            names[instance.descending[i]]: Rectangle(
                nodes=made.nodes[i],
                start=made.start[i] / total,
                end=(made.start[i] + made.length[i]) / total,
                first=made.first[i],
            )
            for i in made.turn
        }
    )


def _is_power(number: int) -> bool:
    return number & (number - 1) == 0


def _buddy(instance: Instance) -> Scheduled:
    if _is_power(instance.nodes) and not _is_power(len(instance.jobs)):
        raise NotApplicableError(
            f"BUDDY is for 2^j jobs: {len(instance.jobs)} is no power of two (see buddy-star)"
        )
    return _rectangles("buddy-star", instance)


def _buddy_star(instance: Instance) -> Scheduled:
    """Split J into its binary digits, the smallest jobs in the largest subset (Figure 5)."""
    return _rectangles("buddy-star", instance)


def _hybrid(instance: Instance) -> Scheduled:
    """BUDDY on the 2^floor(log2 J) smallest jobs, then HEURISTIC-EPOCH(k) on the others."""
    return _rectangles("hybrid", instance)


def _search(instance: Instance) -> Partitioned:
    """Count the assignments tested that hold the largest job that is left."""
    if len(instance.jobs) > MOST_JOBS:
        raise NotApplicableError(f"a recursion over epochs: at most {MOST_JOBS} jobs")
    made, tested = planned("paper-search", instance)
    if tested < 0:
        raise NotApplicableError(f"no end after {MOST_LOOKED_AT:,} slots of assignments")
    return partitioned(instance, _epochs(instance, made), tested=tested)


for _name, _run, _section, _summary in (
    (
        "equi-epoch",
        _equi,
        "4.1",
        "equal allotments, the smallest jobs first; optimal for k = 0 and N = 2^n",
    ),
    (
        "heuristic-epoch",
        _heuristic,
        "4.3",
        "HEURISTIC-EPOCH(k): the largest job opens an epoch, the largest that fit fill it",
    ),
    (
        "buddy",
        _buddy,
        "3",
        "rectangles of power-of-two widths, optimal among those; N and J powers of two",
    ),
    (
        "buddy-star",
        _buddy_star,
        "3.2",
        "BUDDY* on subsets of 2^i jobs, one after the other; N a power of two",
    ),
    (
        "hybrid",
        _hybrid,
        "3.2",
        "HYBRID(k): BUDDY on the smallest 2^i jobs, HEURISTIC-EPOCH(k) on the rest",
    ),
    (
        "paper-search",
        _search,
        "4.2",
        "OPT-EPOCH(k) by the paper's recursive search; counts the assignments it tests",
    ),
):
    register(
        Policy(
            name=_name,
            problem="epoch",
            run=_run,
            source=f"{PAPER}, section {_section}",
            summary=_summary,
        )
    )
