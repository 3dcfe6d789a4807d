"""Tables for papers and spreadsheets: LaTeX with booktabs, and CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

import msgspec
from msgspec import structs

from schedopt.analysis import tables
from schedopt.analysis.pairs import Pair
from schedopt.analysis.profiles import Profile
from schedopt.analysis.summary import Overview, Standing
from schedopt.analysis.tables import NONE, between
from schedopt.formats import counted, duration, percent
from schedopt.instances.csv_text import guarded
from schedopt.instances.errors import printable
from schedopt.problems import problem
from schedopt.problems.shown import ShownTable

SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}", "'": r"\textquotesingle{}", "–": "--", "µ": r"$\mu$",
    "…": r"\dots{}",
}  # fmt: skip
"""What LaTeX would read as something else, and how it is written there."""


def standings(found: Sequence[Standing], overviews: Iterable[Overview]) -> Iterator[ShownTable]:
    """Yield for each problem the table of its contenders, with the names that papers print."""
    heads = ("policy", "mean gap", "95% interval", "SGM gap", "median", "worst", "best on",
             "optimal", "SGM time")  # fmt: skip
    for what in overviews:
        rows = tuple(_cells(standing) for standing in found if standing.problem == what.problem)
        title = (
            f"{what.problem}: {counted(what.instances, 'instance')}, optimum proven for "
            f"{what.proven:,}. Gaps to the best solution known; bootstrap intervals over "
            "instances; SGM: shifted geometric mean, with shifts of 1% and 1 ms"
        )
        yield ShownTable(title=title, heads=heads, rows=rows)


def _cells(standing: Standing) -> tuple[str, ...]:
    mean, shifted, middle, worst = (
        NONE if gap is None else percent(gap)
        for gap in (standing.mean, standing.shifted_gap, standing.median, standing.worst)
    )
    return (
        printed(standing.problem, standing.contender),
        tables.noisy(mean, standing.noise),
        between(standing.low, standing.high) or NONE,
        shifted,
        middle,
        worst,
        f"{standing.wins:,} of {standing.instances:,}",
        f"{standing.at_optimum:,} of {standing.counted:,}" if standing.counted else NONE,
        duration(standing.shifted_seconds),
    )


def profiles(found: Sequence[Profile]) -> Iterator[ShownTable]:
    """Yield for each problem the performance profiles at a few ratios."""
    yield from tables.profiles(
        [structs.replace(p, contender=printed(p.problem, p.contender)) for p in found]
    )


def pairs(found: Sequence[Pair]) -> Iterator[ShownTable]:
    """Yield one table of all pairs; none where there are no pairs."""
    rows = tuple(
        (
            pair.problem,
            printed(pair.problem, pair.a),
            printed(pair.problem, pair.b),
            f"{pair.instances:,}",
            f"{pair.better:,}",
            f"{pair.same:,}",
            f"{pair.worse:,}",
            percent(pair.mean),
            between(pair.low, pair.high),
        )
        for pair in found
    )
    heads = ("problem", "a", "b", "instances", "better", "equal", "worse", "mean advantage of a",
             "95% interval")  # fmt: skip
    if rows:
        yield ShownTable(title="Policies a and b, instance by instance", heads=heads, rows=rows)


def printed(of: str, contender: str) -> str:
    """Return a contender as papers print it: its policy's name, then its options if any."""
    names = problem(of).printed
    name, blank, options = contender.partition(" ")
    return "+".join(names.get(part, part) for part in name.split("+")) + blank + options


def latex(shown: ShownTable) -> str:
    """Return a table for LaTeX, which needs ``booktabs``, ``textcomp`` and ``[T1]{fontenc}``."""
    columns = "l" + "r" * (len(shown.heads) - 1)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(shown.title)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _line(shown.heads),
        r"\midrule",
        *map(_line, shown.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"


def escaped(text: str) -> str:
    """Return text that LaTeX prints as it is."""
    return "".join(SPECIAL.get(letter, letter) for letter in printable(text))


def standings_csv(found: Iterable[Standing]) -> str:
    """Return standings as CSV, every field at full precision; endings as JSON."""
    return _csv(
        Standing.__struct_fields__,
        (
            [
                msgspec.json.encode(value).decode() if isinstance(value, dict) else value
                for value in structs.astuple(standing)
            ]
            for standing in found
        ),
    )


def profiles_csv(found: Iterable[Profile]) -> str:
    """Return profiles as CSV: each step of each, a ratio and the share of instances within it."""
    heads = ("problem", "contender", "measure", "instances", "ratio", "share")
    return _csv(
        heads,
        (
            (profile.problem, profile.contender, profile.measure, profile.instances, ratio, share)
            for profile in found
            for ratio, share in zip(*profile.steps(), strict=True)
        ),
    )


def pairs_csv(found: Iterable[Pair]) -> str:
    """Return pairs as CSV, every field at full precision."""
    return _csv(Pair.__struct_fields__, map(structs.astuple, found))


def _csv(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    for row in rows:
        writer.writerow([guarded(printable(v)) if isinstance(v, str) else v for v in row])
    return text.getvalue()
