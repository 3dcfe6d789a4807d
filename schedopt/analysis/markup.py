"""A table as markup: HTML for a page or a notebook, LaTeX for a paper."""

import re
from collections.abc import Mapping
from html import escape

from schedopt.instances.errors import printable
from schedopt.problems.summary import ShownTable, Value

LEADING = re.compile(r"[-+]?[\d,]*\.?\d+")  # the number that a cell begins with
STAMP = re.compile(r"(\d{4}-\d\d-\d\dT)(\d\d:\d\d[\d:.+-]*)")
HALVES = r'<span class="time">\1</span><wbr><span class="time">\2</span>'
"""An ISO time, whose lines break between date and time alone."""

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "–": "--",
    "µ": r"$\mu$",
    "…": r"\dots{}",
}
"""Characters special to LaTeX, and how they are written there."""


def plain(text: str) -> str:
    """Return text escaped for HTML, its control characters made visible."""
    return escape(printable(text), quote=True)


def html(
    shown: ShownTable,
    terms: Mapping[str, str] | None = None,
    *,
    kind: str = "sortable",
    caption: bool = False,
) -> str:
    """Return a table as HTML; ``terms``: what headings mean; ``kind``: the element's classes."""
    numeric = shown.numeric()
    sides = ["" if right else ' class="text"' for right in numeric]
    heads = "".join(
        f'<th{side} scope="col" title="{plain((terms or {}).get(head, ""))}">{plain(head or " ")}'
        "</th>"
        for head, side in zip(shown.heads, sides, strict=True)
    )
    lines = []
    for i, row in enumerate(shown.rows):
        sorts = shown.values[i] if shown.values else map(_value, row, numeric)
        cells = (
            f'<td{side} data-value="{"" if value is None else escape(str(value))}">'
            f'<span class="name">{STAMP.sub(HALVES, plain(text))}</span></td>'
            for text, value, side in zip(row, sorts, sides, strict=True)
        )
        lines.append(f"<tr>{''.join(cells)}</tr>\n")
    title = f"<caption><span>{plain(shown.title)}</span></caption>" if caption else ""
    return (
        f'<table class="{kind}">{title}\n<thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{''.join(lines)}</tbody></table>"
    )


def _value(cell: str, numeric: bool) -> Value:
    number = LEADING.match(cell) if numeric else None
    return number[0].replace(",", "") if number else printable(cell)


def latex(shown: ShownTable) -> str:
    """Return a table for LaTeX, below a comment on the packages that it needs."""
    columns = "l" + "r" * (len(shown.heads) - 1)
    heads, *rows = (" & ".join(map(escaped, line)) + r" \\" for line in (shown.heads, *shown.rows))
    lines = [
        r"% \usepackage{booktabs,textcomp} \usepackage[T1]{fontenc}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(shown.title)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        heads,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Return text that LaTeX prints as it is."""
    return "".join(SPECIAL.get(letter, letter) for letter in printable(text))
