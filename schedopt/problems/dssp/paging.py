"""The parts of a page of one night: when jobs run, who gets what, and what is left out and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from schedopt.formats import counted, number
from schedopt.instances.dssp import Instance, Scheduled, Selected
from schedopt.problems.dssp import drawing, showing
from schedopt.problems.dssp.planning import lateness, plan
from schedopt.problems.dssp.reasons import Reason, reasons
from schedopt.problems.planned import Cell
from schedopt.problems.sheet import Section
from schedopt.problems.shown import ShownTable
from schedopt.solvers.result import Result

SHARES = {
    "share asked for": "What all jobs of the group would take of the capacity: their demand, over "
    "processors times the time until the deadline.",
    "share selected": "What those of its jobs take that are run.",
    "cap": "The most that a fair-share rule allows the group, as a share of the capacity.",
    "floor": "The least that a fair-share rule asks for it, or all of it if that is less.",
}
REASONS = {
    "never": "Whatever else is run, the job cannot be in time: its critical path (the time that it "
    "takes with all the processors it can use) is longer than there is from its release to its "
    "deadline, or its demand is more than the whole machine gives in that time.",
    "rule:NAME": "The rule of that name keeps the job out: it admits it in no selection at all; or "
    "the job would pay, in room that is left or in place of jobs that are together worth less, and "
    "that would break the rule.",
    "outbid": "There is no room for the job, and what would have to make way for it is worth as "
    "much or more.",
}
PLAN = {
    "runs": "Whether the job is to be run.",
    "processors": "The most that the job holds at one time.",
    "start, end": "When its first task starts and its last one ends, in the file's unit of time.",
    "late": "By how much it ends after its deadline; 0 is in time.",
}
TIMELINE = {
    "dashed line": "The night's deadline. A job may have one of its own.",
    "jobs complete": "Which part of the jobs that are run is done by each time.",
    "processors not yet released": "Which part of the processors still has a task to come.",
}


def sections(night: Instance, result: Result[Selected], run: Result | None) -> Iterator[Section]:
    """Yield the parts of the page."""
    if result.solution is None:
        return
    why = reasons(night, result)
    if run is not None and run.solution is not None:
        schedule = run
        yield Section(
            "When it runs",
            words=_timeline(night, result, schedule),
            pictures=(
                ("Every task on its processor", lambda: drawing.schedule([schedule], night)),
            ),
            terms=TIMELINE,
        )
    groups = tuple(table.filled() for table in showing.tables(night, result))
    yield Section(
        "Who gets what",
        words="The share of the machine's time that each group is given, beside what it asks for.",
        pictures=(("Shares of the capacity", lambda: drawing.shares([result], night)),),
        tables=groups,
        terms=SHARES if groups else {},
    )
    taken = lost(night, why)
    if taken.rows:
        words = "Jobs that would pay, or that a rule shuts out, under the rule that keeps them out."
        yield Section("Who loses what to which rule", words=words, tables=(taken,), terms=REASONS)
    dropped = showing.dropped(night, result)
    if dropped is not None:
        words = "The most rewarding first."
        yield Section("What is left out, and why", words, tables=(dropped,), terms=REASONS)
    yield Section("All jobs", tables=(_all(night, result, run),), terms=PLAN)


def _timeline(night: Instance, result: Result[Selected], run: Result[Scheduled]) -> str:
    schedule = run.solution
    if schedule is None:
        return ""
    late = sorted(name for name, by in lateness(night, schedule).items() if by)
    told = f"{counted(len(late), 'job')} late: {', '.join(late)}." if late else "All in time."
    if run is result:
        return told
    dispatcher = str(run.policy).rpartition("+")[2]
    return (
        f"What is chosen says which jobs, not when: here it is dispatched by {dispatcher}, which "
        f"earns the most of all dispatchers. {told}"
    )


def lost(night: Instance, why: Mapping[str, Reason]) -> ShownTable:
    """Return what each group loses to each rule."""
    by = next(iter(night.groups), None)
    found: dict[tuple[str, str], list[int]] = {}
    for name, reason in why.items():
        if reason.kind == "rule":
            job = night.jobs[night.index[name]]
            group = job.groups.get(by, "") if by else ""
            found.setdefault((reason.rule, group), []).append(night.index[name])
    rows = []
    for (rule, group), jobs in found.items():
        reward, demand = night.rewards[jobs].sum(), night.demands[jobs].sum()
        asked = f"{demand / night.capacity():.1%}"
        rows.append((rule, group, f"{len(jobs):,}", number(float(reward)), asked))
    heads = ("rule", by or "group", "jobs", "reward", "share asked for")
    table = ShownTable(title="lost to rules", heads=heads, rows=tuple(rows))
    return table.filled() if rows else table


def _all(night: Instance, result: Result[Selected], run: Result[Scheduled] | None) -> ShownTable:
    """Return the plan as text."""
    columns = plan(night, result, run)
    heads = tuple("runs" if column.title == "run" else column.title for column in columns)
    rows = zip(*(map(text, column.cells) for column in columns), strict=True)
    return ShownTable(title="plan", heads=heads, rows=tuple(rows)).filled()


def text(cell: Cell) -> str:
    """Return a cell of a plan as a page shows it."""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int | float):
        return number(cell)
    return cell or ""
