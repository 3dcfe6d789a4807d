"""The one error for bad input: which file, which place in it, what was found, what was expected."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable
from typing import Any

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 3
_SHORT.maxlevel = 2


class InputError(ValueError):
    """Something that a user gave cannot be used.

    Parameters
    ----------
    expected : str
        What would have been right, in a few words.
    found : str, optional
        What was there instead.
    place : str, optional
        Where in the file, such as ``jobs[3].stages[0][2]``.
    file : str, optional
        The file; filled in by whoever opened it.
    """

    def __init__(
        self, expected: str, *, found: str | None = None, place: str = "", file: str | None = None
    ) -> None:
        self.expected, self.found, self.place, self.file = expected, found, place, file
        super().__init__(expected)

    def within(self, place: str) -> InputError:
        """Return the same error, its place seen from one level further out."""
        self.place = joined(place, self.place)
        return self

    def __str__(self) -> str:
        parts = [part for part in (self.file, self.place) if part]
        what = f"found {self.found}; " if self.found else ""
        return ": ".join([*parts, f"{what}expected {self.expected}"])


def joined(outer: str, inner: str) -> str:
    """Join two places: ``jobs[3]`` and ``stages[0]`` make ``jobs[3].stages[0]``."""
    if not outer or not inner or inner.startswith("["):
        return outer + inner
    return f"{outer}.{inner}"


def shown(value: Any) -> str:
    """Show a value in a message: short, and as JSON writes it where the two differ."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _SHORT.repr(value)


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` where one of the known words is close, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f" (did you mean {shown(close[0])}?)" if close else ""


def listing(known: Iterable[str], most: int = 12) -> str:
    """Return `` (one of 'a', 'b', ...)``, or nothing where nothing is known."""
    words = [shown(word) for word in known]
    rest = [f"... {len(words) - most} more"] if len(words) > most else []
    return f" (one of {', '.join(words[:most] + rest)})" if words else ""
