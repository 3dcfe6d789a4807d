"""Plan: from a table of jobs to a plan that holds, and to what no plan can exceed."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from schedopt.instances.constraints import Constraint
from schedopt.instances.errors import InputError, quote
from schedopt.instances.examples import locate
from schedopt.instances.files import dump, is_stream, read_bytes, write_bytes
from schedopt.instances.options import OptionNames
from schedopt.instances.protocol import AnyInstance, is_instance
from schedopt.planning import farm as farms
from schedopt.planning.document import as_plan
from schedopt.planning.farm import Texts
from schedopt.problems import Problem, problem_of, problems
from schedopt.problems.summary import Plan, PlanRow, Section, Solve, Tonight
from schedopt.solvers.result import Document, Result
from schedopt.solvers.stopping import Event, Watch, stoppable_by
from schedopt.verbs import plan_table, script
from schedopt.verbs.load import Rules, load, parse_results, read_rules
from schedopt.verbs.solve import solve

if TYPE_CHECKING:
    import polars as pl

    from schedopt.instances.tables import Source

INSTANCES = (".json", ".json.gz")
TIME_LIMIT = 10.0  # seconds of solving, unless told


class NightPlan(Tonight):
    """A night's plan: what runs and when, in which nobody selected is late.

    It has ``instance``, ``result``, ``run`` (the same with times, or None) and ``line``: how good
    it is, and how good any plan can be, in words.
    """

    @cached_property
    def whole(self) -> Plan:
        """The plan; `InputError` where there is none."""
        if self.run is None:
            raise InputError("a plan", found=quote(self.result.termination))
        return problem_of(self.instance).plan(self.instance, self.result, self.run)

    @property
    def rows(self) -> list[PlanRow]:
        """A row for each job, as in the CSV; none where there is no plan."""
        return [] if self.run is None else [*self.whole.rows]

    @property
    def released(self) -> str:
        """How many jobs would be late if a farm manager releases the plan, in words."""
        if self.run is None or self.whole.carried is None:
            return ""
        return problem_of(self.instance).released(self.instance, self.run)

    @property
    def sections(self) -> tuple[Section, ...]:
        """Parts of the page beside those of the result."""
        return ()

    @property
    def replanned_at(self) -> float:
        """The time at which the rest of the night was planned again; 0 where it was not."""
        return 0.0

    def frame(self) -> pl.DataFrame:
        """Return the plan as a table."""
        return self.whole.frame()

    def script(self, template: str | Path | None = None) -> str:
        """Return the plan as a shell script: see `schedopt.script`."""
        return script.script(self.whole, template or self.template or script.PLAIN)

    def document(self) -> Document:
        """Return the result document with the night, and the rows as ``plan``."""
        return replace(as_plan(self.result, self.instance).written(), plan=tuple(self.rows))

    def write(self, path: str | Path, template: str | Path | None = None) -> None:
        """Write the plan: .csv, .parquet, .sh, the plan document .json, or a picture .png.

        A pipe or a device takes the plan document.
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
            from schedopt.pictures.plan import plan as draw
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
    """Plan a night: which jobs run when, so that nobody selected is late and all rules hold.

    Parameters
    ----------
    table : path, frame or Instance
        A table of jobs (CSV, Parquet, a frame of pandas or polars), or an instance or the
        path of its .json.
    processors : int, optional
        How many there are.
    from_ : str or number, optional
        When the night starts.
    until : str or number, optional
        When jobs are due, after which nothing runs.
    capacity : mapping, or texts, optional
        TIME=N: from then on there are N processors, repeatable. In Python a mapping as well, as of
        all that follows: ``seats={"houdini": 8}``.
    seats : mapping, or texts, optional
        NAME=N: how many seats there are of what a column seats:NAME counts, repeatable.
    resources : mapping, or texts, optional
        NAME=N, or NAME=TIME=N,...: how much there is of a column holds:NAME, repeatable.
    pools : mapping, or texts, optional
        NAME=N, or NAME=TIME=N,...: processors of a pool, repeatable.
    cap : mapping, or texts, optional
        GROUPING:GROUP=SHARE: the most of the machine that the group gets, such as team:fx=40%;
        ``*`` is each group, repeatable.
    floor : mapping, or texts, optional
        GROUPING:GROUP=SHARE: the least that it gets, or all that it asks for, repeatable.
    must : str or sequence of str, optional
        A job that has to run, repeatable.
    forbid : str or sequence of str, optional
        A job that must not run, repeatable.
    column : mapping, or texts, optional
        FIELD=TITLE: which column of the table is a field; see `schedopt explain table`; repeatable.
    keep : str, or sequence of them, optional
        TITLE: a column to carry through to the plan and the script, such as an id; repeatable.
    where : mapping, or texts, optional
        COLUMN=VALUE,...: only rows with one of these values, repeatable.
    duplicates : str, optional
        Of jobs of the same name: refuse (the default), or number them.
    missing : mapping, or texts, optional
        FIELD=VALUE: what an empty cell means, or FIELD=leave-out to leave out the job; repeatable.
    reward : str, or mapping of priorities, optional
        priority (a job is worth its priority), strict (as many jobs as possible of each priority,
        level after level), or priority:urgent=8,high=4,normal=2,low=1 for words.
    priority : str, optional
        Which are more important: higher (the default) or lower.
    groups : str, optional
        Columns that are groupings, with commas between.
    unit : str, optional
        What plain numbers are in: s, m, h or d.
    overhead : str or number, optional
        What starting a task costs, such as 30s: each planned length includes it.
    cloud : str, optional
        PROCESSORS@PRICE: processors that can be rented, such as 200@0.05 for a processor-hour. A
        column cloud says which jobs may go there.
    budget : str or number, optional
        The most that rented processors may cost.
    all_ : bool, optional
        Run every job on time, at the least bill.
    template : str or path, optional
        What writes the plan as a script.
    farm : path, optional
        A JSON file of what is the same every night; what is given beside it goes before it.
    save_farm : path, optional
        Where to write that file.
    constraints : Constraint or path, or iterable of them
        Side constraints beyond those of the farm.
    past : Constraint or path, or iterable of them
        What `carry` wrote of earlier nights: the rules of the same name remember what was used.
    risk : str, optional
        Choose under risk: mean, cvar:Q or chance:Q. That is maximized over scenarios of run times,
        where they are uncertain, and what is chosen is dispatched.
    explain : bool
        Whether to find what each rule costs and what each job that is left out lacks.
    why : str or sequence of str, optional
        A job for which the smallest changes are found that would let it run, repeatable.
    time_limit : float, optional
        Seconds, or a time such as 10m; none waits for the proof.
    seed, threads, watch, stop
        As `solve` has them.
    tell : callable, optional
        Called with lines on what became of the table.

    Returns
    -------
    NightPlan
        With ``result``, ``rows``, ``frame()``, ``script(template)`` and ``write(path)``.
    """
    settings = farms.Settings(
        processors=processors,
        from_=from_,
        until=until,
        capacity=capacity,
        seats=seats,
        resources=resources,
        pools=pools,
        cap=cap,
        floor=floor,
        must=must,
        forbid=forbid,
        column=column,
        keep=keep,
        where=where,
        duplicates=duplicates,
        missing=missing,
        reward=reward,
        priority=priority,
        groups=groups,
        unit=unit,
        overhead=overhead,
        cloud=cloud,
        budget=budget,
        all_=all_,
    )
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
    """Return what `plan` does; ``names`` is how messages name the settings."""
    what, record = _instance_or_table(table)
    filed = farms.read(farm)
    if template is not None:
        filed["template"] = str(template)
    planned = record.tonight(
        what,
        settings,
        solve,
        farm=filed,
        names=names,
        rules=lambda night: read_rules(constraints, record.name, night),
        past=_read_past(past, record.name),
        risk=risk,
        explain=explain,
        why=[why] if isinstance(why, str) else list(why or ()),
        time_limit=time_limit,
        tell=tell,
    )
    if save_farm is not None:
        farms.save(planned.farm, save_farm)
    return NightPlan(**vars(planned))


def _read_past(past: Rules, problem: str) -> list[Constraint]:
    """Return the rules that `carry` wrote; `InputError` explains how to make them from a plan."""
    try:
        return read_rules(past, problem)
    except InputError as error:
        if not error.file or not _holds_results(error.file):
            raise
        command = f"schedopt carry {shlex.quote(error.file)} --half-life 7d --output usage.json"
        expected = f"the file for --past that `{command}` writes"
        found = "a plan document or a result"
        raise InputError(expected, found=found, file=error.file) from None


def _holds_results(file: str) -> bool:
    """Return True if a file can be read as a plan document or results."""
    try:
        return bool(parse_results(read_bytes(file), file))
    except InputError:
        return False


def _instance_or_table(table: object) -> tuple[object, Problem]:
    """Return an instance, or a table, and the problem that takes it."""
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
