"""Formulas as MathML, which browsers draw by themselves: no script, no fonts, no network."""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def inline(self: Any, node: Any) -> None:
    """Write a formula that stands in a line."""
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def display(self: Any, node: Any) -> None:
    """Write a formula that stands by itself; a narrow page breaks it where it has wide spaces."""
    parts = re.split(r"\\q?quad", node.astext())
    drawn = "".join(convert(part.strip(), display="block") for part in parts)
    self.body.append(f'<div class="math">{drawn}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
