"""The parts of a report that need no script: a problem's summary, and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from schedopt.analysis.summary import Overview, Standing, ranked
from schedopt.analysis.tables import HEADS, standing_cells
from schedopt.formats import counted


def problem_section(overview: Overview, sense: str, standings: Sequence[Standing]) -> str:
    """Return a problem's summary, and places for its charts."""
    name, verb = escape(overview.problem), escape(sense)
    ordered = ranked(standings)
    proven = f"optimum proven for {overview.proven:,}"
    if overview.re_proved:
        proven += f", re-proved from certificates for {overview.re_proved:,}"
    left_out = sum(standing.runs - standing.counted for standing in standings)
    return f"""<section class="problem" aria-label="{name}">
<h2>{name}</h2>
<p class="quiet">{counted(overview.instances, "instance")} to {verb}; {proven}.</p>
<div class="scroll"><table class="summary">
<thead><tr>{"".join(f'<th scope="col">{heading}</th>' for heading in HEADS)}</tr></thead>
<tbody>
{"".join(_line(standing) for standing in ordered)}</tbody></table></div>
{_left_out(left_out)}
<div class="charts">
<figure><figcaption>Performance profiles
<small>On which share of the instances is a policy within a factor of the best?
Higher and further left is better.</small></figcaption>
<div class="chart" data-problem="{name}" data-chart="profile"></div></figure>
<figure><figcaption>Gaps
<small>The box holds the middle half of the runs; a point, where there are few enough, is a run.
</small></figcaption>
<div class="chart" data-problem="{name}" data-chart="gaps"></div></figure>
</div></section>"""


def _line(standing: Standing) -> str:
    cells = (f'<span class="name">{escape(cell)}</span>' for cell in standing_cells(standing))
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>\n"


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
