"""EQUI-EPOCH and HEURISTIC-EPOCH(k), filled greedily; BUDDY, BUDDY* and HYBRID(k) by rectangles.

Source: McCann and Zahorjan, TR 94-10-05, University of Washington, 1994: sections 4.1 and 4.3 for
epochs, section 3 for rectangles, whose widths are powers of two. A width is the **maximum** of the
smallest power of two that holds the job and the width (N/J)·2^x that the lowest segment forces: the
text's "minimum" and the sign of its exponent contradict its own Figure 3.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from schedopt.instances.arithmetic import divisors
from schedopt.instances.epoch import (
    Instance,
    Partitioned,
    Rectangle,
    Scheduled,
    allotted,
    partitioned,
)
from schedopt.policies.registry import NotApplicableError, Policy, register

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


@dataclass(frozen=True)
class Piece:
    """A rectangle on contiguous nodes from ``first`` on, in a quantum of 1."""

    first: int
    width: int
    bottom: Fraction
    height: Fraction


def is_power(number: int) -> bool:
    """Tell whether a number is a power of two."""
    return number & (number - 1) == 0


def buddy(descending: Sequence[int], nodes: int) -> list[Piece]:
    """Return BUDDY's rectangles for 2^j jobs, by non-increasing minimum, on N = 2^n nodes.

    Each job goes above the left edge of the min-seg: the segment of the frontier whose height has
    the largest power of two as its denominator.
    """
    frontier: list[tuple[int, int, Fraction]] = [(0, nodes, Fraction(0))]  # (left, width, height)
    pieces = []
    for minimum in descending:
        lowest = max(
            (segment for segment in frontier if segment[2] < 1),
            key=lambda segment: segment[2].denominator,
        )
        left, room, bottom = lowest
        forced = Fraction(nodes, len(descending)) * bottom.denominator
        width = max(1 << (minimum - 1).bit_length(), floor(forced), 1)
        height = Fraction(nodes, len(descending) * width)
        pieces.append(Piece(left, width, bottom, height))
        at = frontier.index(lowest)
        frontier[at : at + 1] = [(left, width, bottom + height)]
        if room > width:
            frontier.insert(at + 1, (left + width, room - width, bottom))
        frontier = _merged(frontier)
    return pieces


def _merged(frontier: list[tuple[int, int, Fraction]]) -> list[tuple[int, int, Fraction]]:
    """Join neighbours of equal height."""
    joined = frontier[:1]
    for left, width, height in frontier[1:]:
        if height == joined[-1][2]:
            joined[-1] = (joined[-1][0], joined[-1][1] + width, height)
        else:
            joined.append((left, width, height))
    return joined


def _placed(
    instance: Instance, members: Sequence[int], begin: int
) -> Iterator[tuple[str, Rectangle]]:
    """Schedule some jobs by BUDDY in their share of the quantum, after `begin` others."""
    total, order = len(instance.jobs), _falling(instance, members)
    pieces = buddy(instance.minima[order].tolist(), instance.nodes)
    for j, piece in zip(order, pieces, strict=True):
        start = (begin + len(order) * piece.bottom) / total
        end = (begin + len(order) * (piece.bottom + piece.height)) / total
        yield (
            instance.jobs[j].name,
            Rectangle(nodes=piece.width, start=float(start), end=float(end), first=piece.first),
        )


def _falling(instance: Instance, members: Sequence[int]) -> list[int]:
    """Return positions of jobs by non-increasing minimum, the file's order on ties."""
    minima = instance.minima.tolist()
    return sorted(members, key=lambda j: (-minima[j], j))


def _powers_only(instance: Instance) -> None:
    if not is_power(instance.nodes):
        raise NotApplicableError(f"BUDDY is for 2^n nodes: {instance.nodes} is no power of two")


def _buddy(instance: Instance) -> Scheduled:
    _powers_only(instance)
    if not is_power(len(instance.jobs)):
        raise NotApplicableError(
            f"BUDDY is for 2^j jobs: {len(instance.jobs)} is no power of two (see buddy-star)"
        )
    return Scheduled(rectangles=dict(_placed(instance, instance.descending, 0)))


def _buddy_star(instance: Instance) -> Scheduled:
    """Split J into its binary digits, the smallest jobs in the largest subset (Figure 5)."""
    _powers_only(instance)
    order, done = instance.ascending, 0
    rectangles: dict[str, Rectangle] = {}
    while done < len(order):
        size = 1 << (len(order) - done).bit_length() - 1
        rectangles.update(_placed(instance, order[done : done + size], done))
        done += size
    return Scheduled(rectangles=rectangles)


def _hybrid(instance: Instance) -> Scheduled:
    """BUDDY on the 2^floor(log2 J) smallest jobs, then HEURISTIC-EPOCH(k) on the others."""
    _powers_only(instance)
    order, total = instance.ascending, len(instance.jobs)
    done = 1 << total.bit_length() - 1
    rectangles = dict(_placed(instance, order[:done], 0))
    for members in heuristic_epochs(instance, _falling(instance, order[done:])):
        minima = instance.minima[members].tolist()
        first, start, end = 0, done / total, (done + len(members)) / total
        for j, nodes in zip(
            members, allotted(minima, instance.nodes, instance.inequity), strict=True
        ):
            rectangles[instance.jobs[j].name] = Rectangle(
                nodes=nodes, start=start, end=end, first=first
            )
            first += nodes
        done += len(members)
    return Scheduled(rectangles=rectangles)


register(
    Policy(
        name="buddy",
        problem="epoch",
        run=_buddy,
        source=f"{PAPER}, section 3",
        summary="rectangles of power-of-two widths, optimal among those; N and J powers of two",
    )
)
register(
    Policy(
        name="buddy-star",
        problem="epoch",
        run=_buddy_star,
        source=f"{PAPER}, section 3.2",
        summary="BUDDY* on subsets of 2^i jobs, one after the other; N a power of two",
    )
)
register(
    Policy(
        name="hybrid",
        problem="epoch",
        run=_hybrid,
        source=f"{PAPER}, section 3.2",
        summary="HYBRID(k): BUDDY on the smallest 2^i jobs, HEURISTIC-EPOCH(k) on the rest",
    )
)
