"""Seeds as options and files of sweeps give them: a number, numbers, or text such as 1-20."""

from __future__ import annotations

from collections.abc import Iterable

from schedopt.instances.errors import InputError, shown


def seeds_of(given: int | str | Iterable[int]) -> list[int]:
    """Return seeds given as a number, as numbers, or as text such as ``1-20``.

    Raises
    ------
    InputError
        If the text is nothing of that kind.
    """
    if isinstance(given, bool) or not isinstance(given, int | str):
        if isinstance(given, bool | float):
            raise InputError("seeds, such as 7 or 1-20", found=shown(given), place="seeds")
        return list(given)
    if isinstance(given, int):
        return [given]
    first, dash, last = given.partition("-")
    plain = first.isdecimal() and (last.isdecimal() if dash else not last)
    if not plain or len(given) > MOST_DIGITS:
        raise InputError("seeds, such as 7 or 1-20", found=shown(given), place="seeds")
    low, high = int(first), int(last or first)
    if high < low or high - low >= MOST_SEEDS:
        raise InputError(
            f"a first and a last seed, at most {MOST_SEEDS} in all",
            found=shown(given),
            place="seeds",
        )
    return list(range(low, high + 1))


MOST_DIGITS = 1000
MOST_SEEDS = 1_000_000
"""Beyond this, a range of seeds is a slip of the pen."""
