"""Sphinx: the site is built without network, and every warning is an error (``make docs``)."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

project = "schedopt"
author = "the schedopt developers"
copyright = author  # noqa: A001  (Sphinx's name)
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "docstrings",
    "mathml",
    "pictures",
    "reference",
    "notebook_pages",
]


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
