"""EQUI-EPOCH, HEURISTIC-EPOCH(k), BUDDY, BUDDY*, HYBRID(k), and the paper's search for OPT-EPOCH.

Source: McCann and Zahorjan, TR 94-10-05, University of Washington, 1994: section 4 for epochs,
section 3 for rectangles, whose widths are powers of two. A width is the **maximum** of the smallest
power of two that holds the job and the width (N/J) 2^x that the lowest segment forces: the text's
"minimum" and the sign of its exponent contradict its own Figure 3.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby

from schedopt.instances.epoch import Instance, Partitioned, Rectangle, Scheduled, partitioned
from schedopt.policies.epoch.kernels import BUDDY, CODES, QuantumPlan, plan
from schedopt.policies.registry import NotApplicableError, Policy, register

PAPER = "McCann and Zahorjan, TR 94-10-05, University of Washington, 1994"
EQUAL = "equal allotments, the smallest jobs first; optimal for k = 0 and N = 2^n"
LARGEST = "HEURISTIC-EPOCH(k): the largest job opens an epoch, the largest that fit fill it"
POWERS = "rectangles of power-of-two widths, optimal among those; N and J powers of two"
SUBSETS = "BUDDY* on subsets of 2^i jobs, one after the other; N a power of two"
MIXED = "HYBRID(k): BUDDY on the smallest 2^i jobs, HEURISTIC-EPOCH(k) on the rest"
RECURSIVE = "OPT-EPOCH(k) by the paper's recursive search; counts the assignments it tests"
Packing = Callable[[Instance], Sequence[Sequence[int]]]
"""A function from an instance to the jobs of each epoch, by position."""

MOST_LOOKED_AT = 10_000_000
"""Number of slots of assignments after which the search ends, which takes some seconds."""

MOST_JOBS = 400
"""Most jobs of the search."""


def packing(name: str, *, source: str, summary: str) -> Callable[[Packing], Packing]:
    """Register a function from an instance to the positions of the jobs of each epoch.

    The nodes of an epoch are divided as the instance's inequity allows. ``name``, ``source`` and
    ``summary`` are those of a `Policy`.
    """

    def decorate(pack: Packing) -> Packing:
        def run(instance: Instance) -> Partitioned:
            return partitioned(instance, pack(instance))

        register(Policy(name=name, problem="epoch", run=run, source=source, summary=summary))
        return pack

    return decorate


def _run_heuristic(name: str, instance: Instance) -> tuple[QuantumPlan, int]:
    minima = instance.minima[instance.descending].tolist()
    built = QuantumPlan(*([0] * len(minima) for _ in QuantumPlan._fields))
    code, nodes, k = CODES.get(name, BUDDY), instance.nodes, instance.inequity
    return built, plan(code, minima, nodes, k, MOST_LOOKED_AT, built)


def _epochs_of_plan(name: str, instance: Instance) -> Partitioned:
    if name == "paper-search" and len(instance.jobs) > MOST_JOBS:
        raise NotApplicableError(f"the recursion over epochs supports at most {MOST_JOBS} jobs")
    plan, tested = _run_heuristic(name, instance)
    if tested < 0:
        raise NotApplicableError(f"no end after {MOST_LOOKED_AT:,} slots of assignments")
    order, equal = instance.descending, name == "equi-epoch"
    members = [[order[i] for i in some] for _, some in groupby(plan.turn, plan.start.__getitem__)]
    return partitioned(instance, members, inequity=0 if equal else None, tested=tested or None)


def _rectangles_of_plan(name: str, instance: Instance) -> Scheduled:
    total, names = len(instance.jobs), instance.names
    if not _is_power_of_two(instance.nodes):
        raise NotApplicableError(f"BUDDY is for 2^n nodes: {instance.nodes} is no power of two")
    if name == "buddy" and not _is_power_of_two(total):
        raise NotApplicableError(
            f"BUDDY is for 2^j jobs: {total} is no power of two (see buddy-star)"
        )
    plan, _ = _run_heuristic(name, instance)
    pieces = {
        names[instance.descending[i]]: Rectangle(
            nodes=plan.nodes[i],
            start=plan.start[i] / total,
            end=(plan.start[i] + plan.length[i]) / total,
            first=plan.first[i],
        )
        for i in plan.turn
    }
    return Scheduled(rectangles=pieces)


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


for _name, _run, _section, _summary in (
    ("equi-epoch", _epochs_of_plan, "4.1", EQUAL),
    ("heuristic-epoch", _epochs_of_plan, "4.3", LARGEST),
    ("buddy", _rectangles_of_plan, "3", POWERS),
    ("buddy-star", _rectangles_of_plan, "3.2", SUBSETS),
    ("hybrid", _rectangles_of_plan, "3.2", MIXED),
    ("paper-search", _epochs_of_plan, "4.2", RECURSIVE),
):
    _source = f"{PAPER}, section {_section}"
    register(Policy(_name, "epoch", partial(_run, _name), _source, _summary))
