"""Sections of a result's page: when jobs run, shares of groups, and jobs that are left out."""

from collections.abc import Iterator

from schedopt.formats import count_of
from schedopt.instances.dssp import Instance, ScheduledNights
from schedopt.instances.times import SECONDS
from schedopt.planning import plan_rows
from schedopt.problems.dssp import to_figure, to_tables
from schedopt.problems.summary import Section
from schedopt.solvers.result import Result

SHARES = {
    "share asked for": "What all jobs of the group would take of the capacity: their demand, over "
    "processors times the time until the deadline.",
    "share selected": "What those of its jobs take that are run.",
    "cap, floor": "The most and the least that fair-share rules allow it, as shares of the "
    "capacity; of a floor it has all that it asks for, if that is less.",
    "filled": "The demand of the night's jobs, as a share of its capacity.",
}
REASONS = {
    "never": "Whatever else is run, the job cannot be in time: its critical path is longer than "
    "there is from its release to its deadline, or its demand is more than the machine gives then.",
    "rule:NAME": "The rule of that name admits it in no selection at all; or the job would pay, in "
    "room that is left or in place of jobs that are together worth less, and would break the rule.",
    "late": "The job would end so late that it earns nothing, so that the plan does not run it.",
    "overlooked": "There is room for the job, or the jobs that it would replace are worth less, "
    "by planned run times: the policy did not find this, or it takes the risk into account.",
    "outbid": "The jobs that it would replace are worth no less.",
}
PLAN = REASONS | {
    "night": "On which night the job is run, the first one 1.",
    "processors": "The most that the job holds at one time.",
    "start, end": "When its first task starts and its last one ends: by the clock, or, where it is "
    "not known when the night starts, from its start in the file's unit of time.",
    "late": "By how much it ends after its deadline; 0 is in time.",
    "rank": "In which order to release what is run, the first one 1.",
    "chance": "In which share of nights, with run times drawn from its spread, it was in time.",
}


def sections(
    instance: Instance, result: Result[plan_rows.Chosen], run: plan_rows.Run | None
) -> Iterator[Section]:
    """Yield the parts of the page."""
    if result.solution is None:
        return
    several = plan_rows.has_several_nights(result)
    if run is not None and run.solution is not None:
        yield _times_section(instance, result, run)
    words = "The share of the capacity that each group is given, beside what it asks for."
    by_night = "The share of each night's capacity that each group is given."
    tables = tuple(table.without_empty_columns() for table in to_tables.tables(instance, result))
    picture = "Shares of the capacity", lambda: to_figure.draw_shares([result], instance)
    yield Section(
        "Who gets what",
        words=by_night if several else words,
        pictures=(picture,),
        tables=tables,
        terms=SHARES if tables else {},
    )
    dropped = to_tables.left_out_table(instance, result)
    if dropped is not None:
        words = "The most rewarding first."
        tables = (dropped.without_empty_columns(),)
        yield Section("What is left out, and why", words, tables=tables, terms=REASONS)
    whole = plan_rows.plan(instance, result, run).table(SECONDS[instance.unit])
    yield Section("All jobs", tables=(whole.without_empty_columns(),), terms=PLAN)


def _times_section(
    instance: Instance, result: Result[plan_rows.Chosen], run: plan_rows.Run
) -> Section:
    """Return the section of times: every task of a night, or the late jobs of several nights."""
    late = {
        name
        for schedule in plan_rows.schedules_of(run)
        for name, by in plan_rows.lateness(instance, schedule).items()
        if by
    }
    named = f" Late: {', '.join(sorted(late))}." if late else ""
    if isinstance(run.solution, ScheduledNights):
        words = f"Each night is {run.message}; {count_of(len(late), 'job')} late.{named}"
        return Section("When it runs", words)
    words = (
        " ".join(
            f"{plan_rows.in_time(instance, schedule)}." for schedule in plan_rows.schedules_of(run)
        )
        + named
    )
    if run is not result:
        dispatcher = str(run.policy).rpartition("+")[2]
        words = (
            f"What is chosen says which jobs, not when: here it is dispatched by {dispatcher}, "
            f"which earns the most of all dispatchers. {words}"
        )
    picture = "Every task on its processor", lambda: to_figure.schedule([run], instance)
    line = {"dashed line": "The night's deadline. A job may have one of its own."}
    return Section("When it runs", words, pictures=(picture,), terms=line)
