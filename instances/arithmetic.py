"""Arithmetic on whole numbers that several problems need."""

from math import isqrt


def divisors(number: int) -> list[int]:
    """Return the divisors of a positive whole number, the largest first."""
    small = [d for d in range(1, isqrt(number) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)}, reverse=True)
