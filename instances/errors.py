"""`InputError`, the error for bad input: the file, the place, what was found, what is expected."""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

ACTING = r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
"""Control characters, which act on a terminal and are never printed."""
MOST_PLACE = 200  # characters of a place in a message
MOST_ERRORS = 10  # errors of one file that are shown together

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 3
_SHORT.maxlevel = 2


class InputError(ValueError):
    """An input from the user is invalid.

    Parameters
    ----------
    expected : str
        What would be valid, in a few words.
    found : str, optional
        What was found instead.
    place : str, optional
        The place in the file, such as ``jobs[3].stages[0][2]``.
    file : str, optional
        The file; the function that opened it fills it in.
    parameter : str, optional
        The parameter of the Python function, such as ``time_limit``. Messages of the command line
        name its flag instead.
    """

    def __init__(
        self,
        expected: str,
        *,
        found: str | None = None,
        place: str = "",
        file: str | None = None,
        parameter: str = "",
    ) -> None:
        self.expected, self.found, self.place, self.file = expected, found, place, file
        self.parameter = parameter
        super().__init__(expected)

    def within(self, place: str) -> InputError:
        """Return the error with an outer place put before its own."""
        self.place = join_places(place, self.place)
        return self

    @property
    def problem(self) -> str:
        """What was found and what was expected, in one sentence."""
        found = f"found {printable(self.found)}; " if self.found else ""
        return f"{found}expected {printable(self.expected)}"

    def __str__(self) -> str:
        place = self.place if len(self.place) <= MOST_PLACE else f"{self.place[:MOST_PLACE]}..."
        parts = [printable(self.file or ""), self.parameter, printable(place)]
        return ": ".join([*filter(None, parts), self.problem])


class FormatError(InputError):
    """A file does not follow its format; the message is that of the library that read it."""

    @property
    def problem(self) -> str:
        """The library's message."""
        return printable(self.expected)


class TableError(InputError):
    """Several errors of one file in one message, a line each; at most ten are shown."""

    def __init__(self, errors: Sequence[InputError]) -> None:
        first = errors[0]
        self.errors = errors
        super().__init__(first.expected, found=first.found, place=first.place, file=first.file)

    def __str__(self) -> str:
        for error in self.errors:
            error.file = self.file
        more = len(self.errors) - MOST_ERRORS
        lines = [str(error) for error in self.errors[:MOST_ERRORS]]
        return "\n".join([*lines, *([f"... and {more} more like these"] if more > 0 else [])])


def raise_all(errors: Sequence[InputError]) -> None:
    """Raise the errors of one file together; do nothing if the list is empty."""
    if errors:
        raise errors[0] if len(errors) == 1 else TableError(errors)


def position(data: bytes, offset: int) -> str:
    """Return the line and the column of a byte offset in a text."""
    line, before = data.count(b"\n", 0, offset) + 1, data.rfind(b"\n", 0, offset)
    return f"line {line}, column {offset - before}"


def decode_utf8(data: bytes) -> str:
    """Return UTF-8 bytes as text; `InputError` gives line and column of an invalid byte."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = position(data, error.start)
        raise InputError("text in UTF-8", found="bytes that are not", place=place) from None


def expect(holds: bool, expected: str, value: object, place: str = "", parameter: str = "") -> None:
    """Raise `InputError` about a value unless a condition holds."""
    if not holds:
        raise InputError(expected, found=quote(value), place=place, parameter=parameter)


@contextmanager
def at_place(place: str = "", file: object = None) -> Iterator[None]:
    """Add a place, and a file if none is set, to an `InputError` that is raised in the block.

    Errors about a parameter get no file.
    """
    try:
        yield
    except InputError as error:
        error.place = join_places(place, error.place)
        if file is not None and not error.file and not error.parameter:
            error.file = str(file)
        raise


@contextmanager
def at_parameter(name: str) -> Iterator[None]:
    """Add the name of a parameter to an `InputError` that is raised in the block.

    If the error names a parameter already, that becomes a place in the value of the outer one.
    """
    try:
        yield
    except InputError as error:
        error.place = join_places(error.parameter, error.place)
        error.parameter = name
        raise


def printable(text: str) -> str:
    r"""Return a one-line text without control characters: ESC becomes ``\x1b``."""
    return re.sub(ACTING, lambda found: repr(found[0])[1:-1], text)


def join_places(outer: str, inner: str) -> str:
    """Join two places: ``jobs[3]`` and ``stages[0]`` make ``jobs[3].stages[0]``."""
    if not outer or not inner or inner.startswith("["):
        return outer + inner
    return f"{outer}.{inner}"


def quote(value: Any) -> str:
    """Return a value as a short text for a message, in JSON's spelling of null, true and false."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _SHORT.repr(value)


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` if a known word is similar, else an empty text."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f" (did you mean {quote(close[0])}?)" if close else ""


def listing(known: Iterable[str], most: int = 12) -> str:
    """Return `` (one of 'a', 'b', ...)``, or an empty text if no word is known."""
    words = [quote(word) for word in known]
    rest = [f"... {len(words) - most} more"] if len(words) > most else []
    return f" (one of {', '.join(words[:most] + rest)})" if words else ""


def pick_name(name: str, known: Collection[str], what: str) -> str:
    """Return a known name; `InputError` suggests the nearest known name, or lists all."""
    if name not in known:
        raise InputError(f"{what}{suggestion(name, known) or listing(known)}", found=quote(name))
    return name


def check_unique(keys: Iterable[Hashable], place: str, what: str, field: str = "") -> None:
    """Raise `InputError` at the first repeated key."""
    seen: dict[Hashable, int] = {}
    for i, key in enumerate(keys):
        if seen.setdefault(key, i) != i:
            expected = f"{what} of its own: {place}[{seen[key]}] has it already"
            raise InputError(expected, found=quote(key), place=join_places(f"{place}[{i}]", field))
