"""The parts of a page of a result: when jobs run, who gets what, and what is left out and why."""

from collections.abc import Iterator, Mapping
from typing import Any

from schedopt import tables as column
from schedopt.formats import counted, number
from schedopt.instances.dssp import Instance, Scheduled, ScheduledNights
from schedopt.problems.dssp import to_figure, to_tables
from schedopt.problems.dssp.planning import (
    Chosen,
    has_several_nights,
    in_time,
    lateness,
    plan,
    schedules_of,
)
from schedopt.problems.dssp.reasons import Reason, reasons
from schedopt.problems.summary import Section, as_table
from schedopt.solvers.result import Result
from schedopt.tables import Table

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
    "late": "The job would end so late that it earns nothing, so that the plan does not run it.",
    "overlooked": "There is room for the job, or what would have to make way for it is worth less: "
    "whoever chose did not see it.",
    "risk": "By planned run times there is room for the job, or what would have to make way for it "
    "is worth less; under the risk that was asked for it is not chosen.",
    "outbid": "There is no room for the job, and what would have to make way for it is worth as "
    "much or more.",
}
PLAN = {
    "runs": "Whether the job is to be run.",
    "processors": "The most that the job holds at one time.",
    "start, end": "When its first task starts and its last one ends, in the file's unit of time.",
    "late": "By how much it ends after its deadline; 0 is in time.",
    "rank": "In which order to release what is run, the first one 1.",
    "chance": "How likely the job is to be in time: in which share of nights, with run times drawn "
    "from its spread and its tasks run by the same dispatcher, it was.",
    "start_time, end_time": "When it starts and ends by the clock.",
}
TIMELINE = {
    "dashed line": "The night's deadline. A job may have one of its own.",
    "jobs complete": "Which part of the jobs that are run is done by each time.",
    "processors not yet released": "Which part of the processors still has a task to come.",
}
SHARES_BY_NIGHT = {
    "filled": "The demand of the night's jobs, as a share of its capacity: processors times the "
    "time until the deadline.",
    "jobs": "How many jobs are run on the night.",
    "a group's column": "Its share of the night's capacity; in the last row, of all nights'.",
}
PLAN_BY_NIGHT = PLAN | {
    "night": "On which night the job is run, the first one 1.",
    "start, end": "When its first task starts and its last one ends, from the start of its night, "
    "in the file's unit of time.",
}


def sections(
    instance: Instance, result: Result[Chosen], run: Result[Any] | None
) -> Iterator[Section]:
    """Yield the parts of the page."""
    if result.solution is None:
        return
    why, several = reasons(instance, result), has_several_nights(result)
    if run is not None and run.solution is not None:
        yield _times_section(instance, result, run, run.solution)
    each = "each night's capacity" if several else "the machine's time"
    beside = "" if several else ", beside what it asks for"
    where = ", night by night" if several else ""
    groups = tuple(table.filled() for table in to_tables.tables(instance, result))
    yield Section(
        "Who gets what",
        words=f"The share of {each} that each group is given{beside}.",
        pictures=(
            (f"Shares of the capacity{where}", lambda: to_figure.draw_shares([result], instance)),
        ),
        tables=groups,
        terms=SHARES_BY_NIGHT if several else SHARES if groups else {},
    )
    taken = _lost_to_rules(instance, why)
    if taken.rows:
        words = "Jobs that would pay, or that a rule shuts out, under the rule that keeps them out."
        yield Section("Who loses what to which rule", words=words, tables=(taken,), terms=REASONS)
    dropped = to_tables.dropped(instance, result)
    if dropped is not None:
        words, tables = "The most rewarding first.", (dropped.filled() if several else dropped,)
        yield Section("What is left out, and why", words, tables=tables, terms=REASONS)
    terms = PLAN_BY_NIGHT if several else PLAN
    yield Section("All jobs", tables=(_plan_table(instance, result, run),), terms=terms)


def _times_section(
    instance: Instance, result: Result[Chosen], run: Result[Any], made: Scheduled | ScheduledNights
) -> Section:
    """Return when jobs run: every task of a night, or who is at work on each of several."""
    late: dict[str, float] = {}
    for schedule in schedules_of(run):
        late |= {name: by for name, by in lateness(instance, schedule).items() if by}
    names = sorted(late)
    if isinstance(made, ScheduledNights):
        named = ", ".join(f"{name} by {number(late[name])}" for name in names)
        told = f" {counted(len(late), 'job')} late: {named}." if late else ""
        words = (
            "What is chosen says which jobs and which night, not when: here each night is "
            f"{run.message}.{told}"
        )
        return Section("When it runs", words)
    words = f"{in_time(instance, made)}." + f" Late: {', '.join(names)}." * bool(late)
    if run is not result:
        dispatcher = str(run.policy).rpartition("+")[2]
        words = (
            f"What is chosen says which jobs, not when: here it is dispatched by {dispatcher}, "
            f"which earns the most of all dispatchers. {words}"
        )
    picture = "Every task on its processor", lambda: to_figure.schedule([run], instance)
    return Section("When it runs", words, pictures=(picture,), terms=TIMELINE)


def _lost_to_rules(night: Instance, why: Mapping[str, Reason]) -> Table:
    """Return what each group loses to each rule."""
    by = next(iter(night.groups), None)
    kept_out: dict[tuple[str, str], list[int]] = {}
    for name, reason in why.items():
        if reason.kind == "rule":
            job = night.jobs[night.index[name]]
            group = job.groups.get(by, "") if by else ""
            kept_out.setdefault((reason.rule, group), []).append(night.index[name])
    rows = []
    for (rule, group), jobs in kept_out.items():
        reward, demand = night.rewards[jobs].sum(), night.demands[jobs].sum()
        asked = float(demand) / night.capacity()
        rows.append((rule, group, len(jobs), float(reward), asked))
    columns = (
        column.text("rule"),
        column.text(by or "group"),
        column.count("jobs"),
        column.number("reward"),
        column.share("share asked for"),
    )
    return Table.of("lost to rules", columns, rows).filled()


def _plan_table(instance: Instance, result: Result[Chosen], run: Result[Any] | None) -> Table:
    return as_table("plan", plan(instance, result, run)).filled()
