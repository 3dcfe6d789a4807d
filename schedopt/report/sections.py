"""The parts of a report that need no script: a problem's summary, and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from schedopt.report.measuring import Summary
from schedopt.sweep.rows import Row
from schedopt.terminal.tables import percent

HEADINGS = ("policy", "mean gap", "median", "worst", "on", "at the optimum", "best of all", "time")


def problem_section(
    problem: str, sense: str, rows: Sequence[Row], summaries: Sequence[Summary]
) -> str:
    """Return a problem's summary, and places for its charts."""
    cases = {row.file: row for row in rows}
    proven = sum(row.reference_proven for row in cases.values())
    name, verb = escape(problem), escape(sense)
    ordered = sorted(summaries, key=_standing)
    left_out = sum(summary.runs - summary.gaps for summary in summaries)
    return f"""<section class="problem" aria-label="{name}">
<h2>{name}</h2>
<p class="quiet">{counted(len(cases), "instance")} to {verb}; optimum proven for {proven:,}.</p>
<div class="scroll"><table class="summary">
<thead><tr>{"".join(f'<th scope="col">{heading}</th>' for heading in HEADINGS)}</tr></thead>
<tbody>
{"".join(_line(summary) for summary in ordered)}</tbody></table></div>
{_left_out(left_out)}
<div class="charts">
<figure><figcaption>Performance profiles
<small>On which part of the runs is a policy within so many times the best of all?
Higher and further left is better.</small></figcaption>
<div class="chart" data-problem="{name}" data-chart="profile"></div></figure>
<figure><figcaption>Gaps
<small>The box holds the middle half of the runs; a point, where there are few enough, is a run.
</small></figcaption>
<div class="chart" data-problem="{name}" data-chart="gaps"></div></figure>
</div></section>"""


def counted(count: int, what: str) -> str:
    """Return how many of something there are, in words that fit one, too."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _standing(summary: Summary) -> tuple[bool, float]:
    return summary.mean is None, summary.mean or 0.0


def _line(summary: Summary) -> str:
    worst = summary.worst_on
    on = escape(worst.instance) if worst is not None and (worst.gap or 0.0) > 0 else ""
    cells = (
        f'<span class="name">{escape(summary.policy)}</span>',
        *(_gap(gap) for gap in (summary.mean, summary.median, summary.worst)),
        f'<span class="name">{on}</span>',
        f"{summary.optimal:,} of {summary.gaps:,}" if summary.gaps else "",
        f"{summary.best:,} of {summary.cases:,}",
        _duration(summary.seconds),
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>\n"


def _gap(gap: float | None) -> str:
    return "–" if gap is None else escape(percent(gap))


def _duration(seconds: float) -> str:
    scale, unit = (1.0, "s") if seconds >= 1 or not seconds else (1e3, "ms")
    if 0 < seconds < 1e-3:
        scale, unit = 1e6, "µs"
    return f"{scale * seconds:.3g} {unit}"


def _left_out(count: int) -> str:
    if not count:
        return ""
    return (
        f'<p class="quiet">{counted(count, "run")} without a gap: the policy does not apply, '
        "breaks side constraints or answers another question, or there is no reference.</p>"
    )


def failed(failures: Sequence[str]) -> str:
    """Return the list of instances that could not be used; nothing where there are none."""
    if not failures:
        return ""
    lines = "".join(f"<li>{escape(line)}</li>" for line in failures)
    return f'<section class="failures"><h2>Not used</h2><ul>{lines}</ul></section>'
