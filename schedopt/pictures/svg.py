"""A figure as markup in a page."""

from __future__ import annotations

import html
import re
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IN_THE_WAY = (
    re.compile(r"<metadata>.*?</metadata>", re.DOTALL),
    re.compile(r"<style.*?</style>", re.DOTALL),  # would hold for all of the page
    re.compile(r"<!--.*?-->", re.DOTALL),  # repeat every text of the picture
)


def svg(figure: Figure, caption: str) -> str:
    """Return a figure as markup to embed in a page, the same bytes each time."""
    import matplotlib

    from schedopt.pictures.style import without_font_warnings

    buffer = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "schedopt"}), without_font_warnings():
        figure.savefig(buffer, format="svg", dpi=110, transparent=True, metadata={"Date": None})
    drawing = buffer.getvalue().decode()
    drawing = drawing[drawing.index("<svg") :]
    for part in IN_THE_WAY:
        drawing = part.sub("", drawing)
    label = html.escape(caption, quote=True)
    wide = f"--natural: {figure.get_figwidth():g}in"
    return drawing.replace("<svg ", f'<svg role="img" aria-label="{label}" style="{wide}" ', 1)
