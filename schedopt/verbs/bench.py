"""The verb bench: compares policies with the optimum, or a bound, on many instances."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from schedopt.analysis.tables import RowTable
from schedopt.instances import files
from schedopt.instances.constraints import Constraint
from schedopt.instances.errors import InputError, expect, quote
from schedopt.instances.extras import report_missing_extras, require
from schedopt.instances.files import refuse_overwriting, write_bytes
from schedopt.instances.options import Options
from schedopt.instances.protocol import AnyInstance, is_instance
from schedopt.policies import from_file
from schedopt.policies.from_file import PolicyFile
from schedopt.solvers.stopping import finishing
from schedopt.sweep.measure import BenchTask, Sweep, problem_plans, runs
from schedopt.sweep.pool import expect_jobs, finish_tasks
from schedopt.sweep.rows import FORMATS, LINES, BenchRow, Journal, table
from schedopt.sweep.sources import Source, instance_files, parse_generated, read_source
from schedopt.verbs.evaluate import expect_one_writer

Progress = Callable[[int, int], None]


class BenchError(Exception):
    """Some instances failed; the rows of the others are complete.

    Attributes
    ----------
    failures : list of str
        A line for each failed instance.
    rows : RowTable
        The rows of the other instances.
    """

    def __init__(self, failures: list[str], rows: RowTable) -> None:
        self.failures, self.rows = failures, rows
        super().__init__("\n".join(failures))


@report_missing_extras()
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
        Instance files, folders of them, or instances with different names.
    generated : sequence of str or Source
        Instances to generate, such as ``dssp/uncorrelated,seeds=1-20``.
    policies : sequence of str
        Names of policies of any problem; by default all policies.
    seeds : sequence of int
        Seeds of policies that draw random numbers; the others run once, with the first seed.
    options : mapping, optional
        Options of the policies and the formulation; each gets those that it has.
    constraints : sequence of Constraint
        Side constraints beyond those of the instances.
    time_limit : float, optional
        Seconds for each reference. A reference that is not proven by then has a bound.
    certificate : bool
        Whether to prove the bounds of the references again.
    jobs : int
        The number of processes; with 1 no other process is started. If a process dies, its runs
        are computed again, and a run that ends its process twice is reported.
    cluster : str, optional
        The address of a Dask scheduler, whose workers compute the runs.
    output : path, optional
        A .jsonl file, whose rows are not computed again; or a .csv or .parquet file, next to which
        a .jsonl is kept for this purpose.
    policy_files : iterable of paths
        Python files that register policies. They are run here and on every worker; their imports
        must be installed there.
    progress : callable, optional
        Called with the number of instances that are done, and the number of all.

    Returns
    -------
    RowTable
        The rows, in the order of the instances, the policies and the seeds.

    Raises
    ------
    InputError
        If a path, a policy or an option is not valid, or ``output`` holds other rows or cannot be
        written.
    BenchError
        If some instances fail, after all others are done.
    SweepInterrupt
        At Ctrl-C: a `KeyboardInterrupt` with the ``rows`` that are done.
    """
    expect_jobs(jobs)
    expect(len(seeds) > 0, "at least one seed", "none", parameter="seeds")
    within = time_limit is None or 0 <= time_limit < float("inf")
    expect(within, "seconds, 0 or more", time_limit, parameter="time_limit")
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
    )
    asked = [paths] if isinstance(paths, str | Path) or is_instance(paths) else list(paths)
    in_memory = [one for one in asked if is_instance(one)]
    named = [path for path in asked if isinstance(path, str | Path)]
    on_disk = instance_files(named) if named or not (generated or in_memory) else []
    target = None if output is None else Path(output)
    journal = _journal_of(target)
    if target is not None:
        refuse_overwriting(on_disk, target)
    failures: list[str] = []
    sources: list[Source] = []
    for path in on_disk:
        try:
            sources.append(read_source(path))
        except InputError as error:
            failures.append(str(error))
    sources += _in_memory(in_memory)
    for one in generated:
        sources += [one] if isinstance(one, Source) else parse_generated(one)
    tasks = plan_tasks(sources, sweep, files_of_policies)
    rows = Journal(journal, [run.key for task in tasks for run in task.runs], BenchRow)
    try:
        for task, why in finish_tasks(tasks, rows, jobs, cluster, progress):
            failures.append(why if task.label in why else f"{task.label}: {why}")
    finally:
        with finishing():
            finished = RowTable(rows.finish())
            if target is not None and target != journal and rows.complete:
                write_bytes(target, table(finished, target.suffix.lower()))
    if failures:
        raise BenchError(failures, finished)
    return finished


def _journal_of(output: Path | None) -> Path | None:
    """Return the file of JSON lines that a bench continues: its output, or one next to it."""
    if output is None:
        return None
    suffix = output.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"a name ending in {', '.join(FORMATS)}", file=str(output))
    if suffix == LINES:
        return output
    if suffix == ".parquet":
        require("polars", str(output))
    journal = Path(f"{output}{LINES}")
    if output.exists() and not journal.exists():
        expected = f"a new file, or the rows of this bench in {journal.name} next to it"
        raise InputError(expected, found="another file", file=str(output))
    return journal


def plan_tasks(
    sources: Iterable[Source], sweep: Sweep, policy_files: tuple[PolicyFile, ...] = ()
) -> list[BenchTask]:
    """Return a task for each instance."""
    usable = {source.label: source for source in sources}.values()
    counts = Counter(source.problem for source in usable)
    plans = problem_plans(sweep, list(counts))
    for problem, own in plans.items():
        expect_one_writer(*own, counts[problem])
    return [
        BenchTask(
            label=source.label,
            runs=runs(source, sweep, plans[source.problem]),
            policy_files=policy_files,
            source=source,
            sweep=sweep,
        )
        for source in usable
    ]


def _in_memory(instances: Iterable[AnyInstance]) -> list[Source]:
    """Return instances as sources, labelled by their names, which must differ."""
    contents: dict[str, Source] = {}
    for instance in instances:
        if instance.name in contents:
            raise InputError("instances with different names", found=quote(instance.name))
        with TemporaryDirectory() as folder:
            path = Path(folder) / "instance.json"
            files.dump(instance, path)
            contents[instance.name] = replace(read_source(path), label=instance.name)
    return list(contents.values())
