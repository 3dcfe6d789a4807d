"""The parts of a report that need no script: words, summaries, definitions, failures."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from schedopt.analysis import tables
from schedopt.analysis.averages import FEW
from schedopt.analysis.pairs import Pair
from schedopt.analysis.summary import Overview, Standing, rank
from schedopt.formats import counted
from schedopt.problems import problem
from schedopt.tables import Table, plain, to_html

DEFINITIONS = {
    "gap": "How far a policy falls short of the reference, the optimum or the best solution found, "
    "as a fraction of it; of a log, how far it is over the bound. 0.00% is optimal where the "
    "optimum is proven.",
    "mean gap": "The mean over all runs that have a gap; what simulation adds to it (95%) is "
    "behind the ±.",
    "95% interval": "How far the mean gap would move on other instances of the same kind: the "
    "percentile bootstrap over instances (Efron and Tibshirani, 1993). Not given for fewer than "
    f"{FEW} instances.",
    "worst": "The largest gap, and the instance that shows it.",
    "wins": "The instances on which no policy is better than this one, of those that any policy "
    "solves. Several policies can win one instance.",
    "optimal": "The runs that meet a proven optimum, of those that have a gap.",
    "time": "The policy's own mean time, without that of the reference.",
    "no gap": "Runs left out of the means: the policy does not apply, breaks side constraints, "
    "timed out, or is not comparable since it answers another question than the reference.",
}
"""What the summary's columns mean."""

PROFILE = (
    "On which share of the instances is a policy within a factor of the best policy? Higher, and "
    "further left, is better (Dolan and Moré, 2002). The best is of all policies, shown or not."
)
GAPS = (
    "The box holds the middle half of the runs, the line in it is the median, the whiskers reach "
    "from the least gap to the largest. A point is a run, where these are few enough."
)
PAIRS = (
    "The advantage on an instance is the difference of the two objectives in favour of {}, as a "
    "fraction of the larger. Where its interval contains 0, these instances do not settle who is "
    "better on average."
)


def words(lines: Mapping[str, str]) -> str:
    """Return who is best, in a line for each problem."""
    told = "".join(f"<p>{escape(name)}: {escape(line)}</p>\n" for name, line in lines.items())
    return f'<section class="words" aria-label="In short">\n<h2>In short</h2>\n{told}</section>'


MEASURED = (
    "Response, wait and slowdown are means over jobs; lost is the share of the servers that was "
    "idle though waiting jobs could have filled it. A replay is exact: "
    "± of batches is the half-width of a 95% interval, by batch means over the log, for the mean "
    "of the process that the log is a part of. "
    "The bound is for schedules that preempt nobody; a reference that preempts is not held to it."
)


def measured(shown: Sequence[Table]) -> str:
    """Return tables of what is measured on each instance; nothing where there are none."""
    if not shown:
        return ""
    told = "".join(
        f'<div class="scroll">{to_html(table, kind="sortable pairs", caption=True)}</div>\n'
        for table in shown
    )
    return f"""<section class="measured" aria-label="What is measured">
<h2>What is measured</h2>
<p class="quiet">{MEASURED}</p>
{told}</section>"""


def problem_section(
    overview: Overview, sense: str, standings: Sequence[Standing], pairs: Sequence[Pair]
) -> str:
    """Return a problem's summary and definitions, and places for its charts."""
    name = escape(overview.problem, quote=True)
    title = escape(problem(overview.problem).title)
    proven = f"optimum proven for {overview.proven:,}"
    if overview.re_proved:
        proven += f", re-proved from certificates for {overview.re_proved:,}"
    runs = f"{counted(overview.runs, 'run')} on {counted(overview.instances, 'instance')}"
    profile = (  # of one instance it would be a line
        f"<figure><figcaption>Performance profiles<small>{PROFILE}</small></figcaption>\n"
        '<div class="chart" data-chart="profile"></div></figure>\n'
        if overview.instances > 1
        else ""
    )
    standing = tables.standing_table(rank(standings))
    summary = to_html(standing, DEFINITIONS, kind="summary sortable")
    return f"""<section class="problem" data-problem="{name}" aria-label="{name}">
<h2>{name}: {title}</h2>
<p class="quiet">{runs} to {escape(sense)}; {proven}.</p>
<div class="scroll">{summary}</div>
<p class="under"><button type="button" class="download" data-what="summary">Download as CSV</button>
<span class="quiet">of all runs, whatever the filters</span></p>
{glossary("What the columns mean", DEFINITIONS)}
<div class="charts">
{profile}<figure><figcaption>Gaps<small>{GAPS}</small></figcaption>
<div class="chart" data-chart="gaps"></div></figure>
</div>
{_pairs(pairs)}</section>"""


def glossary(title: str, meanings: Mapping[str, str]) -> str:
    """Return what words mean, to be opened; nothing where there are none."""
    if not meanings:
        return ""
    return f"<details><summary>{title}</summary>{definition_list(meanings.items())}</details>"


def definition_list(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a list of definitions."""
    return f"<dl>{''.join(f'<dt>{plain(a)}</dt><dd>{plain(b)}</dd>' for a, b in pairs)}</dl>"


def _pairs(pairs: Sequence[Pair]) -> str:
    """Return the best policy beside each other one, instance by instance."""
    if not pairs:
        return ""
    best = escape(pairs[0].a)
    return f"""<details><summary>{best} beside each other policy, instance by instance</summary>
<p class="quiet">{PAIRS.format(best)}</p>
<div class="scroll">{to_html(tables.pairs(pairs), kind="sortable pairs")}</div></details>"""


def failed(failures: Sequence[str]) -> str:
    """Return the list of instances that could not be used; nothing where there are none."""
    if not failures:
        return ""
    lines = "".join(f"<li>{escape(line)}</li>" for line in failures)
    return f'<section class="failures"><h2>Not used</h2><ul>{lines}</ul></section>'
