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
    """A part of a page."""

    title: str
    words: str = ""  # what the part is about, in a sentence or two; plain text
    # Captions, and what draws the figure.
    pictures: tuple[tuple[str, Callable[[], Figure]], ...] = ()
    tables: tuple[ShownTable, ...] = ()  # each can be sorted and downloaded
    # What headings and words of the part mean.
    terms: Mapping[str, str] = field(default_factory=dict)
