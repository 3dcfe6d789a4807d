"""What all pictures share: colours, dashes, and how names are written in them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from schedopt.formats import cut, number
from schedopt.instances.errors import printable

if TYPE_CHECKING:
    from schedopt.solvers.result import Result

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8A8A8A")
"""Okabe and Ito's, Color Universal Design, 2008, which the colour-blind tell apart as well; with a
grey in place of their yellow, which cannot be seen on white."""

BLUE, ORANGE, GREEN, PURPLE, SKY, RED, GREY = COLOURS

PALE = "#DDDDDD"
"""What lies behind: what was asked for, what is left empty."""

DASHES = ("solid", "dashed", "dotted", "dashdot")
"""Beside the colours, for lines that lie on each other. As matplotlib and CSS call them."""


@contextmanager
def quietly() -> Iterator[None]:
    """Give no warning of characters that the font lacks: they are drawn as boxes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def colours(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name in order, beginning again after the last."""
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}


def lines(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return a colour and a dash for each name: no two the same among the first 28."""
    return {
        name: (COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]) for i, name in enumerate(names)
    }


def names(results: Sequence[Result]) -> list[str]:
    """Return what each result is called beside the others: no two of one instance the same.

    It is the policy or the formulation; where several have the same, what they differ in stands
    beside it: side constraints, options, the seed, or else a number.
    """
    found = [(result.instance, str(result.policy or result.formulation)) for result in results]
    for tell in (_rules, _options, _seed):
        told = [tell(result) for result in results]
        of: dict[tuple[str, str], list[set[str]]] = {}
        for one, words in zip(found, told, strict=True):
            of.setdefault(one, []).append(set(words))
        common = {one: set.intersection(*same) for one, same in of.items()}
        found = [
            (one[0], ", ".join([one[1], *(word for word in words if word not in common[one])]))
            for one, words in zip(found, told, strict=True)
        ]
    twice = {one for one in found if found.count(one) > 1}
    return [f"{one[1]} ({i})" if one in twice else one[1] for i, one in enumerate(found, start=1)]


def keys(results: Sequence[Result]) -> list[str]:
    """Return what each result is called in a legend: with its instance where there are several."""
    several = len({result.instance for result in results}) > 1
    return [
        f"{result.instance}: {name}" if several else name
        for result, name in zip(results, names(results), strict=True)
    ]


def _rules(result: Result) -> list[str]:
    """Return the rules that applied, the instance's own too where the result knows them."""
    if result.asked is None:
        return [rule.name or rule.kind() for rule in result.constraints]
    return [rule.get("name") or rule["kind"] for rule in result.asked.question.constraints]


def _options(result: Result) -> list[str]:
    return [f"{key}={value}" for key, value in sorted(result.options.items())]


def _seed(result: Result) -> list[str]:
    return [f"seed {result.seed}"]


def title(result: Result, what: str, name: str = "") -> str:
    """Return a picture's title: instance, who made the result, objective, and whether proven."""
    who = name or names([result])[0]
    proven = ", proven optimal" if result.proven else ""
    return f"{label(result.instance)}: {label(who)}, {what} {number(result.objective)}{proven}"


def label(name: str, most: int = 40) -> str:
    """Return a name fit for matplotlib: short, printable, and read as no formula."""
    return cut(printable(name), most).replace("$", r"\$")


def time_unit(scale: float) -> tuple[float, str]:
    """Return a divisor that makes times readable, and the name of the unit.

    The unit of a file is its author's; nobody plans nights of hours in units of a minute or more.
    """
    return (3600.0, "hours") if scale >= 2 * 3600 else (1.0, "")
