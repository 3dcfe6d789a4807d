"""Bench: every policy on every instance, against the solver's optimum or bound."""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from schedopt.analysis.row_table import RowTable
from schedopt.instances.constraints import Constraint
from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import keep
from schedopt.instances.options import Options, most_at_once
from schedopt.instances.protocol import AnyInstance, is_instance
from schedopt.policies import from_file
from schedopt.solvers.stopping import finishing, stoppable
from schedopt.sweep.journal import Journal
from schedopt.sweep.measure import Task
from schedopt.sweep.plan import ProblemPlan, SourceFacts, Sweep, problem_plans, runs
from schedopt.sweep.pool import Group, computed, leave_if_begun_by_ourselves
from schedopt.sweep.rows import FORMATS, read_rows, table
from schedopt.sweep.sources import (
    Contents,
    FileSource,
    Source,
    in_memory,
    instance_files,
    parse_generated,
    replicated,
)
from schedopt.verbs.evaluate import expect_separate_files

Progress = Callable[[int, int], None]


class BenchError(Exception):
    """Some instances could not be used; the others' rows are complete.

    Attributes
    ----------
    failures : list of str
        A line for each.
    rows : RowTable
        The rows of the others.
    """

    def __init__(self, failures: list[str], rows: RowTable) -> None:
        self.failures, self.rows = failures, rows
        super().__init__("\n".join(failures))


def bench(
    paths: str | Path | AnyInstance | Iterable[str | Path | AnyInstance] = (),
    *,
    generated: Sequence[Source | str] = (),
    policies: Sequence[str] = (),
    seeds: Sequence[int] = (0,),
    options: Options | None = None,
    constraints: Sequence[Constraint] = (),
    time_limit: float | None = None,
    certificate: bool = False,
    grace: float | None = None,
    jobs: int = 1,
    cluster: str | None = None,
    output: str | Path | None = None,
    policy_files: Iterable[str | Path] = (),
    progress: Progress | None = None,
) -> RowTable:
    """Compare policies with the optimum on many instances.

    Parameters
    ----------
    paths : path, Instance, or iterable of them
        Instance files, and folders of them; or instances themselves, each of a name of its own.
    generated : sequence of str or Source
        Instances that are made as they are needed, such as ``dssp/uncorrelated,seeds=1-20``.
    policies : sequence of str
        Names, of whichever problem they are; all where there are none.
    seeds : sequence of int
        For policies that draw random numbers; the others run once, with the first.
    options : mapping, optional
        Policies and the formulation take those that they know.
    constraints : sequence of Constraint
        Side constraints beyond the instances' own.
    time_limit : float, optional
        Seconds for each reference; where it is not proven by then, its bound says how far it is.
    certificate : bool
        Whether to re-prove the bounds of the references; rows say for which that went well.
    grace : float, optional
        Seconds beyond the time limit after which a solver or a policy that still runs is ended,
        with its process; its row says so. Without it, and without a time limit, nothing is.
    jobs : int
        Processes. One without a grace is this very process.
    cluster : str, optional
        The address of a Dask scheduler, whose workers do the work instead.
    output : path, optional
        A .jsonl, .csv or .parquet file. Rows that it holds already are not computed again.
    policy_files : iterable of paths
        Python files that register policies. They are run, here and on every worker, to which their
        text travels; what they import has to be installed there.
    progress : callable, optional
        Called with instances done and in all.

    Returns
    -------
    RowTable
        A list of rows, by instance as given, then policy, then seed, whoever
        computed them.

    Raises
    ------
    InputError
        If a path, a policy or an option is not right, or ``output`` holds other rows, or takes no
        more.
    BenchError
        If single instances cannot be used, when all the others are done.
    """
    _expect_numbers(jobs, seeds, {"time limit": time_limit, "grace": grace})
    if output is not None and Path(output).suffix.lower() not in FORMATS:
        raise InputError(f"a name ending in {', '.join(FORMATS)}", file=str(output))
    if jobs > 1 or grace is not None:
        leave_if_begun_by_ourselves()
    files_of_policies = tuple(from_file.read(path) for path in policy_files)
    for file in files_of_policies:
        from_file.load(file)
    sweep = Sweep(
        policies=policies,
        seeds=tuple(seeds),
        options=options or {},
        constraints=tuple(constraints),
        time_limit=time_limit,
        certificate=certificate,
        policy_files=files_of_policies,
    )
    texts = ([one] if isinstance(one, Source) else parse_generated(one) for one in generated)
    made = [source for sources in texts for source in sources]
    files, in_memory = _read_sources(paths, bool(made))
    if output is not None:
        keep((source.path for source in files), output)
    plan, failures = _plan_tasks([*files, *in_memory, *made], sweep)
    keys = [run.key for task in plan for run in task.runs]
    rows = Journal(output, keys, read_rows, table)
    todo = [left for task in plan if (left := _without_done(task, rows)).runs]
    try:
        with stoppable():
            outcomes = computed(todo, jobs, grace, cluster)
            for task, why in keep_rows(rows, outcomes, len(plan) - len(todo), len(plan), progress):
                failures.append(why if task.source.label in why else f"{task.source.label}: {why}")
    finally:
        with finishing():
            finished = RowTable(rows.finish())
    if failures:
        raise BenchError(failures, finished)
    return finished


