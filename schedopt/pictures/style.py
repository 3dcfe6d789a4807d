"""What all pictures share: colours, dashes, and how names are written in them."""

from __future__ import annotations

from collections.abc import Iterable

from instances.errors import printable
from schedopt.formats import cut

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8A8A8A")
"""Okabe and Ito's, Color Universal Design, 2008, which the colour-blind tell apart as well; with a
grey in place of their yellow, which cannot be seen on white."""

BLUE, ORANGE, GREEN, PURPLE, SKY, RED, GREY = COLOURS

PALE = "#DDDDDD"
"""What lies behind: what was asked for, what is left empty."""

DASHES = ("solid", "dashed", "dotted", "dashdot")
"""Beside the colours, for lines that lie on each other. As matplotlib and CSS call them."""


def colours(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name, in their order; after the last the first comes again."""
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}


def lines(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return a colour and a dash for each name: no two the same among the first 28."""
    return {
        name: (COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]) for i, name in enumerate(names)
    }


def label(name: str, most: int = 40) -> str:
    """Return a name as matplotlib shows it as it is: short, and no dollar begins mathematics."""
    return cut(printable(name), most).replace("$", r"\$")
