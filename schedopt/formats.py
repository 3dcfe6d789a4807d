"""Numbers and names as terminals, pages and pictures show them."""

import re
from math import floor, log10

ROUNDING = 1e-9  # fractions below this are rounding errors and are written as 0


def number(value: float | None) -> str:
    """Return a number with six significant digits, and all digits of its integer part."""
    if value is None:
        return "unknown"
    size = abs(value)
    if value == 0 or not 1e-6 <= size < 1e15:
        return f"{value + 0.0:.6g}"  # adding 0 turns -0 into 0
    if float(value).is_integer():
        return f"{value:,.0f}"
    text = f"{value:,.{max(0, 5 - floor(log10(size)))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(value: float | None) -> str:
    """Return a fraction as a percentage with two decimals; small fractions have four.

    A rounding error is ``0.00%``.
    """
    if value is None:
        return "unknown"
    if abs(value) <= ROUNDING:
        return "0.00%"
    return f"{value:,.2%}" if abs(value) >= 1e-4 else f"{value:.4%}"


def signed_percent(value: float) -> str:
    """Return a fraction as a percentage with its sign; ``0.00%`` has no sign."""
    return f"+{percent(value)}" if value > ROUNDING else percent(value)


def interval(low: float | None, high: float | None) -> str:
    """Return an interval of fractions as percentages; empty if an end is unknown."""
    return "" if low is None or high is None else f"{percent(low)[:-1]} to {percent(high)}"


def duration(seconds: float) -> str:
    """Return a time with three significant digits in h, min, s, ms or µs."""
    if seconds >= 7200:
        return f"{seconds / 3600:,.1f} h"
    if seconds >= 600:
        return f"{seconds / 60:,.0f} min"
    for scale, unit in ((1.0, "s"), (1e3, "ms")):
        if not seconds or seconds * scale >= 1:
            return f"{scale * seconds:.3g} {unit}"
    return f"{1e6 * seconds:.3g} µs"


def count_of(count: int, what: str) -> str:
    """Return a count with its noun: ``1 run``, ``1,200 runs``."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def cut(text: str, most: int = 40) -> str:
    """Return a name, shortened with an ellipsis if it is too long."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that compares numbers in names by value: team2 before team18."""
    parts = re.split(r"([0-9]+)", name)
    return [(int(part[:300]), part) if i % 2 else (0, part) for i, part in enumerate(parts)]
