"""Tournament trees: the least of many keys that change one at a time, without a branch.

A heap mispredicts half of its comparisons, and each costs more than a comparison. In a tournament
the rivals that a changed key meets are known beforehand, and who wins is a mask: nothing is
guessed. It takes a third of a heap's time.

A tournament is two arrays of twice as many places as it has leaves, a power of two: the key that
won each match, and whose it is. Place 1 is the final, and leaf i is in the second half. Keys are
integers of which no two are more than 2^63 - 2 apart; of two at a time the first leaf wins.

Source: Knuth, The Art of Computer Programming 3, section 5.4.1 (trees of winners).
"""

from typing import Final

import numpy as np

from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.solvers.compiling import compiled, njit

NOBODY: Final = 2**63 - 2
"""The key of a leaf that does not compete: larger than any other."""
NEVER: Final = 0x7FF0_0000_0000_0000
"""The bits of an infinite time; the bits of nonnegative times are in the order of the times."""
_SIZE: Final = 2**63 - 1
"""The bits of a number without its sign."""


@njit(cache=True, nogil=True)
def leaves_for(count: int) -> int:
    """Return the least power of two that is not below a count."""
    leaves = 1
    while leaves < count:
        leaves *= 2
    return leaves


@compiled
def begin(best: Ints, who: Ints) -> None:
    """Play all matches, the keys of the leaves given."""
    half = len(best) >> 1
    for i in range(half):
        who[half + i] = i
    for node in range(half - 1, 0, -1):
        winner = 2 * node + (best[2 * node + 1] < best[2 * node])
        best[node], who[node] = best[winner], who[winner]


@compiled
def replay(best: Ints, who: Ints, leaf: int, key: int) -> None:
    """Change a leaf's key and replay its matches.

    The mask is the sign of a difference, since the compiler makes a branch of a comparison. An odd
    place is the right one of two, which loses where keys are equal.
    """
    node = (len(best) >> 1) + leaf
    best[node] = key
    at = leaf
    while node > 1:
        rival, other = best[node ^ 1], who[node ^ 1]
        loses = (rival - key - (node & 1)) >> 63
        key ^= (key ^ rival) & loses
        at ^= (at ^ other) & loses
        node >>= 1
        best[node], who[node] = key, at


@compiled
def without(best: Ints, leaf: int) -> int:
    """Return the least key of all leaves but one, changing nothing."""
    node = (len(best) >> 1) + leaf
    least = NOBODY
    while node > 1:
        least = min(least, best[node ^ 1])
        node >>= 1
    return least


@njit(cache=True, nogil=True)
def comparable(keys: Floats) -> Ints:
    """Return integers from 0 on that are ordered as numbers are, and equal where they are.

    The bits of numbers of one sign are in their order. Those between 0 and the least of them are
    left out, so that positive and negative ones together fit into 63 bits; where they do not (of
    two numbers one is over 10^300 times the other), ranks take their place.
    """
    bits = keys.view(np.int64)
    least = NOBODY
    for i in range(len(bits)):
        size = bits[i] & _SIZE
        least = min(least, size if size else NOBODY)
    numbers = np.empty(len(bits), np.int64)
    lowest, highest = NOBODY, -NOBODY
    for i in range(len(bits)):
        sign = bits[i] >> 63
        number = (max((bits[i] & _SIZE) - least + 1, 0) ^ sign) - sign
        lowest, highest = min(lowest, number), max(highest, number)
        numbers[i] = number
    if (highest >> 1) - (lowest >> 1) < (NOBODY >> 1) - 1:
        for i in range(len(bits)):
            numbers[i] -= lowest
        return numbers
    order = np.argsort(keys, kind="mergesort")
    rank = 0
    for i in range(len(order)):
        rank += i > 0 and keys[order[i]] != keys[order[i - 1]]
        numbers[order[i]] = rank
    return numbers
