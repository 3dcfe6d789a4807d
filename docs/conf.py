"""Sphinx: the site is built without network, and every warning is an error (``make docs``)."""

import base64
import json
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

SEVERAL = re.compile(r"^(\w+(?:, \w+)+) : ")
FIELD = type(namedtuple("_Pair", "a").a)


def join_names(
    _app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]
) -> None:
    """Let ``a, b : type`` be one name, of which Sphinx would take all but the last for a type."""
    for at, line in enumerate(lines):
        if several := SEVERAL.match(line):
            lines[at] = several[1].replace(", ", ",") + line[several.end(1) :]


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


# --- notebooks as pages, with their stored outputs ----------------------------------------------

NOTEBOOKS = HERE / "_notebooks"
LINK = re.compile(r"\]\((?:\.\./)+notebooks/(\w+)\.ipynb\)")
"""A link of a page to a notebook, which works in a clone."""


def output(found: Any, name: str, number: int) -> str:
    """Return an output as Markdown; a picture goes into a file beside the page."""
    data = found.get("data", {})
    if "image/png" in data:
        picture = NOTEBOOKS / f"{name}-{number}.png"
        picture.write_bytes(base64.b64decode("".join(data["image/png"])))
        return f"![Picture {number} of the notebook]({picture.name})\n\n"
    text = "".join(found.get("text") or data.get("text/plain", ""))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text).rstrip()
    return f"```text\n{plain}\n```\n\n" if plain.strip() else ""


def write_notebooks(_app: Any) -> None:
    """Write the page of every notebook."""
    NOTEBOOKS.mkdir(exist_ok=True)
    for path in sorted((HERE.parent / "notebooks").glob("*.ipynb")):
        text, number = "", 0
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            is_code = cell["cell_type"] == "code"
            text += f"```python\n{source}\n```\n\n" if is_code else f"{source}\n\n"
            for found in cell.get("outputs", ()):
                number += 1
                text += output(found, path.stem, number)
        text += f"This page is `notebooks/{path.name}` with its stored outputs.\n"
        (NOTEBOOKS / f"{path.stem}.md").write_text(text, encoding="utf-8")


def link_notebooks(_app: Any, _name: str, source: list[str]) -> None:
    """Link to the page of a notebook in place of the notebook."""
    source[0] = LINK.sub(r"](/_notebooks/\1.md)", source[0])


def setup(app: Any) -> None:
    """Register the renderer, and write pages and pictures before anything is read."""
    from reference import write

    app.add_html_math_renderer("mathml", (inline_formula, None), (display_formula, None))
    app.connect("autodoc-process-docstring", join_names, priority=400)  # before napoleon
    app.connect("autodoc-skip-member", skip_fields)
    for before in (draw_pictures, write, write_notebooks):
        app.connect("builder-inited", before)
    app.connect("source-read", link_notebooks)