def _read_sources(
    paths: str | Path | AnyInstance | Iterable[str | Path | AnyInstance], generated: bool
) -> tuple[list[FileSource], list[Contents]]:
    """Return the files among what is given, and the instances in memory."""
    given = [paths] if isinstance(paths, str | Path) or is_instance(paths) else list(paths)
    there = [path for path in given if isinstance(path, str | Path)]
    held = in_memory(one for one in given if is_instance(one))
    some = there or not (generated or held)
    return [FileSource(path) for path in instance_files(there)] if some else [], held


def keep_rows(
    rows: Journal,
    outcomes: Generator[Group],
    done: int,
    total: int,
    progress: Progress | None,
) -> Generator[tuple[Task, str]]:
    """Keep the rows that come out of tasks, and yield the tasks that cannot be done, with why."""
    with closing(outcomes):
        for group in outcomes:
            rows.extend(row for _, outcome in group for row in outcome.rows)
            done += len(group)
            if progress:
                progress(done, total)
            yield from ((task, outcome.why) for task, outcome in group if outcome.why)


def _expect_numbers(jobs: int, seeds: Sequence[int], seconds: Mapping[str, float | None]) -> None:
    if jobs < 1 or not seeds:
        raise InputError("one process and one seed at the least", place="jobs or seeds")
    if jobs > most_at_once():
        raise InputError(f"at most {most_at_once()} processes", found=shown(jobs), place="jobs")
    for name, value in seconds.items():
        if value is not None and not 0 <= value < float("inf"):
            raise InputError("seconds, 0 or more", found=shown(value), place=name)


def _plan_task(source: Source, facts: SourceFacts, sweep: Sweep, of: ProblemPlan) -> Task:
    """Return what a sweep does with one instance."""
    return Task(
        source=source,
        problem=facts[0],
        digest=facts[1],
        runs=tuple(runs(source.label, facts, sweep, of)),
        constraints=sweep.constraints,
        time_limit=sweep.time_limit,
        certificate=sweep.certificate,
        seed=sweep.seeds[0],
        policy_files=sweep.policy_files,
    )


def _without_done(task: Task, rows: Journal) -> Task:
    return replace(task, runs=tuple(run for run in task.runs if run.key not in rows))


def _plan_tasks(sources: Iterable[Source], sweep: Sweep) -> tuple[list[Task], list[str]]:
    """Return a task for each instance, and a line for each file that is no instance."""
    failures: list[str] = []
    usable: list[tuple[Source, SourceFacts, Sweep]] = []
    for source, seeds in replicated(sources, sweep.seeds):
        try:
            usable.append((source, source.about(), replace(sweep, seeds=seeds)))
        except InputError as error:
            failures.append(str(error))
    counts = Counter(facts[0] for _, facts, _ in usable)
    of = problem_plans(sweep, counts)
    for problem, own in of.items():
        expect_separate_files(own.policies, own.options, counts[problem])
    return [_plan_task(*each, of[each[1][0]]) for each in usable], failures
