"""Sphinx: the site is built without network, and every warning is an error (``make docs``)."""

import re
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

project = "schedopt"
author = "the schedopt developers"
copyright = author  # noqa: A001  (Sphinx's name)
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
# Types in docstrings are plain names, such as Instance, which each problem has one of.
suppress_warnings = ["ref.python"]

napoleon_google_docstring = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = "schedopt"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"source_repository": "", "top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "native"

FIELD = type(namedtuple("_Pair", "a").a)


def skip_fields(
    _app: Any, _what: str, _name: str, obj: Any, skip: bool, _options: Any
) -> bool | None:
    """Leave out fields of named tuples, which are described among the attributes."""
    return True if skip or isinstance(obj, FIELD) else None


# --- formulas as MathML, which browsers draw without scripts and fonts ------------------------


def inline_formula(self: Any, node: Any) -> None:
    """Write a formula within a line."""
    from docutils.nodes import SkipNode
    from latex2mathml.converter import convert

    self.body.append(convert(node.astext()))
    raise SkipNode


def display_formula(self: Any, node: Any) -> None:
    """Write a formula in its own line; a narrow page breaks it where it has wide spaces."""
    from docutils.nodes import SkipNode
    from latex2mathml.converter import convert

    parts = re.split(r"\\q?quad", node.astext())
    drawn = "".join(convert(part.strip(), display="block") for part in parts)
    self.body.append(f'<div class="math">{drawn}</div>')
    raise SkipNode


# --- pictures of the problem pages, drawn where they are missing --------------------------------

EXAMPLES = {
    "dssp": ("night", []),
    "hesrpt": ("twins", ["equi", "srpt"]),
    "epoch": ("fig7", ["equi-epoch"]),
    "msfq": ("one-or-all", []),
}
"""For each problem an example, and policies that are drawn beside its optimum."""


def draw_pictures(_app: Any) -> None:
    """Draw missing pictures. Delete one to draw it again."""
    import schedopt

    folder = HERE / "_pictures"
    folder.mkdir(exist_ok=True)
    for problem, (name, policies) in EXAMPLES.items():
        target = folder / f"{problem}.png"
        if not target.exists():
            instance = schedopt.example(name)
            results = [schedopt.evaluate(instance, policy) for policy in policies]
            results.append(schedopt.solve(instance, threads=1))
            schedopt.plot(results, instance=instance).savefig(target, dpi=100)


def setup(app: Any) -> None:
    """Register the renderer, and write pages and pictures before anything is read."""
    from reference import write

    app.add_html_math_renderer("mathml", (inline_formula, None), (display_formula, None))
    app.connect("autodoc-skip-member", skip_fields)
    for before in (draw_pictures, write):
        app.connect("builder-inited", before)
