"""The verb plan: plans the jobs of a table or an instance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from schedopt.instances.dssp.worth import with_unpaid
from schedopt.instances.errors import InputError, quote
from schedopt.instances.examples import locate
from schedopt.instances.files import dump, is_stream, write_bytes
from schedopt.instances.options import OptionNames
from schedopt.instances.protocol import AnyInstance, is_instance
from schedopt.planning import farm as farms
from schedopt.planning.document import as_plan
from schedopt.planning.farm import Texts
from schedopt.problems import Problem, problem_of, problems
from schedopt.problems.summary import Plan, PlanRow, Section, Solve
from schedopt.solvers.result import Document, Result
from schedopt.solvers.stopping import Event, Watch, stoppable_by
from schedopt.verbs import plan_table, script
from schedopt.verbs.load import Rules, load, read_rules
from schedopt.verbs.solve import solve

if TYPE_CHECKING:
    import polars as pl

    from schedopt.instances.tables import Source

INSTANCES = (".json", ".json.gz")
TIME_LIMIT = 10.0  # seconds of solving by default


@dataclass(frozen=True, eq=False)
class NightPlan:
    """The plan of a night, in which every selected job finishes on time.

    Attributes
    ----------
    instance : Instance
    result : Result
        Of the formulation ``schedule``, checked; under risk of ``selection``.
    run : Result or None
        The result with times; None without a solution.
    line : str
        The objective and the bound in words.
    farm : Farm or None
        The settings of the farm.
    template : str or None
        The default template of a script.
    """

    instance: AnyInstance
    result: Result
    run: Result | None
    line: str
    farm: farms.Farm | None
    template: str | None

    @cached_property
    def whole(self) -> Plan:
        """The plan; `InputError` if there is none."""
        if self.run is None:
            raise InputError("a plan", found=quote(self.result.termination))
        return problem_of(self.instance).plan(self.instance, self.result, self.run)

    @property
    def rows(self) -> list[PlanRow]:
        """A row for each job, as in the CSV; empty if there is no plan."""
        return [] if self.run is None else [*self.whole.rows]

    @property
    def sections(self) -> tuple[Section, ...]:
        """The parts of the page in addition to those of the result."""
        return ()

    @property
    def replanned_at(self) -> float:
        """The time from which on the night was planned again; 0 for a first plan."""
        return 0.0

    def frame(self) -> pl.DataFrame:
        """Return the plan as a table."""
        return self.whole.frame()

    def script(self, template: str | Path | None = None) -> str:
        """Return the plan as a shell script: see `schedopt.script`."""
        return script.script(self.whole, template or self.template or script.PLAIN)

    def document(self) -> Document:
        """Return the plan document: the result with its night, and the rows as ``plan``."""
        return replace(as_plan(self.result, self.instance).written(), plan=tuple(self.rows))

    def write(self, path: str | Path, template: str | Path | None = None) -> None:
        """Write the plan as .csv, .parquet, .sh or .json, or its picture as .png.

        A pipe or a device gets the JSON document.
        """
        path = Path(path)
        name = path.name.lower()
        if name.endswith(INSTANCES) or is_stream(path):
            dump(as_plan(self.run or self.result, self.instance).written(), path, indent=1)
        elif name.endswith(script.ENDING):
            write_bytes(path, self.script(template).encode())
        elif name.endswith(plan_table.FORMATS):
            plan_table.write(self.whole, path)
        else:
            from schedopt.pictures.charts import plan as draw
            from schedopt.verbs.plot import save

            save(draw(self.whole, self.instance, self.replanned_at), path)

    def __repr__(self) -> str:
        return f"<NightPlan of {self.instance.name!r}: {self.line}>"


def plan(
    table: Source | AnyInstance,
    *,
    processors: int | None = None,
    from_: farms.Text | None = None,
    until: farms.Text | None = None,
    capacity: farms.Pairs | None = None,
    seats: farms.Pairs | None = None,
    resources: farms.Pairs | None = None,
    pools: farms.Pairs | None = None,
    cap: farms.Pairs | None = None,
    floor: farms.Pairs | None = None,
    must: Texts | None = None,
    forbid: Texts | None = None,
    column: farms.Pairs | None = None,
    keep: Texts | None = None,
    where: farms.Pairs | None = None,
    duplicates: str | None = None,
    missing: farms.Pairs | None = None,
    reward: str | farms.Worths | None = None,
    priority: str | None = None,
    groups: str | None = None,
    unit: str | None = None,
    overhead: farms.Text | None = None,
    cloud: str | None = None,
    budget: farms.Text | None = None,
    all_: bool | None = None,
    template: str | Path | None = None,
    farm: str | Path | None = None,
    save_farm: str | Path | None = None,
    constraints: Rules = (),
    past: Rules = (),
    risk: str | None = None,
    explain: bool = False,
    why: Texts | None = None,
    time_limit: float | None = TIME_LIMIT,
    seed: int = 0,
    threads: int | None = None,
    watch: Watch | None = None,
    stop: Event | None = None,
    tell: Callable[[str], None] | None = None,
) -> NightPlan:
    """Plan a night: choose jobs and their times, so that each selected job finishes on time.

    Where a mapping is accepted, such as ``seats={"houdini": 8}``, so are texts of the form that
    the command line has, such as ``["houdini=8"]``.

    Parameters
    ----------
    table : path, frame or Instance
        A table of jobs (CSV, Parquet, a frame of pandas or polars), or an instance or the path of
        its .json.
    processors : int, optional
        The number of processors.
    from_ : str or number, optional
        The start of the night.
    until : str or number, optional
        The end of the night, at which jobs are due by default.
    capacity : mapping, or texts, optional
        TIME=N: there are N processors from this time on.
    seats : mapping, or texts, optional
        NAME=N: the number of seats; the column seats:NAME of the table counts their use.
    resources : mapping, or texts, optional
        NAME=N, or NAME=TIME=N,...: the amount of a resource; the column holds:NAME has its use.
    pools : mapping, or texts, optional
        NAME=N, or NAME=TIME=N,...: the processors of a pool.
    cap : mapping, or texts, optional
        GROUPING:GROUP=SHARE: the maximum share of a group, such as team:fx=40%; ``*`` stands for
        each group.
    floor : mapping, or texts, optional
        GROUPING:GROUP=SHARE: the minimum share of a group, or of its demand if that is less.
    must : str or sequence of str, optional
        Jobs that must run.
    forbid : str or sequence of str, optional
        Jobs that must not run.
    column : mapping, or texts, optional
        FIELD=TITLE: the column of a field; see `schedopt explain table`.
    keep : str, or sequence of them, optional
        Titles of columns to copy to the plan and the script, such as an id.
    where : mapping, or texts, optional
        COLUMN=VALUE,...: read only rows with one of these values.
    duplicates : str, optional
        Jobs of the same name are an error with refuse (the default), or get numbers with number.
    missing : mapping, or texts, optional
        FIELD=VALUE: the meaning of an empty cell; FIELD=leave-out omits the job.
    reward : str, or mapping of priorities, optional
        priority (the reward is the priority), strict (as many jobs as possible of each priority,
        in lexicographic order), or rewards of words: priority:urgent=8,high=4,normal=2,low=1.
    priority : str, optional
        Whether higher (the default) or lower priorities are more important.
    groups : str, optional
        Titles of columns that are groupings, separated by commas.
    unit : str, optional
        The unit of plain numbers: s, m, h or d.
    overhead : str or number, optional
        The time to start a task, such as 30s, which is added to each planned length.
    cloud : str, optional
        PROCESSORS@PRICE: processors to rent, such as 200@0.05 per processor-hour. The column cloud
        of the table names the jobs that may use them.
    budget : str or number, optional
        The maximum cost of rented processors.
    all_ : bool, optional
        Whether to run every job on time, at minimum cost.
    template : str or path, optional
        The template of the script.
    farm : path, optional
        A JSON file of settings; arguments override it.
    save_farm : path, optional
        The file to which the settings are written.
    constraints : Constraint or path, or iterable of them
        Side constraints beyond those of the farm.
    past : Constraint or path, or iterable of them
        Side constraints from `carry`, with the use of earlier nights.
    risk : str, optional
        The objective over scenarios of uncertain run times: mean, cvar:Q or chance:Q. The selection
        is dispatched.
    explain : bool
        Whether to explain the cost of side constraints and why jobs are left out.
    why : str or sequence of str, optional
        Jobs for which the smallest changes are found that would let them run.
    time_limit : float, optional
        Seconds, or a time such as 10m; None for no limit.
    seed, threads, watch, stop
        See `solve`.
    tell : callable, optional
        Called with lines on how the table was read.

    Returns
    -------
    NightPlan
        With ``result``, ``rows``, ``frame()``, ``script(template)`` and ``write(path)``.

    Raises
    ------
    InputError
        If the table or an argument is not valid.
    """
    given = locals()
    settings = cast("farms.Settings", {key: given[key] for key in farms.Settings.__annotations__})
    with stoppable_by(stop, watch) as request:  # for all solves together
        return plan_night(
            table,
            settings,
            farms.KEYWORDS,
            template=template,
            farm=farm,
            save_farm=save_farm,
            constraints=constraints,
            past=past,
            risk=risk,
            explain=explain,
            why=why,
            time_limit=time_limit,
            tell=tell,
            solve=partial(
                solve, time_limit=time_limit, seed=seed, threads=threads, watch=request.watch
            ),
        )


def plan_night(
    table: Source | AnyInstance,
    settings: farms.Settings,
    names: OptionNames,
    *,
    solve: Solve,
    template: str | Path | None,
    farm: str | Path | None,
    save_farm: str | Path | None,
    constraints: Rules,
    past: Rules,
    risk: str | None,
    explain: bool,
    why: Texts | None,
    time_limit: float | None,
    tell: Callable[[str], None] | None,
) -> NightPlan:
    """Return the plan of `plan`; ``names`` has the names of settings in messages."""
    from schedopt.planning import plan as steps

    what, record = _instance_or_table(table)
    if record.name != "dssp":
        expected = "a table of jobs, or an instance of jobs"
        raise InputError(expected, found=f"an instance of {record.name}")
    filed = farms.read(farm)
    if template is not None:
        filed["template"] = str(template)
    whole = farms.merge(filed, settings, names)
    night = steps.night_of(what, settings, whole, names, tell)
    if not is_instance(what) and not risk:
        night = with_unpaid(night)
    jobs = [why] if isinstance(why, str) else list(why or ())
    steps.expect_possible(night, whole, names, risk=risk, why=jobs)
    further, carried = read_rules(constraints, record.name, night), read_rules(past, record.name)
    night, rules = steps.rules_of(night, whole, filed, settings, names, carried=carried, tell=tell)
    night, rules = steps.with_cloud(night, [*rules, *further], whole, names, tell)
    result, run = steps.solved(
        night, rules, solve, risk=risk, explain=explain, why=jobs, time_limit=time_limit
    )
    line = steps.quality_line(night, result, run)
    if save_farm is not None:
        farms.save(whole, save_farm)
    return NightPlan(night, result, run, line, whole, whole.get("template"))


def _instance_or_table(table: object) -> tuple[Any, Problem]:
    """Return an instance or a table, and the problem that reads it."""
    if isinstance(table, str | Path):
        path = locate(table)
        if not path.exists():
            raise InputError("a file that exists", found="nothing", file=str(table))
        table = load(table) if path.name.lower().endswith(INSTANCES) else path
        if isinstance(table, Result | list):
            expected = "a table of jobs or an instance; `schedopt replan` takes a plan document"
            raise InputError(expected, found="a result", file=str(path))
    if is_instance(table):
        return table, problem_of(table)
    record = next(record for record in problems() if "table" in record.known_converters())
    return table, record
