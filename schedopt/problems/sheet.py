"""What a page says of one result: a row fills it in, the page renders it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schedopt.problems.shown import ShownTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Attributes
    ----------
    title : str
    words : str
        What the part is about, in a sentence or two; plain text.
    pictures : tuple of (str, callable)
        Captions, and what draws the figure.
    tables : tuple of ShownTable
        Each can be sorted and downloaded.
    terms : mapping of str to str
        What headings and words of the part mean.
    """

    title: str
    words: str = ""
    pictures: tuple[tuple[str, Callable[[], Figure]], ...] = ()
    tables: tuple[ShownTable, ...] = ()
    terms: Mapping[str, str] = field(default_factory=dict)
