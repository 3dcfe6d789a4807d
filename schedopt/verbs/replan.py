"""The verb replan: plans the rest of a night again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from schedopt.instances.dssp.clock import dates_of
from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.files import load
from schedopt.planning.document import PlanInHand
from schedopt.planning.history import clock
from schedopt.planning.plan import quality_line
from schedopt.planning.release import NOTHING_QUEUED, Queue, script_rows
from schedopt.problems import problem_of
from schedopt.problems.summary import Change, Plan, PlanRow, Section, changes_table
from schedopt.solvers.result import Result
from schedopt.solvers.stopping import Event, Watch, stoppable_by
from schedopt.verbs.load import Rules, read_rules
from schedopt.verbs.load import load as read
from schedopt.verbs.plan import TIME_LIMIT, NightPlan
from schedopt.verbs.solve import solve

if TYPE_CHECKING:
    from schedopt.instances.protocol import AnyInstance
    from schedopt.instances.tables import Source
    from schedopt.planning.farm import Pairs, Settings
    from schedopt.planning.replan import Replanning

CHANGES = ("kept", "earlier", "later", "added", "dropped")


@dataclass(frozen=True, eq=False)
class Replanned(NightPlan):
    """The plan of a night whose rest was planned again; it can be replanned in turn.

    It is a `NightPlan` with the columns ``was`` (the previous start of a job) and ``change``.

    Attributes
    ----------
    changes : tuple of Change
        The jobs of the previous plan and of this one, with the reasons of changes.
    notes : tuple of str
        Assumptions about the state, and rows that were ignored.
    """

    replanning: Replanning
    notes: tuple[str, ...] = ()
    queue: Queue = NOTHING_QUEUED

    @cached_property
    def whole(self) -> Plan:
        """The plan; `InputError` if there is none."""
        from schedopt.planning.replan import change, spans, time_tolerance

        plan, night = super().whole, self.replanning.night
        rest, was = self.replanning.rest, self.replanning.was
        now, near = spans(night, self.result.solution), time_tolerance(night)
        rows: list[PlanRow] = []
        for row in plan.rows:
            name = row["job"]
            kind = change(was.get(name), now.get(name) if row["run"] else None, near)
            before = was[name][0] if name in was else None
            times = clock(night, was_time=before)
            begun = bool(rest.progress[name].runs)
            rank = None if begun else row["rank"]  # a job that has begun is not released again
            rows.append({**row, "rank": rank, "was": before, **times, "change": kind})
        waiting = [row for row in rows if row["rank"] is not None]
        for rank, row in enumerate(sorted(waiting, key=lambda row: row["rank"]), start=1):
            row["rank"] = rank
        times = clock(night, was_time=None)
        carried = None
        if self.result.solution is not None:
            given = self.result.constraints, self.result.solution, rows
            carried = partial(script_rows, night, *given, self.queue)
        return Plan([*plan.titles, *times, "was", "change"], rows, carried)

    @property
    def replanned_at(self) -> float:
        """The time of the replanning, in the night's unit."""
        return self.replanning.rest.at

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The change of each job that runs in one of the two plans."""
        return tuple(
            self._change(row)
            for row in (self.whole.rows if self.run is not None else ())
            if row["change"]
        )

    def _change(self, row: Mapping[str, Any]) -> Change:
        was = self.replanning.was.get(row["job"])
        now = (row["start"], row["end"]) if row["run"] else None
        times = self._clock(was), self._clock(now)
        return Change(row["job"], row["change"], was, now, self._why(row), *times)

    def _clock(self, span: tuple[float, float] | None) -> tuple[str, str] | None:
        """Return the times of day of a start and an end, if the night has a start."""
        night = self.replanning.night
        if span is None or night.start is None:
            return None
        dates = dates_of(night.start, night.unit)
        return dates.clock(span[0]), dates.clock(span[1])

    @property
    def tally(self) -> str:
        """The numbers of jobs that are kept, earlier, later, added and dropped, in words."""
        count = Counter(change.change for change in self.changes)
        return ", ".join(f"{count[what]:,} {what}" for what in CHANGES if count[what])

    @property
    def sections(self) -> tuple[Section, ...]:
        """The changes, as a part of the page."""
        changed = changes_table(self.changes)
        words = f"Compared with the plan before: {self.tally or 'no job runs in either plan'}."
        return (Section("Changes", words, tables=(changed,) if changed.rows else ()),)

    def _why(self, row: Mapping[str, Any]) -> str:
        """Return the reason why a job is planned otherwise than before."""
        said = next((r.status for r in self.replanning.reports[::-1] if r.job == row["job"]), "")
        if row["change"] == "kept":
            return ""
        if row["change"] == "dropped":
            reason = self._reasons.get(row["job"], "")
            return "; ".join(part for part in (said, reason) if part)
        if said == "failed":
            return "failed: starts again"
        return said or ("there is room for it now" if row["change"] == "added" else "")

    @cached_property
    def _reasons(self) -> Mapping[str, str]:
        from schedopt.planning.reasons import reasons

        return {
            name: one.words for name, one in reasons(self.replanning.night, self.result).items()
        }


def replan(
    plan: NightPlan | Result | str | Path,
    *,
    at: str | float,
    state: Source | None = None,
    add: Source | None = None,
    column: Pairs | None = None,
    missing: Pairs | None = None,
    duplicates: str | None = None,
    stay: float = 0.0,
    instance: AnyInstance | str | Path | None = None,
    constraints: Rules = (),
    time_limit: float | None = TIME_LIMIT,
    gap: float = 0.0,
    threads: int | None = None,
    seed: int = 0,
    watch: Watch | None = None,
    stop: Event | None = None,
) -> Replanned:
    """Plan the rest of a night again, with few changes of the plan.

    The new plan earns no less than the current plan, continued, and is the same if nothing has
    changed. Of the plans of this reward that are found, it changes the fewest jobs.

    Parameters
    ----------
    plan : NightPlan, Result, str or Path
        The current plan, from `plan` or `replan`, or the file of a plan document.
    at : str or float
        The time of the state: ``now``, a number in the night's unit, a duration such as ``6h``, or
        a time of day such as ``02:00``.
    state : str, Path or frame, optional
        A row for each job that is not as planned: ``job``, ``status`` (done, running, failed,
        waiting, cancelled), and if known ``start``, ``processors``, ``end``, ``pool``, ``done``. A
        row without a job sets the number of processors, or changes it (``-4``), from its ``start``
        on or from now. Or the output of ``sacct -XP`` for a plan that was submitted by the template
        ``slurm``; then the script changes Slurm's queue.
    add : str, Path or frame, optional
        A table of new jobs, with the columns of the night's table.
    column, missing, duplicates
        How this table is read; see `plan`. The default is that of the plan, if `plan` made it in
        this process.
    stay : float
        The fraction of the remaining reward that may be given up for fewer changes.
    instance : Instance, str or Path, optional
        The instance of a result that does not hold it.
    constraints : Constraint or path, or iterable of them
        Side constraints beyond those of the plan.
    time_limit, gap, threads, seed, watch, stop
        See `solve`.

    Returns
    -------
    Replanned

    Raises
    ------
    InputError
        If the plan, the time, the state or the table is not valid.
    """
    from schedopt.planning.replan import replan as run

    if not 0 <= stay <= 1:
        raise InputError(
            "a fraction of the reward, from 0 to 1", found=quote(stay), parameter="stay"
        )
    in_hand = plan_in_hand(plan, instance)
    rules = read_rules(constraints, "dssp", in_hand.night)
    given = plan if isinstance(plan, NightPlan) else None
    table: dict[str, Any] = {"column": column, "missing": missing, "duplicates": duplicates}
    if add is not None and given is not None:
        own = given.farm or {}
        table = {key: own.get(key) if value is None else value for key, value in table.items()}
    with stoppable_by(stop, watch) as request:  # for all solves together
        again = partial(solve, gap=gap, threads=threads, seed=seed, watch=request.watch)
        made = run(
            in_hand,
            at,
            again,
            state=state,
            add=add,
            table=cast("Settings", table),
            stay=stay,
            constraints=rules,
            time_limit=time_limit,
        )
    shown = None if made.result.solution is None else made.result
    return Replanned(
        made.night,
        made.result,
        shown,
        quality_line(made.night, made.result, shown),
        farm=None if given is None else given.farm,
        template=None if given is None else given.template,
        replanning=made,
        notes=tuple(made.notes),
        queue=_queue(in_hand, made),
    )


def _queue(plan: PlanInHand, made: Replanning) -> Queue:
    """Return the queue of the farm manager, as far as the state tells."""
    begun = {(name, *key) for name, one in made.rest.progress.items() for key in one.runs}
    planned = {place: (task.start, task.end) for place, task in plan.by_place().items()}
    of_tasks = {one.key: one for one in made.reports if one.stage is not None}
    return Queue(begun, of_tasks, planned)


def plan_in_hand(
    plan: NightPlan | Result | str | Path, instance: AnyInstance | str | Path | None = None
) -> PlanInHand:
    """Return the current plan with its night; `InputError` if the night is not known."""
    if isinstance(instance, str | Path):
        instance = load(instance)
    file = plan if isinstance(plan, str | Path) else None
    with at_place(file=file):
        if isinstance(plan, NightPlan):
            if plan.run is None:
                raise InputError("a plan", found=quote(plan.result.termination))
            own: Any = None if isinstance(plan, Replanned) else plan.instance
            return PlanInHand.of(plan.run, own)
        held: Any = plan
        if isinstance(plan, str | Path):
            if not str(plan).lower().endswith((".json", ".json.gz")):
                expected = "a plan document, as `schedopt plan ... --output plan.json` writes it"
                raise InputError(expected, found=quote(Path(plan).name))
            held = read(plan)
        if not isinstance(held, Result):
            raise InputError("a plan, or one result", found=quote(type(held).__name__))
        night: Any = instance
        if night is None and held.asked is not None:
            night = held.asked.instance
        run = None if night is None else problem_of(night).carried_out(night, held)
        return PlanInHand.of(held if run is None else run, night)
