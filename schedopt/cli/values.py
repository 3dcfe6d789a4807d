"""Values of flags and arguments: what needs no converting is taken as it is.

Typer has pydantic convert each value, even one that was not given. Importing pydantic and building
its converters takes as long as all else that a verb does before it begins; so it is left to those
values alone that are not plainly right.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

_NUMBERS: dict[Any, re.Pattern[str]] = {
    int: re.compile(r"-?[0-9]{1,18}", re.ASCII),
    float: re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?", re.ASCII),
}
"""Texts of which nobody doubts which numbers they are."""

_PARSE: Any = object()
"""What stands for a value that typer has to see."""


class _Eased:
    """What converts the values of one parameter: plain ones here, the others as typer does.

    Parameters
    ----------
    parameter : Parameter
        Of typer.
    build : callable
        Returns typer's own converter.
    """

    def __init__(self, parameter: Any, build: Callable[[], Any]) -> None:
        described = parameter.type_descriptor
        info = described.parameter_info
        special = ("parser", "min", "max", "clamp", "exists", "resolve_path", "writable")
        self._plain = not any(getattr(info, name, None) for name in special)
        self._several = parameter.multiple or parameter.nargs == -1
        self._kind: Any = described.annotation
        self._each: Any = next(iter(get_args(self._kind)), None) if self._several else None
        self._build = build

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return what a verb is given for a value."""
        found: Any = _PARSE
        if value is None:
            return () if self._several else None
        if self._plain and self._each is not None and isinstance(value, list | tuple):
            found = [_taken(one, self._each) for one in value]
            found = _PARSE if any(one is _PARSE for one in found) else found
        elif self._plain and not self._several:
            found = _taken(value, self._kind)
        return self._build().coerce(value, param=param, ctx=ctx) if found is _PARSE else found


def _taken(value: Any, kind: Any) -> Any:
    """Return a value as one of its kind where that is plain."""
    if type(value) is kind:
        return value
    if not isinstance(value, str):
        return _PARSE
    if kind is Path:
        there = os.path.lexists(value) if "\0" not in value else True
        return Path(value) if not there or os.access(value, os.R_OK) else _PARSE
    pattern = _NUMBERS.get(kind)
    return kind(value) if pattern is not None and pattern.fullmatch(value) else _PARSE


def _ease(parameters: list[Any]) -> None:
    for parameter in parameters:
        build = getattr(parameter, "get_runtime_param", None)
        if build is None or isinstance(build, _Given):  # another release of typer, or done
            continue
        if hasattr(parameter, "type_descriptor"):
            parameter.get_runtime_param = _Given(_Eased(parameter, build))


class _Given:
    """Returns the converter of a parameter, as the method that it takes the place of."""

    def __init__(self, eased: _Eased) -> None:
        self._eased = eased

    def __call__(self) -> _Eased:
        return self._eased


class Verb(TyperCommand):
    """A verb, whose plain values are taken as they are."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what stands behind the verb."""
        _ease(self.get_params(ctx))
        return super().parse_args(ctx, args)


class Verbs(TyperGroup):
    """Verbs, and the flags before them, whose plain values are taken as they are."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what stands before a verb, and which it is."""
        _ease(self.get_params(ctx))
        return super().parse_args(ctx, args)


class Application(typer.Typer):
    """Verbs of which each is a `Verb`, where nothing else is said."""

    def __init__(self, **words: Any) -> None:
        super().__init__(cls=Verbs, **words)

    def command(self, name: str | None = None, **words: Any) -> Callable[[Any], Any]:
        """Return what makes a function a verb."""
        return super().command(name, **{"cls": Verb, **words})
