"""A page of text, pictures and tables in one file, which needs no network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from schedopt import __version__
from schedopt.instances.errors import InputError, quote
from schedopt.instances.files import write_bytes
from schedopt.pictures.style import without_font_warnings
from schedopt.problems.summary import Section
from schedopt.tables import Table, plain, to_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Parts of an SVG that would apply to the whole page, and comments that repeat every text.
IN_THE_WAY = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", re.DOTALL)


def write(path: str | Path, title: str, about: str, parts: Iterable[Section], footer: str) -> None:
    """Write a page, whose name has to end in .html."""
    if Path(path).suffix.lower() != ".html":
        raise InputError("a report's name ending in .html", found=quote(Path(path).name))
    write_bytes(Path(path), page(title, about, parts, footer).encode())


def page(title: str, about: str, parts: Iterable[Section], footer: str) -> str:
    """Return a page with a title, a line below it, sections, and a footer."""
    script = _asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_asset("page.html")).substitute(
        policy=f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'",
        style=_asset("page.css"),
        title=plain(title),
        about=plain(about),
        version=escape(__version__),
        sections="\n".join(map(_section, parts)),
        footer=plain(footer),
        script=script,
    )


def _asset(name: str) -> str:
    return files("schedopt.report").joinpath(name).read_text(encoding="utf-8")


def svg(figure: Figure, caption: str) -> str:
    """Return a figure as SVG to embed in a page; the result is reproducible."""
    import matplotlib

    buffer = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "schedopt"}), without_font_warnings():
        figure.savefig(buffer, format="svg", dpi=110, transparent=True, metadata={"Date": None})
    drawing = buffer.getvalue().decode()
    drawing = IN_THE_WAY.sub("", drawing[drawing.index("<svg") :])
    wide = f"--natural: {figure.get_figwidth():g}in"
    label = f'role="img" aria-label="{escape(caption, quote=True)}" style="{wide}"'
    return drawing.replace("<svg ", f"<svg {label} ", 1)


def _section(part: Section) -> str:
    name, words = plain(part.title), f"<p>{plain(part.words)}</p>" if part.words else ""
    pictures = (
        f"<figure><figcaption>{plain(caption)}</figcaption>"
        f'<div class="sheet">{svg(draw(), caption)}</div></figure>'
        for caption, draw in part.pictures
    )
    tables = (_table(table, part.terms) for table in part.tables)
    terms = _definitions(part.terms)
    if terms:
        terms = f"<details><summary>What the words mean</summary>{terms}</details>"
    body = "".join([words, _definitions(part.facts), *pictures, *tables, terms])
    return f'<section aria-label="{name}"><h2>{name}</h2>{body}</section>'


def _definitions(pairs: Mapping[str, str]) -> str:
    items = "".join(f"<dt>{plain(name)}</dt><dd>{plain(is_)}</dd>" for name, is_ in pairs.items())
    return items and f"<dl>{items}</dl>"


def _table(table: Table, terms: Mapping[str, str]) -> str:
    """Return a table that can be sorted by its headings, with a download button."""
    name = plain(re.sub(r"[^\w-]+", "-", table.title).strip("-")[:40] or "table")
    return (
        f"<figure><figcaption>{plain(table.title)}</figcaption>"
        f'<div class="scroll">{to_html(table, terms)}</div>'
        f'<p class="under"><button type="button" class="download" data-name="{name}">'
        "Download as CSV</button></p></figure>"
    )
