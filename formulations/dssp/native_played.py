"""Schedules in scenarios in CP-SAT: in each the dispatcher follows the planned order.

In each scenario three things make the times those of the dispatcher. Tasks of no more than all
processors run at a time. While a task can run and does not, all processors are busy: at its job's
release, and whenever a task ends. And while it waits, nothing starts that comes after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ortools.sat.python import cp_model
    from ortools.sat.python.cp_model import CpModel, IntVar

    from schedopt.formulations.dssp.played import PlayedSample
    from schedopt.formulations.protocol import Variable

Schedule = Any
"""`schedule.Schedule`, of which this states a part."""


def declare(
    cp: CpModel,
    x: Sequence[IntVar],
    rewards: Sequence[int],
    planned: Sequence[Variable],
    sample: PlayedSample,
) -> None:
    """State every scenario, and the measure as the objective.

    ``x``: whether each job is run; ``planned``: when each task of some length starts as planned.
    """
    tasks = range(len(planned))
    first = {(i, m): _at_most(cp, planned[i], planned[m]) for m in tasks for i in range(m)}
    in_time = [
        [cp.new_bool_var(f"in time[{s},{j}]") for j in range(len(x))] for s in range(sample.count)
    ]
    for factor, done in zip(sample.drawn, in_time, strict=True):
        ends = _Scenario(cp, x, sample, sample.lengths(factor).astype(int).tolist()).play(first)
        for j, late in enumerate(sample.due.tolist()):
            cp.add_implication(done[j], x[j])
            cp.add(ends[j] <= late).only_enforce_if(done[j])
    earned = [sum(map(mul, rewards, done)) for done in in_time]
    if sample.measure.kind == "mean":
        cp.maximize(sum(earned))
    elif sample.measure.kind == "chance":
        for j, run in enumerate(x):
            cp.add(sum(done[j] for done in in_time) >= sample.least * run)
        cp.maximize(sum(map(mul, rewards, x)))
    else:
        tail = (1 - sample.measure.level) * sample.count
        level = cp.new_int_var(0, sum(rewards), "level")
        below = [cp.new_int_var(0, sum(rewards), "below") for _ in earned]
        for short, value in zip(below, earned, strict=True):
            cp.add(short >= level - value)
        cp.maximize(tail.numerator * level - tail.denominator * sum(below))


def _at_most(cp: CpModel, a: Variable, b: Variable) -> IntVar:
    """Return a literal that says whether one number is at most another."""
    found = cp.new_bool_var("")
    if isinstance(a, int) and isinstance(b, int):
        cp.add(found == int(a <= b))
        return found
    cp.add(a <= b).only_enforce_if(found)
    cp.add(a > b).only_enforce_if(found.negated())
    return found


class _Scenario:
    """The tasks of some length in one scenario, in integer units."""

    def __init__(
        self, cp: CpModel, x: Sequence[IntVar], sample: PlayedSample, lengths: Sequence[int]
    ) -> None:
        self.cp, self.x, self.sample = cp, x, sample
        self.releases, self.job_of = sample.releases.tolist(), sample.job_of.tolist()
        most = max(self.releases, default=0) + sum(lengths)
        self.starts = [cp.new_int_var(0, most, "start") for _ in lengths]
        self.ends = [start + length for start, length in zip(self.starts, lengths, strict=True)]
        self.lengths, self.most = lengths, most
        self.ready: list[Variable] = [0] * len(lengths)

    def play(self, first: dict[tuple[int, int], IntVar]) -> list[Variable]:
        """State the dispatcher's rules, and return when each job ends."""
        cp, run = self.cp, [self.x[j] for j in self.job_of]
        done = [self._stages(j) for j in range(len(self.x))]
        intervals = [
            cp.new_optional_fixed_size_interval_var(start, length, there, "")
            for start, length, there in zip(self.starts, self.lengths, run, strict=True)
        ]
        if intervals:
            cp.add_cumulative(intervals, [1] * len(run), self.sample.night.processors)
        for (i, m), before in first.items():
            self._waits(i, m, run, before.negated())
            self._waits(m, i, run, before)
        moments: list[tuple[Variable, list[IntVar]]] = [
            *((end, [there]) for end, there in zip(self.ends, run, strict=True)),
            *((release, []) for release in sorted(set(self.releases))),
        ]
        for moment, there in moments:
            self._busy(moment, there, run)
        return done

    def _waits(self, i: int, m: int, run: Sequence[IntVar], behind: cp_model.LiteralT) -> None:
        """State that m does not start while i waits, unless i is behind it in the order."""
        cp, starts = self.cp, self.starts
        soon = _at_most(cp, self.ready[i], starts[m]).negated()
        there = run[i].negated(), run[m].negated()
        cp.add_bool_or(*there, behind, soon, _at_most(cp, starts[i], starts[m]))

    def _busy(self, moment: Variable, there: list[IntVar], run: Sequence[IntVar]) -> None:
        """State that all processors are busy whenever a task waits."""
        cp, busy = self.cp, []
        begun = [_at_most(cp, start, moment) for start in self.starts]
        for i, end in enumerate(self.ends):
            busy.append(cp.new_bool_var(""))
            over = _at_most(cp, end, moment)
            cp.add_bool_and(run[i], begun[i], over.negated()).only_enforce_if(busy[i])
        full = cp.new_bool_var("")
        cp.add(sum(busy) >= self.sample.night.processors).only_enforce_if(full)
        for i, ready in enumerate(self.ready):
            waits = run[i], _at_most(cp, ready, moment), begun[i].negated(), *there
            cp.add_bool_or(*(literal.negated() for literal in waits), full)

    def _stages(self, j: int) -> Variable:
        """State that a job's stages follow one another, and return when it ends."""
        cp, sample, opened = self.cp, self.sample, self.releases[j]
        for s in range(int(sample.first_stage[j]), int(sample.first_stage[j + 1])):
            tasks = range(int(sample.first_task[s]), int(sample.first_task[s + 1]))
            for i in tasks:
                self.ready[i] = opened
                cp.add(self.starts[i] >= opened).only_enforce_if(self.x[j])
            closed = cp.new_int_var(0, self.most, "end")
            cp.add_max_equality(closed, [self.ends[i] for i in tasks])
            opened = closed
        return opened
