"""Possible widths of rectangles with equal areas that fill the quantum.

On each node the heights N/(J A) of the rectangles sum to 1, so 1/A sums to J/N over them. A width
in no such multiset is in no schedule.
"""

import heapq
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm, log2

MOST_UNITS = 1 << 26  # the finest grid, in units of the quantum, on which sums are enumerated


def possible_widths(nodes: int, jobs: int, least: int) -> list[int]:
    """Return the widths from ``least`` to N that can occur in a schedule, in increasing order."""
    total = Fraction(jobs, nodes)
    widths, before = {w for w in range(least, nodes + 1) if w * jobs >= nodes}, set[int]()
    while widths != before:
        before = widths
        for prime in _primes(nodes):
            widths = _drop_unbalanced(widths, prime, total)
    units = grid(widths, nodes, jobs)
    return sorted(_keep_reachable(widths, units, nodes) if units <= MOST_UNITS else widths)


def grid(widths: Iterable[int], nodes: int, jobs: int) -> int:
    """Return the number of units in a quantum for which every rectangle's height is an integer."""
    return int(lcm(*widths, nodes) * Fraction(jobs, nodes))


def coarsen(
    widths: Sequence[int], nodes: int, jobs: int, most: int, count: int | None = None
) -> list[int]:
    """Remove widths other than N until the grid has at most ``most`` units.

    With ``count``, also until at most so many widths remain.
    """
    kept = list(widths)
    primes = [p for p in _primes(nodes) if any(w % p == 0 for w in kept)]
    powers = {p: {w: _prime_power(w, p) for w in kept} for p in primes}
    while grid(kept, nodes, jobs) > most or len(kept) > (count or nodes):
        ways: list[tuple[float, int, int]] = []
        for prime in primes:
            mine = [powers[prime][w] for w in kept]
            highest, always = max(mine), _prime_power(nodes, prime)
            if highest > always:
                next_best = max(power for power in mine if power < highest)
                bits = (highest - next_best) * log2(prime)
                ways.append((mine.count(highest) / bits, prime, highest))
        if not ways:
            break
        _, prime, highest = min(ways)
        kept = [w for w in kept if powers[prime][w] < highest]
    return kept


def _drop_unbalanced(widths: set[int], prime: int, total: Fraction) -> set[int]:
    """Remove the widths with most factors of a prime that the other widths cannot balance.

    Let p^a be the highest power in any width, with only a lower power in the total's denominator.
    Then the sum of 1/c over the widths c p^a of a multiset is a multiple of p. The smallest sum of
    1/A for each residue is a shortest path.
    """
    highest = max((_prime_power(w, prime) for w in widths), default=0)
    if highest == 0 or highest <= _prime_power(total.denominator, prime):
        return widths
    group = [w for w in widths if _prime_power(w, prime) == highest]
    step = {w: pow(w // prime**highest, -1, prime) for w in group}
    whole = lcm(*group, total.denominator)  # lengths in units of 1/whole
    length_of = {w: whole // w for w in group}
    most = int(total * whole)
    shortest = {0: 0}
    heap = [(0, 0)]
    while heap:
        length, residue = heapq.heappop(heap)
        if length > shortest[residue]:
            continue
        for w in group:
            further, to = length + length_of[w], (residue + step[w]) % prime
            if further <= most and further < shortest.get(to, most + 1):
                shortest[to] = further
                heapq.heappush(heap, (further, to))
    return widths - {w for w in group if length_of[w] + shortest.get(-step[w] % prime, most) > most}


def _keep_reachable(widths: set[int], units: int, nodes: int) -> set[int]:
    """Keep the widths that are in a multiset of heights whose sum is the quantum."""
    whole = lcm(*widths, nodes)
    heights = {w: whole // w for w in widths}
    mask = (1 << (units + 1)) - 1
    sums = 1
    for height in heights.values():
        step = height
        while step <= units:
            sums |= sums << step & mask
            step *= 2
        sums &= mask
    return {w for w, height in heights.items() if sums >> (units - height) & 1}


def _prime_power(number: int, prime: int) -> int:
    power = 0
    while number % prime == 0:
        number //= prime
        power += 1
    return power


def _primes(most: int) -> list[int]:
    return [p for p in range(2, most + 1) if all(p % d for d in range(2, int(p**0.5) + 1))]
