"""The rules of the 1994 paper by their definitions, for jobs by non-increasing minimum."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, groupby


def equi(minima: Sequence[int], nodes: int) -> Iterator[list[int]]:
    """Yield the jobs of each epoch: the smallest first, as many as can have equal allotments."""
    left = list(range(len(minima)))[::-1]
    while left:
        able = [h for h in range(1, len(left) + 1) if minima[left[h - 1]] * h <= nodes]
        h = max(h for h in able if nodes % h == 0)
        yield left[:h]
        left = left[h:]


def heuristic(minima: Sequence[int], nodes: int, k: int, end: int) -> Iterator[list[int]]:
    """Yield the jobs of each epoch, of those before ``end``, the largest first."""
    left = list(range(end))
    while left:
        largest = minima[left[0]]
        taken: list[int] = []
        if k == 0:
            most = min(len(left), nodes // largest)
            taken = left[: max(h for h in range(1, most + 1) if nodes % h == 0)]
        else:
            used = 0
            for j in left:
                width = max(1, minima[j], largest - k)
                if used + width <= nodes:
                    taken.append(j)
                    used += width
        yield taken
        left = [j for j in left if j not in taken]


def buddy(minima: Sequence[int], nodes: int) -> Iterator[tuple[int, int, Fraction, Fraction]]:
    """Yield each job's first node, width, start and length, for 2^j jobs and 2^n nodes."""
    heights = [Fraction(0)] * nodes
    for minimum in minima:
        segments = [list(some) for _, some in groupby(range(nodes), heights.__getitem__)]
        low = [segment[0] for segment in segments if heights[segment[0]] < 1]
        left = max(low, key=lambda node: heights[node].denominator)
        start = heights[left]
        forced = nodes * start.denominator // len(minima)
        width = max(1 << (minimum - 1).bit_length(), forced, 1)
        length = Fraction(nodes, len(minima) * width)
        yield left, width, start, length
        heights[left : left + width] = [start + length] * width


@cache
def cuts(count: int, nodes: int, k: int) -> list[tuple[int, ...]]:
    """Return the ways to cut nodes into allotments that differ by at most k, in a fixed order."""
    falling = combinations_with_replacement(range(nodes, 0, -1), count)
    ways = [way for way in falling if sum(way) == nodes and way[0] - way[-1] <= k]
    return sorted(ways, key=lambda way: (way[0], [-part for part in way]))


def opt(minima: Sequence[int], nodes: int, k: int) -> tuple[list[list[int]], int]:
    """Return the epochs of OPT-EPOCH(k), and how many assignments its recursion tests."""
    best: list[list[int]] = []
    tested = 0

    def search(left: list[int], chosen: list[list[int]]) -> None:
        nonlocal best, tested
        if not left:
            best = chosen
            return
        for count in range(len(left), 0, -1):
            for way in cuts(count, nodes, k):
                if best and len(chosen) + 1 >= len(best):
                    return
                taken: list[int] = []
                for j in left:
                    if len(taken) < count and minima[j] <= way[len(taken)]:
                        taken.append(j)
                if len(taken) < count or taken[0] != left[0]:
                    continue
                tested += 1
                search([j for j in left if j not in taken], [*chosen, taken])
                if k > 0 and taken == left[:count]:
                    return

    search(list(range(len(minima))), [])
    return best, tested
