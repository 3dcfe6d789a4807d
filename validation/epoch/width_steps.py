"""Re-prove which widths no schedule of rectangles has, in whole numbers and fractions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm

import msgspec

from schedopt.instances.epoch import Instance
from schedopt.instances.errors import shown

MOST_UNITS = 1 << 27
"""Units of a quantum up to which sums of heights are followed."""


class Widths(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Widths that drop out together, by a prime, or, where that is 0, by all sums of heights."""

    prime: int
    widths: list[int]


def least_overhead(
    instance: Instance, bundles: Iterable[set[str]], steps: Sequence[Widths], *, powers: bool
) -> int:
    """Return an overhead that no schedule of rectangles is below.

    All rectangles have the area N/J, so one of width A lasts N/(J·A); on each node they fill the
    quantum, so that 1/A sums to J/N over them. A width that no such sum has is in no schedule, and
    a job's width is one of the others. Jobs that must be together have one width. `ValueError` if a
    width is dropped that some sum may have.
    """
    nodes, jobs = instance.nodes, len(instance.jobs)
    total, minimum = Fraction(jobs, nodes), {job.name: job.minimum for job in instance.jobs}
    left = {w for w in range(min(minimum.values()), nodes + 1) if Fraction(1, w) <= total}
    for step in steps:
        gone = set(step.widths)
        if not gone <= left:
            raise ValueError("widths: one drops out that is not there")
        possible = _sums(left, total) if step.prime == 0 else _by_prime(left, step.prime, total)
        if gone & possible:
            raise ValueError(f"widths: {min(gone & possible)} is not shown to be in no schedule")
        left -= gone
    if powers:
        left = {w for w in left if w.bit_count() == 1 or w == nodes}
    width = {m: min(w for w in left | {nodes} if w >= m) for m in set(minimum.values())}
    used = sum(len(bundle) * width[max(minimum[j] for j in bundle)] for bundle in bundles)
    return max(used, nodes)


def _by_prime(widths: set[int], prime: int, total: Fraction) -> set[int]:
    """Return the widths that may occur, going by the highest power of a prime alone.

    Where that power p^a is in some widths c·p^a and not in the total's denominator, the sum of 1/c
    over them is a multiple of p. The least sum of 1/A for each residue is found by adding widths
    for as long as some sum becomes less.
    """
    if prime > max(widths):
        raise ValueError(f"widths: {shown(prime)} is more than any of them")
    if prime < 2 or any(prime % d == 0 for d in range(2, int(prime**0.5) + 1)):
        raise ValueError(f"widths: {prime} is no prime")
    highest = max(_power(w, prime) for w in widths)
    if highest == 0 or highest <= _power(total.denominator, prime):
        return widths
    group = [w for w in widths if _power(w, prime) == highest]
    inverse = {w: pow(w // prime**highest, -1, prime) for w in group}
    least: list[Fraction | None] = [Fraction(0)] + [None] * (prime - 1)
    changed = True
    while changed:
        changed = False
        for residue, sofar in enumerate(list(least)):
            for w in group if sofar is not None else ():
                to, more = (residue + inverse[w]) % prime, (sofar or 0) + Fraction(1, w)
                known = least[to]
                if more <= total and (known is None or more < known):
                    least[to], changed = more, True
    kept = set(widths)
    for w in group:
        rest = least[-inverse[w] % prime]
        if rest is None or rest + Fraction(1, w) > total:
            kept.discard(w)
    return kept


def _sums(widths: set[int], total: Fraction) -> set[int]:
    """Return the widths that are in some multiset whose 1/A sum to the total."""
    whole = lcm(*widths, total.denominator)
    units = int(whole * total)
    if units > MOST_UNITS:
        raise ValueError("widths: too many sums to follow")
    reached, full = 1, (1 << (units + 1)) - 1
    for w in widths:
        height = whole // w
        while height <= units:  # 1, 2, 4, ... more of this width
            reached |= (reached << height) & full
            height *= 2
    return {w for w in widths if whole // w <= units and reached >> (units - whole // w) & 1}


def _power(number: int, prime: int) -> int:
    power = 0
    while number % prime == 0:
        number, power = number // prime, power + 1
    return power
