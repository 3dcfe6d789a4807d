"""The page of a bench: a summary, profiles, and tables of policies and of runs."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from schedopt import tables as column
from schedopt.analysis import statistics, tables
from schedopt.formats import count_of
from schedopt.pictures import charts
from schedopt.problems import problem
from schedopt.problems.summary import Section
from schedopt.report import page
from schedopt.sweep.rows import BenchRow
from schedopt.tables import Table

FOOTER = (
    "Before it was counted, every result was recomputed from the instance by a checker that shares "
    "no code with the solvers and policies."
)
TERMS = {
    "gap": "The relative distance of a policy from the reference, which is the optimum or the best "
    "solution found; for a log, from the bound. 0.00% is optimal if the optimum is proven.",
    "mean gap": "The mean over all runs with a gap. The ± is the half-width of the 95% confidence "
    "interval of simulated runs.",
    "95% interval": "The 95% confidence interval of the mean gap over instances of the same kind, "
    "by the percentile bootstrap (Efron and Tibshirani, 1993). It needs at least "
    f"{statistics.FEW} instances.",
    "worst": "The largest gap, and its instance.",
    "wins": "The number of instances on which no other policy is better, among those that at least "
    "one policy solves. Several policies can win one instance.",
    "optimal": "The number of runs that reach a proven optimum, among those with a gap.",
    "time": "The mean time of the policy, without that of the reference.",
    "no gap": "Runs that are left out of the means: the policy does not apply, breaks side "
    "constraints, reached its time limit, or solves another problem than the reference.",
    "mean advantage": "The mean relative difference of the two objectives, positive if the first "
    "policy is better. If its interval contains 0, these instances do not show which policy is "
    "better on average.",
}
PROFILE = (
    "Each line shows the share of instances on which a policy is within a factor of the best "
    "policy; a line that is higher or further left is better (Dolan and Moré, 2002)."
)
MEASURED = (
    "Response, wait and slowdown are means over jobs, in the instance's unit: seconds for logs of "
    "clusters. Lost is the share of server time that was idle although waiting jobs could have "
    "used it. Fairness is Jain's index of the users' mean slowdowns: 1 means that all are equal. "
    "A replay has no sampling error. ± of batches is the half-width of a 95% interval, by batch "
    "means over the log, for the mean of the process that generated the log. The bound holds for "
    "schedules without preemption; a policy that preempts may be below it."
)


def write(rows: Sequence[BenchRow], path: str | Path, *, failures: Sequence[str] = ()) -> None:
    """Write rows of a bench as one page; ``path`` ends in .html."""
    count = len(statistics.group_rows(rows, "file"))
    about = f"{count_of(len(rows), 'run')} on {count_of(count, 'instance')}"
    page.write(path, "How far from the optimum", about, sections(rows, failures), FOOTER)


def sections(
    rows: Sequence[BenchRow],
    failures: Sequence[str] = (),
    *,
    most_logs: int = 6,  # instances with sections of their own
) -> Iterator[Section]:
    """Yield the parts of the page."""
    standings, problems = statistics.summary(rows), statistics.overview(rows)
    leaders = {what.problem: tables.leader(standings, what) for what in problems}
    yield Section("In short", facts=leaders)
    if failures:
        table = Table.of("not used", [column.text("instance")], [[line] for line in failures])
        yield Section("Instances that could not be used", tables=(table,))
    if measured := tuple(tables.measured_tables(rows)):
        yield Section("Measures", words=MEASURED, tables=measured)
    for file, mine in list(statistics.group_rows(rows, "file").items())[:most_logs]:
        yield from problem(mine[0].problem).bench_sections(file, mine)
    for what in problems:
        yield _of_problem(what, statistics.group_rows(rows, "problem")[what.problem])
    yield Section("All runs", tables=(_runs(rows),))


def _of_problem(what: statistics.Overview, rows: Sequence[BenchRow]) -> Section:
    """Return the section of a problem: its policies, and each compared with the best."""
    ranked, record = statistics.rank(statistics.summary(rows)), problem(what.problem)
    proven = f"optimum proven for {what.proven:,}"
    if what.re_proved:
        proven += f", re-proved from certificates for {what.re_proved:,}"
    runs = f"{count_of(what.runs, 'run')} on {count_of(what.instances, 'instance')}"
    pairs = statistics.against(rows, ranked[0].contender)
    beside = (tables.pairs(pairs),) if pairs else ()
    drawn = (
        statistics.profiles(rows) if what.instances > 1 else []
    )  # of one instance it would be a line
    return Section(
        f"{what.problem}: {record.title}",
        words=f"{runs} to {record.sense}; {proven}." + f" {PROFILE}" * bool(drawn),
        pictures=(("Performance profiles", partial(charts.profiles, drawn)),) if drawn else (),
        tables=(*(table for _, table in tables.standings(ranked, [what])), *beside),
        terms=TERMS,
    )


def _runs(
    rows: Sequence[BenchRow],
    *,
    most: int = 2_000,  # rows of the table; the rows that are written have all runs
) -> Table:
    """Return a table of the runs."""
    names = statistics.contenders(rows)
    from_bounds = all(map(statistics.from_bound, rows))
    cells = (
        (
            *(row.instance, names[row.key], row.seed, row.objective),
            *(row.reference_bound if statistics.from_bound(row) else row.reference, row.gap),
            *("yes" if row.reference_proven else "no", row.seconds),
            "; ".join([*row.violations, *([row.message] if row.message else [])]),
        )
        for row in rows[:most]
    )
    columns = (
        *map(column.text, ("instance", "policy")),
        column.count("seed"),
        *map(column.number, ("objective", "bound" if from_bounds else "reference")),
        column.percent("over the bound" if from_bounds else "gap"),
        column.text("proven"),
        column.duration("time"),
        column.text("note"),
    )
    more = f" (the first {most:,})" if len(rows) > most else ""
    return Table.of(f"runs{more}", columns, cells)
