"""The parts of a page of a season: when jobs run, who gets what, what is left out and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from schedopt.formats import counted, number
from schedopt.instances.dssp import Instance, ScheduledNights, SelectedNights
from schedopt.problems.dssp import paging, season_shown, showing
from schedopt.problems.dssp.planning import lateness
from schedopt.problems.dssp.reasons import reasons
from schedopt.problems.dssp.season_planned import plan
from schedopt.problems.sheet import Section
from schedopt.problems.shown import ShownTable
from schedopt.solvers.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARES = {
    "filled": "The demand of the night's jobs, as a share of its capacity: processors times the "
    "time until the deadline.",
    "jobs": "How many jobs are run on the night.",
    "a group's column": "Its share of the night's capacity; in the last row, of all nights'.",
}
PLAN = paging.PLAN | {
    "night": "On which night the job is run, the first one 1.",
    "start, end": "When its first task starts and its last one ends, from the start of its night, "
    "in the file's unit of time.",
}
TIMELINE = {
    "processors at work": "How many are busy at each time, by group; nights stand one after the "
    "other, each from its start to its deadline, or to its last task's end if that is later.",
}


def sections(
    season: Instance, result: Result[SelectedNights], run: Result[ScheduledNights] | None
) -> Iterator[Section]:
    """Yield the parts of the page."""
    if result.solution is None:
        return
    if run is not None and run.solution is not None:
        schedules = run.solution
        yield Section(
            "When it runs",
            words=_told(season, schedules, str(run.message)),
            pictures=(("Processors at work", lambda: _drawn(season, schedules)),),
            terms=TIMELINE,
        )
    tables = tuple(table.filled() for table in season_shown.tables(season, result))
    yield Section(
        "Who gets what",
        words="The share of each night's capacity that each group is given.",
        pictures=(("Shares of the capacity, night by night", lambda: season_shown.draw([result])),),
        tables=tables,
        terms=SHARES,
    )
    why = reasons(season, result)
    lost = paging.lost(season, why)
    if lost.rows:
        words = "Jobs that would pay, or that a rule shuts out, under the rule that keeps them out."
        yield Section(
            "Who loses what to which rule", words=words, tables=(lost,), terms=paging.REASONS
        )
    dropped = showing.dropped(season, result)
    if dropped is not None:
        words = "The most rewarding first."
        yield Section(
            "What is left out, and why", words, tables=(dropped.filled(),), terms=paging.REASONS
        )
    columns = plan(season, result, run)
    heads = tuple("runs" if column.title == "run" else column.title for column in columns)
    rows = zip(*(map(paging.text, column.cells) for column in columns), strict=True)
    whole = ShownTable(title="plan", heads=heads, rows=tuple(rows)).filled()
    yield Section("All jobs", tables=(whole,), terms=PLAN)


def _told(season: Instance, found: ScheduledNights, message: str) -> str:
    late = {
        name: by
        for schedule in found.schedules
        for name, by in lateness(season, schedule).items()
        if by
    }
    named = ", ".join(f"{name} by {number(by)}" for name, by in sorted(late.items()))
    told = f" {counted(len(late), 'job')} late: {named}." if late else ""
    return (
        "What is chosen says which jobs and which night, not when: here each night is "
        f"{message}.{told}"
    )


def _drawn(season: Instance, found: ScheduledNights) -> Figure:
    """Draw how many processors are busy, by group, one night after the other."""
    import numpy as np
    from matplotlib.figure import Figure

    from schedopt.pictures.style import PALE, colours, label, time_unit

    by = next(iter(season.groups), "")
    shown = season_shown.largest(found, by) if by else ["all jobs"]
    groups = {job.name: job.groups.get(by, "") if by else "all jobs" for job in season.jobs}
    look = colours([*shown, *(["others"] if set(groups.values()) - {*shown} else [])])
    unit, word = time_unit(season.deadline)
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    axes = figure.subplots()
    at = 0.0
    middles = []
    for schedule in found.schedules:
        axes.axvline(at / unit, color=PALE, linewidth=0.8)
        changes: dict[str, list[tuple[float, int]]] = {name: [] for name in look}
        for task in schedule.tasks:
            group = groups[task.job] if groups[task.job] in changes else "others"
            changes[group] += [(task.start, 1), (task.end, -1)]
        moments = np.unique([0.0, *(time for each in changes.values() for time, _ in each)])
        heights = []
        for each in changes.values():
            steps = np.zeros(len(moments))
            times = np.array([time for time, _ in each])
            np.add.at(steps, np.searchsorted(moments, times), [change for _, change in each])
            heights.append(np.cumsum(steps))
        axes.stackplot((at + moments) / unit, heights, colors=[*look.values()], step="post")
        long = max(season.deadline, schedule.makespan)
        middles.append((at + long / 2) / unit)
        at += long
    step = max(1, -(-len(middles) // 14))
    axes.set_xticks(middles[::step], [f"{n}" for n in range(1, len(middles) + 1, step)])
    axes.set_xlim(0, at / unit)
    axes.set_ylim(0, season.processors)
    axes.set_xlabel(f"night ({number(season.deadline / unit)} {word or 'units of time'} each)")
    axes.set_ylabel("processors at work")
    for name, colour in look.items():
        axes.fill_between([], [], color=colour, label=label(name))
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    return figure
