"""Why a job is left out: it can never be on time, a rule excludes it, or others are worth more.

``never``: the job cannot be on time, even alone. ``rule:NAME``: the rule allows no selection with
the job; or the job would raise the reward, in free capacity or in place of jobs of less reward, but
would break the rule. ``overlooked``: it would raise the reward and break no rule. ``outbid``: all
other jobs. All comparisons are in integers, without solving again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from schedopt.formats import count_of, number
from schedopt.formulations.dssp import Season, Selection
from schedopt.instances.decimals import Whole, as_written
from schedopt.instances.dssp import Instance, Scheduled, Selected, SelectedNights
from schedopt.instances.errors import quote
from schedopt.planning.cloud import hidden
from schedopt.planning.document import rest_of
from schedopt.planning.history import time_of_day

if TYPE_CHECKING:
    from schedopt.formulations.program import IntegerProgram
    from schedopt.solvers.result import Result


@dataclass(frozen=True)
class Reason:
    """The reason why a job is left out."""

    kind: Literal["never", "rule", "overlooked", "outbid"]
    rule: str = ""  # the name of the rule; empty for the other kinds
    words: str = ""  # the same in a few words for people
    shut_out: bool = False  # whether the rule admits the job in no selection

    def __str__(self) -> str:
        return f"rule:{self.rule}" if self.kind == "rule" else self.kind


def reasons(instance: Instance, result: Result, most: int | None = None) -> dict[str, Reason]:
    """Return why jobs are left out, for all of them or for the ``most`` jobs of highest reward."""
    solution = result.solution
    if not isinstance(solution, Selected | SelectedNights):
        return {}
    if (replanned := rest_of(result)) is not None:
        rest, on_rest = replanned
        found = reasons(rest.instance, on_rest, most)
        for name, one in found.items():
            if rest.keeps_begun(one.rule):
                found[name] = Reason("outbid", words="running tasks take its place")
        found |= {name: Reason("never", words=why) for name, why in rest.out.items()}
        out = (name for name in rest.night.index if name not in solution.selected)
        return {name: found[name] for name in out if name in found}
    kind = Season if isinstance(solution, SelectedNights) else Selection
    fill = result.options.get("fill")
    if not isinstance(fill, int | float):  # such as guaranteed
        fill = solution.capacity / instance.capacity()
    model = kind(instance, fill=fill).add(*result.constraints)
    by_job = left_out(model, solution, most)
    absent = hidden(instance, {*solution.selected} if isinstance(solution, Selected) else ())
    by_job = {n: _reword(reason, result) for n, reason in by_job.items() if n not in absent}
    for one in (result.explanation or {}).get("left_out", ()):  # found by further solves
        why, _, rule = one["reason"].partition(":")
        by_job[one["job"]] = Reason(why, rule, one["words"])
    return by_job


def _reword(reason: Reason, result: Result) -> Reason:
    """Return a reason in terms of a schedule or of risk."""
    if reason.kind != "overlooked":
        return reason
    if isinstance(result.solution, Scheduled) and result.proven:
        return Reason("outbid", words=f"{reason.words}, but no schedule with it earns more")
    if isinstance(result.solution, Scheduled):
        return Reason("overlooked", words=f"{reason.words}, but no schedule with it was found")
    uncertain = "; the plan allows for uncertain run times" if "risk" in result.options else ""
    return Reason("overlooked", words=reason.words + uncertain)


def left_out(
    model: Selection | Season, solution: Selected | SelectedNights, most: int | None = None
) -> dict[str, Reason]:
    """Return the reason for each job that is left out, or for the ``most`` rewarding ones."""
    instance, run = model.instance, set(solution.selected)
    jobs, numbers = instance.jobs, instance.planned.demands.numbers
    several = isinstance(model, Season)
    columns = [(j, n) for j in range(len(jobs)) for n in model.columns_of(j)]
    labels = [f"{jobs[j].name} (night {n})" if several else jobs[j].name for j, n in columns]
    demands = [int(numbers[j]) for j, _ in columns]
    program = _in_one(model)
    judge = _Exchanges(labels, demands, program, set(model.chosen_columns(solution)))
    why: dict[str, Reason] = {}
    out = [j for j, job in enumerate(jobs) if job.name not in run]
    for j in sorted(sorted(out, key=lambda j: -jobs[j].reward)[:most]):
        job, nights = jobs[j], model.columns_of(j)
        if not model.open[next(iter(nights.values()))]:
            why[job.name] = _never_in_time(instance, j)
            continue
        by_night = {n: judge.reason(column) for n, column in nights.items()}
        kept_out = [
            Reason("rule", reason.rule, f"night {n}: {reason.words}")
            for n, reason in by_night.items()
            if several and reason.kind == "rule" and not reason.shut_out
        ]
        outbid = [reason for reason in by_night.values() if reason.kind == "outbid"]
        why[job.name] = next(iter([*kept_out, *outbid, *by_night.values()]))
    return why


def _in_one(model: Selection | Season) -> IntegerProgram:
    """Return the program with one reward that stands for all objectives in order."""
    program, night = model.integer_program(), model.instance
    if not model.ordered:
        return program
    weights = [0] * len(night.jobs)
    for name in night.objectives:
        values = Whole.of(night.worths(name))
        step = values.total + 1
        weights = [w * step + int(n) for w, n in zip(weights, values.numbers, strict=True)]
    more = [0] * (program.n_columns - len(weights))
    return replace(program, rewards=np.array([*weights, *more], dtype=object))


def _never_in_time(night: Instance, j: int) -> Reason:
    path, demand = night.planned.paths.fractions[j], night.planned.demands.fractions[j]
    job, window = night.jobs[j], as_written(night.deadlines[j]) - as_written(night.releases[j])
    where = "from its release to its deadline" if job.release else "until its deadline"
    most = max(int(night.machine.pools[name].most) for name in night.machine.of_job(job))
    if job.processors > most:
        needs = count_of(job.processors, "processor")
        words = f"it needs {needs}; the machine never has more than {most}"
        return Reason("never", words=words)
    for name, amount in job.holds.items():
        if amount > (most_held := float(night.machine.resources[name].most)):
            words = f"it needs {amount:g} of {name}; there is never more than {most_held:g}"
            return Reason("never", words=words)
    if night.features:
        due = time_of_day(night, float(night.deadlines[j]))
        words = f"even without other jobs, it would end after its deadline, {due}"
        return Reason("never", words=words)
    if window <= 0:
        times = (time_of_day(night, float(x[j])) for x in (night.releases, night.deadlines))
        words = "it is released at {}, not before its deadline, {}".format(*times)
    elif path > window:
        words = f"its critical path takes {number(float(path))}; "
        words += f"it has {number(float(window))} {where}"
    else:
        words = f"its demand is {number(float(demand))}; the machine offers less {where}"
    return Reason("never", words=words)


class _Exchanges:
    """Judges exchanges: adding a job, and dropping other jobs for it."""

    def __init__(
        self,
        names: Sequence[str],
        demands: Sequence[int],
        program: IntegerProgram,
        chosen: set[int],
    ) -> None:
        # Rows of the program without an owner are the machine's, the others the rules'.
        self.names, self.program, self.chosen = names, program, chosen
        self.rewards = program.rewards.tolist()
        self.lower, self.upper = program.lower.tolist(), program.upper.tolist()
        point = program.point(chosen)
        self.held = set(np.flatnonzero(point).tolist())
        self.used = program.activities(point).tolist()
        self.touching: dict[int, list[tuple[int, int]]] = {}
        entries = (program.row, program.column, program.coefficient)
        for i, column, coefficient in zip(*(part.tolist() for part in entries), strict=True):
            self.touching.setdefault(column, []).append((i, coefficient))
        self.cheapest = sorted(  # least reward for its demand first
            chosen, key=lambda k: Fraction(self.rewards[k], max(1, demands[k]))
        )

    def reason(self, j: int) -> Reason:
        """Return the reason why a column is not selected."""
        if alone := self._excluding_rule(j):
            words = f"{quote(alone)} allows no selection with it"
            return Reason("rule", alone, words, shut_out=True)
        dropped = self._room_for(j)
        if dropped is None:
            return Reason("outbid", words="the jobs it would replace are worth at least as much")
        fewer = self.names[dropped[0]] if len(dropped) == 1 else f"{len(dropped)} jobs"
        if name := self._first_broken_rule(j, dropped):
            pays = f"worth more than {fewer}, but replacing that would break {quote(name)}"
            room = f"there is room for it, but it would break {quote(name)}"
            return Reason("rule", name, pays if dropped else room)
        if not self.rewards[j]:
            return Reason("outbid", words="its reward is 0")
        words = f"it is worth more than {fewer}, which it could replace"
        return Reason("overlooked", words=words if dropped else "there is room for it")

    def _excluding_rule(self, j: int) -> str:
        first, numbers = self.program.first, self.program.coefficient
        for i, coefficient in self.touching.get(j, ()):
            owner = self.program.owners[i]
            if (
                owner
                and coefficient > self.upper[i]
                and numbers[first[i] : first[i + 1]].min() >= 0
            ):
                return owner
        return ""

    def _room_for(self, j: int) -> tuple[int, ...] | None:
        """Return jobs of less total reward whose removal makes room for a job; None if none do."""
        change = self._change([j], ())
        short = [i for i in change if self._is_overfull(i, change)]
        if not short:
            return ()
        dropped: list[int] = []
        for k in self.cheapest:
            parts = self.touching.get(k, ())
            freed = {i: change.get(i, 0) - part for i, part in parts}
            if any(part < 0 and self._is_overfull(i, freed) for i, part in parts):
                continue  # others come after it
            if any(i in short and part > 0 for i, part in parts):
                dropped.append(k)
                change |= freed
                if not any(self._is_overfull(i, change) for i in short):
                    break
        else:
            return None
        for k in sorted(dropped, key=lambda k: -self.rewards[k]):  # not all had to go
            back = {i: change[i] + part for i, part in self.touching.get(k, ())}
            if not any(self._is_overfull(i, back) for i in back):
                change |= back
                dropped.remove(k)
        pays = sum(self.rewards[k] for k in dropped) < self.rewards[j]
        return tuple(sorted(dropped)) if pays else None

    def _is_overfull(self, i: int, change: dict[int, int]) -> bool:
        return not self.program.owners[i] and self.used[i] + change[i] > self.upper[i]

    def _first_broken_rule(self, j: int, without: Iterable[int]) -> str:
        added, gone = {j}, set(without)
        if self.program.lifting:  # if columns imply others
            held = set(np.flatnonzero(self.program.point((self.chosen - gone) | {j})).tolist())
            added, gone = held - self.held, self.held - held
        change = self._change(added, gone)
        owners = self.program.owners
        return next((owners[i] for i in sorted(change) if self._breaks(i, change)), "")

    def _change(self, added: Iterable[int], dropped: Iterable[int]) -> dict[int, int]:
        change: dict[int, int] = {}
        for sign, columns in ((1, added), (-1, dropped)):
            for column in columns:
                for i, coefficient in self.touching.get(column, ()):
                    change[i] = change.get(i, 0) + sign * coefficient
        return change

    def _breaks(self, i: int, change: dict[int, int]) -> bool:
        """Return whether a change violates a row of a rule that was satisfied before."""
        used, after = self.used[i], self.used[i] + change[i]
        over, under = after > self.upper[i] >= used, after < self.lower[i] <= used
        return bool(self.program.owners[i]) and (over or under)
