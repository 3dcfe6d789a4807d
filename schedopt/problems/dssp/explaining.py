"""The prices behind a selection or a season, each found by solving again.

A job that is left out is asked for, and the optimum with it says what it lacks: its reward and the
reward that asking for it loses. A rule is left out, and the optimum without it says what it costs.
What cannot be solved to a proof in the time that there is, is said to be unproven.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import msgspec

from schedopt.formulations.dssp import Season, Selection
from schedopt.formulations.dssp.rows import selectable
from schedopt.instances.constraints import Constraint, FairShare, Require, label
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance
from schedopt.instances.errors import shown
from schedopt.problems.dssp.reasons import reasons
from schedopt.problems.summary import Explanation, LeftOut, More, RulePrice
from schedopt.solvers import door
from schedopt.solvers.clock import now
from schedopt.solvers.result import Limits, Result
from schedopt.solvers.stopping import stopped

EACH, TOGETHER = 10.0, 120.0
"""Seconds for each further solve, and for all of them, where no time limit is given."""

ASKED = "asked for"  # the name of the requirement that asks for a job, where no rule is called so

HOUR = 3600.0
LONG = 2 * HOUR  # deadlines from which a file is taken to be in seconds
Progress = Callable[[int, int], None]


def explain(
    model: Selection | Season, result: Result, limits: Limits, progress: Progress | None = None
) -> Explanation:
    """Return why jobs are left out, and what each rule costs."""
    return _Explaining(model, result, limits, progress).explanation()


@dataclass
class _Answer:
    """The answer of a further solve: reward, jobs, and whether it is proven."""

    worth: Fraction | None
    chosen: frozenset[str]
    proven: bool
    conflict: tuple[str, ...] = ()


class _Explaining:
    def __init__(
        self,
        model: Selection | Season,
        result: Result,
        limits: Limits,
        progress: Progress | None,
    ) -> None:
        self.model, self.result, self.progress = model, result, progress
        self.night: Instance = model.instance
        given: list[Constraint] = [*self.night.constraints, *model.added]
        self.names = [label(rule, i) for i, rule in enumerate(given)]
        # Named, so that a rule keeps its name when rules before it are left out.
        self.rules = [
            rule if rule.name else msgspec.structs.replace(rule, name=name)
            for rule, name in zip(given, self.names, strict=True)
        ]
        self.asked = ASKED
        while self.asked in self.names:
            self.asked += "'"
        self.chosen = frozenset(result.solution.selected if result.solution else ())
        self.worth = self._reward(self.chosen)
        self.limits = replace(limits, gap=0.0, watch=None)
        self.began = now()
        self.until = self.began + (TOGETHER if limits.time_limit is None else limits.time_limit)
        self.able = selectable(self.night, model.fill)
        out = [j for j, job in enumerate(self.night.jobs) if job.name not in self.chosen]
        self.out = out
        self.quick = reasons(self.night, result)
        self.total = len(self.rules) + 2 + sum(bool(self.able[j]) for j in out)
        self.done = 0

    def explanation(self) -> Explanation:
        """Solve again without each rule, on more of the machine, and with each job left out."""
        others = [[*self.rules[:i], *self.rules[i + 1 :]] for i in range(len(self.rules))]
        without = [self._solved(self.night, rules) for rules in others]
        prices = tuple(self._price(i, answer) for i, answer in enumerate(without))
        more = tuple(self._more())
        left = tuple(self._left_out(j, without) for j in self.out)
        proven = [one.proven for one in prices] + [one.proven for one in more]
        unproven = (proven + [one.proven for one in left]).count(False)
        return Explanation(
            left_out=left,
            rules=prices,
            more=more,
            unproven=unproven,
            seconds=now() - self.began,
        )

    def _solved(self, night: Instance, rules: Sequence[Constraint]) -> _Answer:
        """Solve again with other rules, or on another machine."""
        if self.progress:
            self.progress(self.done, self.total)
        self.done += 1
        left = self.until - now()
        if left <= 0 or stopped():
            return _Answer(None, frozenset(), proven=False)
        limits = replace(self.limits, time_limit=min(left, EACH))
        bare = msgspec.structs.replace(night, constraints=())
        again = door.solve(type(self.model)(bare, fill=self.model.fill).add(*rules), limits)
        if again.solution is None:
            proven = again.termination == "infeasible"
            return _Answer(None, frozenset(), proven, again.conflict)
        chosen = frozenset(again.solution.selected)
        return _Answer(self._reward(chosen), chosen, again.proven)

    def _reward(self, chosen: frozenset[str]) -> Fraction:
        jobs, index = self.night.jobs, self.night.index
        return sum((as_written(jobs[index[name]].reward) for name in chosen), Fraction(0))

    def _sure(self, answer: _Answer) -> bool:
        return answer.proven and self.result.proven

    def _price(self, i: int, answer: _Answer) -> RulePrice:
        if answer.worth is None:
            return RulePrice(rule=self.names[i], cost=None, proven=False)
        rule, groups = self.rules[i], {}
        if isinstance(rule, FairShare):
            for group, jobs in self.night.groups[rule.by].items():
                members = frozenset(self.night.jobs[j].name for j in jobs)
                gain = self._reward(members & answer.chosen) - self._reward(members & self.chosen)
                groups[group] = float(gain)
        order = self.night.index
        return RulePrice(
            rule=self.names[i],
            cost=float(answer.worth - self.worth),
            gains=tuple(sorted(answer.chosen - self.chosen, key=order.__getitem__)),
            loses=tuple(sorted(self.chosen - answer.chosen, key=order.__getitem__)),
            groups=groups,
            proven=self._sure(answer),
        )

    def _more(self) -> Iterator[More]:
        night = self.night
        step = HOUR if night.deadline >= LONG else 1.0
        longer = float(as_written(night.deadline) + as_written(step))
        what = "an hour (3,600 units of time) more" if step == HOUR else "1 unit of time more"
        others = [(what, msgspec.structs.replace(night, deadline=longer))]
        if not night.pools:
            wider = tuple((time, count + 1) for time, count in night.changes)
            more = msgspec.structs.replace(night, processors=night.processors + 1, changes=wider)
            others.insert(0, ("1 processor more", more))
        for words, other in others:
            answer = self._solved(other, self.rules)
            worth = None if answer.worth is None else float(answer.worth - self.worth)
            yield More(what=words, worth=worth, proven=self._sure(answer))

    def _left_out(self, j: int, without: Sequence[_Answer]) -> LeftOut:
        job = self.night.jobs[j]
        if not self.able[j]:
            words = self.quick[job.name].words
            return LeftOut(job=job.name, reason="never", words=words, reward=job.reward)
        asked = Require(name=self.asked, jobs=(job.name,))
        answer = self._solved(self.night, [*self.rules, asked])
        if answer.proven and answer.worth is None:
            names = tuple(name for name in answer.conflict if name != self.asked)
            first = f"rule:{names[0]}" if names else "never"
            words = (
                f"{' and '.join(map(shown, names))} "
                f"{'keeps' if len(names) == 1 else 'together keep'} it out of every choice"
                if names
                else "it fits into no choice"
            )
            return LeftOut(job=job.name, reason=first, words=words, reward=job.reward, rules=names)
        needed = None
        if answer.worth is not None:
            needed = float(self.worth - answer.worth + as_written(job.reward))
        blocking = {
            name: float(other.worth - self.worth)
            for name, other in zip(self.names, without, strict=True)
            if job.name in other.chosen and other.worth is not None and other.worth > self.worth
        }
        reason = f"rule:{next(iter(blocking))}" if blocking else str(self.quick[job.name])
        if needed is None:
            words = "not solved again in the time that there was"
        elif needed <= job.reward:
            words = "as good: there is an optimum with it"
        else:
            words = f"its reward is {job.reward:.6g}; from {needed:.6g} on it would be chosen"
        if blocking:
            costs = " and ".join(
                f"{shown(name)}, which costs {c:.6g} in reward" for name, c in blocking.items()
            )
            words = f"{words}; chosen without {costs}"
        return LeftOut(
            job=job.name,
            reason=reason,
            words=words,
            reward=job.reward,
            needed=needed,
            rules=tuple(blocking),
            proven=self._sure(answer),
        )
