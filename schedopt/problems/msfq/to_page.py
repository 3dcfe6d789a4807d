"""The parts of a page on a log: waits, usage and the queue under each policy, in hours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from schedopt import tables as column
from schedopt.analysis.statistics import contenders
from schedopt.formats import count_of, cut
from schedopt.instances.errors import InputError
from schedopt.instances.files import load
from schedopt.instances.msfq import Bracketed, Instance, Replayed
from schedopt.instances.msfq.logs import Floats, Ints, Jobs
from schedopt.instances.times import Dates
from schedopt.pictures import style
from schedopt.pictures.style import decorate, label, label_clock_times
from schedopt.policies.registry import NotApplicableError, registered
from schedopt.problems.summary import Section
from schedopt.solvers.result import Result
from schedopt.tables import Table, Value

if TYPE_CHECKING:
    from schedopt.sweep.rows import BenchRow

HOUR = 3600.0
PERCENTILES = (50, 90, 99)
TERMS = {
    "mean wait": "The mean time from a job's submit to its start.",
    "p50, p90, p99": "Waits that 50%, 90% and 99% of the jobs do not exceed.",
    "processor-hours": "Processors times run time, summed over the jobs of an account.",
    "share": "The share of all processor-hours.",
}


def bench_sections(file: str, rows: Sequence[BenchRow]) -> Iterator[Section]:
    """Yield the parts on a log of a bench, whose policies are replayed again."""
    try:
        queue = load(file)
    except (InputError, OSError):  # generated, or not there any more
        return
    if not isinstance(queue, Instance) or queue.log is None:
        return
    names, policies = contenders(rows), registered("msfq")
    starts: dict[str, Floats] = {}
    for row in sorted(rows, key=lambda row: row.objective or 0.0):
        policy = policies.get(row.policy)
        if row.objective is None or policy is None or names[row.key] in starts:
            continue
        own = {key: value for key, value in row.options.items() if key in policy.options}
        try:
            replayed = policy.run(queue, **{**own, "starts": None})
        except (NotApplicableError, InputError):
            continue
        if isinstance(replayed, Replayed):
            starts[names[row.key]] = replayed.starts
    if starts:
        yield log_section(queue, starts)


def result_sections(queue: Instance, result: Result) -> Iterator[Section]:
    """Yield the parts on the policy of a result for a log."""
    solution = result.solution
    if isinstance(solution, Replayed | Bracketed):
        name = solution.policy if isinstance(solution, Bracketed) else str(result.policy)
        yield log_section(queue, {name: solution.starts})


def log_section(
    queue: Instance,
    starts: Mapping[str, Floats],
    *,
    most: int = 5,  # policies of a picture
    owned: int = 3,  # policies of the table of accounts, the site's own first
) -> Section:
    """Return the part on a log in seconds, from the starts of jobs, of the best policy first."""
    jobs, dates = queue.jobs, Dates.of(queue.start) if queue.start else None
    shown = dict(list(starts.items())[:most])
    if "recorded" in starts and "recorded" not in shown:
        shown = dict(list(shown.items())[:-1]) | {"recorded": starts["recorded"]}
    kept = [name for name in shown if name == "recorded"] + list(shown)
    by_owner = usage_table(jobs, {name: shown[name] for name in kept[:owned]})
    return Section(
        f"{queue.name}: waits, usage and the queue",
        words=f"{count_of(len(jobs), 'job')} on {queue.servers:,} processors, in hours.",
        pictures=(("Jobs that wait over time", partial(draw_queue, jobs, shown, dates)),),
        tables=(waits_table(jobs, starts), *([by_owner] if by_owner else [])),
        terms=TERMS,
    )


def waits_table(jobs: Jobs, starts: Mapping[str, Floats]) -> Table:
    """Return the waits under each policy."""
    heads = ("mean wait", *(f"p{percent}" for percent in PERCENTILES), "longest", "mean response")
    lines: list[tuple[Value, ...]] = []
    for name, begun in starts.items():
        wait = (begun - jobs.submit) / HOUR
        response = float((wait + jobs.run / HOUR).mean())
        waits = map(float, np.percentile(wait, PERCENTILES))
        lines.append((name, float(wait.mean()), *waits, float(wait.max()), response))
    return Table.of("waits in hours", (column.text("policy"), *map(hours, heads)), lines)


def usage_table(
    jobs: Jobs,
    starts: Mapping[str, Floats],
    *,
    most: int = 40,  # accounts of the table
) -> Table | None:
    """Return usage and mean waits by account, or by user; None if neither is known."""
    known = [(by, labels) for by in ("group", "user") if (labels := jobs.labels(by)) is not None]
    if not known:
        return None
    by, labels = next((pair for pair in known if len(pair[1].names) > 1), known[0])
    codes = np.where(labels.codes < 0, len(labels.names), labels.codes)
    count = np.bincount(codes, minlength=len(labels.names) + 1)
    usage = np.bincount(codes, jobs.need * jobs.run / HOUR, len(count))
    waits = [
        np.bincount(codes, (begun - jobs.submit) / HOUR, len(count)) / np.maximum(count, 1)
        for begun in starts.values()
    ]
    names = [*labels.names, "unknown"]
    order = [i for i in np.argsort(-usage, kind="stable").tolist() if count[i]]
    columns = (
        column.text("account" if by == "group" else "user"),
        column.count("jobs"),
        hours("processor-hours"),
        column.share("share"),
        *(hours(f"mean wait: {name}") for name in starts),
    )
    lines = (
        (
            names[i],
            int(count[i]),
            float(usage[i]),
            float(usage[i] / usage.sum()),
            *(float(of[i]) for of in waits),
        )
        for i in order[:most]
    )
    more = f" ({most} of {len(order):,})" if len(order) > most else ""
    return Table.of(f"usage and waits by {columns[0].title}, in hours{more}", columns, lines)


def hours(title: str) -> column.Column:
    """Return a column of hours in three significant digits."""
    return column.Column(title, lambda value: f"{value:,.0f}" if value >= 100 else f"{value:.3g}")


def draw_queue(
    jobs: Jobs,
    starts: Mapping[str, Floats],
    dates: Dates | None,
    *,
    steps: int = 240,  # steps in time
) -> Figure:
    """Draw the mean number of jobs that wait, from release to start, in each step of time."""
    figure, axes = style.single_panel((5.2, 3.4))
    first = float(jobs.submit[0])
    last = max(float((begun + jobs.run).max()) for begun in starts.values())
    edges = np.linspace(first, last, steps + 1)
    middle = (edges[:-1] + edges[1:]) / 2 / HOUR
    for (name, begun), (colour, dash) in zip(
        starts.items(), style.lines(starts).values(), strict=True
    ):
        waiting = mean_held(jobs.released, begun, np.ones_like(begun), edges)
        axes.plot(middle, waiting, color=colour, linestyle=dash, label=label(cut(name, 28)))
    axes.set_xlim(first / HOUR, last / HOUR)
    axes.set_ylim(bottom=0)
    decorate(axes, x="time [hours]", y="jobs that wait")
    if dates is not None:
        label_clock_times(axes, dates, HOUR)
    columns = min(len(starts), 3)
    figure.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
    return figure


def mean_held(begin: Floats, end: Floats, amounts: Floats | Ints, edges: Floats) -> Floats:
    """Return the mean of the amounts held in each step, each from its beginning to its end."""

    def area(times: Floats) -> Floats:
        """Return the sum of amounts times time from ``times`` to each edge."""
        order = np.argsort(times)
        count = np.searchsorted(times[order], edges)
        held = np.concatenate([[0.0], np.cumsum(amounts[order])])
        moment = np.concatenate([[0.0], np.cumsum((amounts * times)[order])])
        areas: Floats = edges * held[count] - moment[count]
        return areas

    return np.diff(area(begin) - area(end)) / np.diff(edges)
