"""Text in the cells of a CSV that we write: a spreadsheet shows it, and computes nothing from it.

A cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return is a formula to a
spreadsheet, and may start programs. Such a text is written with an apostrophe before it, and so is
one that begins with an apostrophe itself: reading takes the apostrophe off again.

Source: OWASP, "CSV Injection".
"""

from __future__ import annotations

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


def guarded(text: str) -> str:
    """Return a text as a cell holds it."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def unguarded(cell: str) -> str:
    """Return the text of a cell."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell
