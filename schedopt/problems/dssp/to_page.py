"""Sections of a result's page: when jobs run, shares of groups, and jobs that are left out."""

from collections.abc import Iterator

from schedopt.instances.dssp import Instance
from schedopt.instances.times import SECONDS
from schedopt.planning import plan_rows
from schedopt.problems.dssp import to_figure, to_tables
from schedopt.problems.summary import Section
from schedopt.solvers.result import Result

SHARES = {
    "share asked for": "The demand of all jobs of the group as a share of the capacity, which is "
    "processors times the time until the deadline.",
    "share selected": "The demand of the group's selected jobs as a share of the capacity.",
    "cap, floor": "The largest and the smallest share of the capacity that fair-share rules allow "
    "the group. A group that asks for less than its floor gets all it asks for.",
    "filled": "The demand of the selected jobs as a share of the night's capacity.",
}
REASONS = {
    "never": "The job cannot be on time, even if it ran alone: its critical path is longer than "
    "the time from its release to its deadline, or its demand exceeds what the machine offers.",
    "rule:NAME": "The rule of that name allows no selection with the job. Or the job would raise "
    "the reward, in free capacity or in place of jobs of less reward, but would break the rule.",
    "late": "The job would end too late to earn anything, so the plan does not run it.",
    "overlooked": "By planned run times the job would raise the reward, in free capacity or in "
    "place of jobs of less reward. The policy did not find this, or it allows for risk.",
    "outbid": "The jobs it would replace are worth at least as much.",
}
PLAN = REASONS | {
    "night": "The night on which the job runs; the first night is 1.",
    "processors": "The most processors that the job uses at a time.",
    "start, end": "The start of its first task and the end of its last task: by the clock if the "
    "start of the night is known, else in the file's unit of time from the start of the night.",
    "late": "The time from its deadline to its end; 0 if it is on time.",
    "rank": "The order in which to release jobs; the first is 1.",
}


def sections(
    instance: Instance, result: Result[plan_rows.Chosen], run: plan_rows.Run | None
) -> Iterator[Section]:
    """Yield the parts of the page."""
    if result.solution is None:
        return
    if run is not None and run.solution is not None:
        yield _times_section(instance, result, run)
    words = "The share of the capacity that each group gets, next to the share it asks for."
    tables = tuple(table.without_empty_columns() for table in to_tables.tables(instance, result))
    picture = "Shares of the capacity", lambda: to_figure.draw_shares([result], instance)
    yield Section(
        "Who gets what",
        words=words,
        pictures=(picture,),
        tables=tables,
        terms=SHARES if tables else {},
    )
    dropped = to_tables.dropped(instance, result)
    if dropped is not None:
        words = "By reward, the highest first."
        tables = (dropped.without_empty_columns(),)
        yield Section("Jobs that are left out, and why", words, tables=tables, terms=REASONS)
    whole = plan_rows.plan(instance, result, run).table(SECONDS[instance.unit])
    yield Section("All jobs", tables=(whole.without_empty_columns(),), terms=PLAN)


def _times_section(
    instance: Instance, result: Result[plan_rows.Chosen], run: plan_rows.Run
) -> Section:
    """Return the section of times: every task of a night."""
    schedule = run.solution
    assert schedule is not None  # noqa: S101
    late = [name for name, by in plan_rows.lateness(instance, schedule).items() if by]
    named = f" Late: {', '.join(sorted(late))}." if late else ""
    words = f"{plan_rows.in_time(instance, schedule)}.{named}"
    if run is not result:
        dispatcher = str(run.policy).rpartition("+")[2]
        words = (
            f"A selection has no start times. The selected jobs are dispatched by {dispatcher}, "
            f"the dispatcher with the most reward. {words}"
        )
    picture = "Each task on its processors", lambda: to_figure.schedule([run], instance)
    line = {"dashed line": "The deadline of the night. A job may have its own deadline."}
    return Section("When jobs run", words, pictures=(picture,), terms=line)
