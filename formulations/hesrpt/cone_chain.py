"""Geometric means as towers of products of two: work^(2^L) <= a^num d^(q-num) work^(2^L-q)."""

from collections import Counter
from fractions import Fraction

MOST_DENOMINATOR = 1 << 20
A, D, WORK = 0, 1, 2
Tower = list[tuple[int, int, int]]
"""Triples (z, x, y) that state z² <= x·y; each is `A`, `D`, `WORK` or an auxiliary."""


def cone_chain(p: float) -> Tower:
    """Return the cones that state work <= a^p d^(1-p), 0 < p <= 1; none for p = 1, where work <= a.

    With p = num/q and 2^L >= q, work^(2^L) <= a^num · d^(q-num) · work^(2^L-q) is halved again and
    again: two equal factors make one of the next level, two different ones x and y make a z with z²
    <= x·y. The fraction has a denominator of 2^20 at most, which is within 1e-12 of p.
    """
    fraction = Fraction(p).limit_denominator(MOST_DENOMINATOR)
    if fraction >= 1:
        return []
    levels = max((fraction.denominator - 1).bit_length(), 1)
    counts = Counter({A: fraction.numerator, D: fraction.denominator - fraction.numerator})
    counts[WORK] = 2**levels - fraction.denominator
    floors: Tower = []
    new = WORK
    for level in range(levels, 0, -1):
        odd = sorted(i for i, n in counts.items() if n % 2)
        counts = Counter({i: n // 2 for i, n in counts.items() if n >= 2})
        for x, y in zip(odd[::2], odd[1::2], strict=True):
            z = WORK  # at the last level it is work itself
            if level > 1:
                z = new = new + 1
                counts[z] = 1
            floors.append((z, x, y))
    return floors
