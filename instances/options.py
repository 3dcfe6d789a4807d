"""Options of policies, formulations, generators and readers: their defaults and valid values."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import inf
from sys import float_info
from typing import Any

import msgspec

from schedopt.instances.errors import InputError, listing, quote, suggestion

Options = Mapping[str, Any]  # values of options by name; what a value may be each `Option` says


@dataclass(frozen=True)
class Option:
    """An option of a policy, a formulation, a generator or a reader."""

    default: Any  # the value if the option is not given
    expected: str  # the valid values in words, for messages
    accepts: Callable[[Any], bool]  # returns True for a valid value
    written: bool = False  # it names a file to write: only one policy on one instance takes it
    asks: bool = True  # it changes the question, and not only how the answer is computed


@dataclass(frozen=True)
class OptionNames:
    """How messages refer to options: as options, as command-line flags or as keyword arguments."""

    place: Callable[[str], str]  # of a value, by key: ``option start``, or ``--from``
    example: Callable[[str, object], str]  # how to give a value: ``--option start=20:00``


AS_OPTIONS = OptionNames("option {}".format, "--option {}={}".format)


class OptionsWith(dict[str, Option]):
    """Options by name, and options whose names begin with a prefix, such as ``seats:houdini``.

    ``prefixed`` has the option of each prefix; a name needs at least one character after it.
    """

    def __init__(self, known: Mapping[str, Option], prefixed: Mapping[str, Option]) -> None:
        super().__init__(known)
        self.prefixed = prefixed

    def _of_prefix(self, key: str) -> Option | None:
        found = (own for p, own in self.prefixed.items() if key.startswith(p) and key != p)
        return next(found, None)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or self._of_prefix(str(key)) is not None

    def __missing__(self, key: str) -> Option:
        if (option := self._of_prefix(key)) is None:
            raise KeyError(key)
        return option


ALL = 60  # options that a message names: all there are


def check_options(
    given: Mapping[str, Any],
    known: Mapping[str, Option],
    whose: str,
    names: OptionNames = AS_OPTIONS,
) -> dict[str, Any]:
    """Return the given options; `InputError` if one is unknown to ``whose`` or invalid."""
    for key, value in given.items():
        if key not in known:
            hint = suggestion(key, known) or listing(known, ALL) or ": it has none"
            raise InputError(f"an option of {whose}{hint}", found=quote(key), place="option")
        if not known[key].accepts(value):
            raise InputError(known[key].expected, found=quote(value), place=names.place(key))
    return dict(given)


def complete(given: Mapping[str, Any], known: Mapping[str, Option], whose: str) -> dict[str, Any]:
    """Return all options, checked; options that are None or not given have their defaults."""
    own = {key: value for key, value in given.items() if value is not None}
    return {key: option.default for key, option in known.items()} | check_options(own, known, whose)


def split(pairs: Iterable[str]) -> dict[str, Any]:
    """Return the options in ``KEY=VALUE`` texts; JSON numbers and truth values are converted.

    ``1e9`` becomes an integer, as ``1000000000`` does.
    """
    options: dict[str, Any] = {}
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not separator or not key or not text:
            raise InputError("KEY=VALUE", found=quote(pair), place="option")
        if key in options:
            raise InputError("each option once", found=f"{key} twice", place="option")
        try:
            value = msgspec.json.decode(text.encode(), type=int | float | bool)
        except msgspec.DecodeError:
            value = text
        if isinstance(value, float) and "e" in text.lower() and abs(value) < 2**53:
            value = int(value) if value.is_integer() else value
        options[key] = value
    return options


def is_number(value: Any) -> bool:
    """Return True for a finite number that is not a truth value."""
    is_real = isinstance(value, int | float) and not isinstance(value, bool)
    return is_real and abs(value) <= float_info.max


def is_count(value: Any, most: float = inf) -> bool:
    """Return True for an integer from 1 to ``most``."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def whole(default: int | None, least: int, most: int, note: str = "") -> Option:
    """Return an option for an integer from ``least`` to ``most``; ``note`` describes it."""
    return Option(
        default,
        f"a whole number from {least} to {most}{note}",
        lambda v: is_number(v) and isinstance(v, int) and least <= v <= most,
    )


def number(default: float | None, expected: str, accepts: Callable[[float], bool]) -> Option:
    """Return an option for a finite number that ``accepts`` approves."""
    return Option(default, expected, lambda v: is_number(v) and accepts(v))


def one_of(default: str | None, known: Iterable[str], expected: str = "") -> Option:
    """Return an option for one of several words."""
    words = tuple(known)
    return Option(default, expected or f"one of {', '.join(words)}", lambda v: v in words)


def truth(default: bool, expected: str = "true or false") -> Option:
    """Return an option for true or false."""
    return Option(default, expected, lambda v: isinstance(v, bool))


def text(expected: str) -> Option:
    """Return an option for a nonempty text, without a default."""
    return Option(None, expected, lambda v: isinstance(v, str) and bool(v))


@cache
def most_at_once() -> int:
    """Return the most threads or processes that may be requested on this machine."""
    return max(256, os.cpu_count() or 1)
