"""Integer arithmetic shared by several problems."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def divisors(number: int) -> list[int]:
    """Return the divisors of a positive integer in decreasing order."""
    small = [d for d in range(1, isqrt(number) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)}, reverse=True)


def exact_sum(numbers: NDArray[Any]) -> int:
    """Return the sum of integers, without overflow."""
    if numbers.dtype == object:
        return sum(numbers.tolist())
    return (int((numbers >> 31).sum()) << 31) + int((numbers & (2**31 - 1)).sum())
