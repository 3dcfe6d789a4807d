"""Rectangles: each job runs once in a quantum, on any number of nodes, all with the same area."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import combinations, pairwise
from math import lcm
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from schedopt.formulations.cp_sat import WholeModel
from schedopt.formulations.protocol import Hints, Settings, Value
from schedopt.instances.constraints import Apart, Constraint, Together
from schedopt.instances.epoch import Instance, Rectangle, Scheduled
from schedopt.instances.epoch.widths import coarsen, grid, possible_widths
from schedopt.instances.errors import InputError, quote
from schedopt.instances.options import Option, check_options

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar, LinearExprT


MOST_NODES = 1_024
"""Most nodes for which the possible widths are enumerated."""
MOST_UNITS = 1 << 30
"""Most units of a quantum, so that the numbers of CP-SAT stay far below 2^31."""
MOST_PAIRS = 5_000
"""Most pairs of a job and a width; a model with more takes minutes to build."""

WIDTHS = Option(
    default="any",
    expected="any, or powers-of-two: the widths that rectangles may have",
    accepts=lambda value: value in ("any", "powers-of-two"),
)


class Rectangles(WholeModel):
    """Give each job a rectangle of area N/J, on at least its minimum of nodes, with least overhead.

    Areas are equal whatever the instance's inequity. The nodes of a job need not be neighbours:
    enough nodes are free at each time, and they are identical. Jobs under ``together`` start and
    end at the same times; of jobs under ``apart`` no two run at the same time.

    Parameters
    ----------
    instance : Instance
        Nodes and jobs.
    widths : {"any", "powers-of-two"}
        The allowed widths; N is always allowed.

    Attributes
    ----------
    possible : list of int
        The widths that rectangles can have in some schedule, the narrowest first.
    widths : list of int
        The widths of the model; fewer if all would make it too large, or its grid too fine.
    narrowest : list of int
        The narrowest width of each job in any schedule.
    model : cp_model.CpModel
        The CP-SAT model, see Notes, built when it is first asked for; users can change it.
    runs : dict of str to dict of int to IntVar
        Whether a job has a width, by name and width.
    starts : dict of str to IntVar
        The start of each job, in units of 1/`units` of a quantum.

    Raises
    ------
    InputError
        If a side constraint is of another kind than ``together`` and ``apart``, or there are too
        many nodes.

    Notes
    -----
    With y_jw = 1 if job j runs on w nodes, for N/(J w) of the quantum, and s_j its start::

        minimize    sum_jw w y_jw
        subject to  sum_w y_jw = 1                        each job j, over w >= M_j
                    s_j + N/(J w) <= 1                    if y_jw = 1
                    sum of the widths at time t <= N      each time t: a cumulative constraint

    The areas sum to N, so that all nodes are always busy. Source: McCann and Zahorjan, TR 94-10-05,
    University of Washington, 1994, section 2.3, Figure 2(b); the paper has no method for it.
    """

    problem: ClassVar[str] = "epoch"
    name: ClassVar[str] = "rectangles"
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    known_options: ClassVar[Mapping[str, Option]] = {"widths": WIDTHS}
    inexact: ClassVar[str] = (
        "among schedules of fewer widths, since all would make too large a model"
    )

    def __init__(
        self, instance: Instance, *, widths: Literal["any", "powers-of-two"] = "any"
    ) -> None:
        check_options({"widths": widths}, self.known_options, "rectangles")
        began = time.perf_counter()
        super().__init__(instance)
        for name, rule in self.rules.items():
            self._accept_rule(rule, name)
        nodes, jobs = instance.nodes, len(instance.jobs)
        if nodes > MOST_NODES:
            expected = f"at most {MOST_NODES}, for rectangles"
            raise InputError(expected, found=quote(nodes), place="nodes")
        every = possible_widths(nodes, jobs, int(instance.minima.min()))
        if widths != "any":
            every = [w for w in every if w & (w - 1) == 0 or w == nodes]
        self._allowed = widths
        self.possible = every
        self.widths = coarsen(every, nodes, jobs, MOST_UNITS, max(1, MOST_PAIRS // jobs))
        self.exact = self.widths == every
        self.units = grid(self.widths, nodes, jobs)
        above = np.searchsorted(every, instance.minima)
        self.narrowest: list[int] = np.array(every)[above].tolist()
        self._whole = lcm(*self.widths, nodes)  # the area of a rectangle, in nodes times units
        self._runs: dict[str, dict[int, IntVar]] = {}
        self._starts: dict[str, IntVar] = {}
        self.seconds = time.perf_counter() - began

    @property
    def options(self) -> Settings:
        """The widths, the units of a quantum, and whether the model has all widths."""
        return {"widths": self._allowed, "units": self.units, "exact": self.exact}

    @property
    def runs(self) -> dict[str, dict[int, IntVar]]:
        """Whether a job has a width, by name and width."""
        self.model  # noqa: B018 - builds it
        return self._runs

    @property
    def starts(self) -> dict[str, IntVar]:
        """The start of each job, in units of 1/`units` of a quantum, by name."""
        self.model  # noqa: B018 - builds it
        return self._starts

    def _build(self) -> None:
        """State the model of the Notes."""
        model, nodes = self.model, self.instance.nodes
        intervals, demands = [], []
        for job in self.instance.jobs:
            able = [w for w in self.widths if w >= job.minimum]
            runs = self._runs[job.name] = {
                w: model.new_bool_var(f"runs[{job.name},{w}]") for w in able
            }
            latest = self.units - self._whole // max(able)
            start = self._starts[job.name] = model.new_int_var(0, latest, f"start[{job.name}]")
            model.add_exactly_one(runs.values())
            for w, run in runs.items():
                height = self._whole // w
                model.add(start <= self.units - height).only_enforce_if(run)
                piece = f"piece[{job.name},{w}]"
                interval = model.new_optional_fixed_size_interval_var(start, height, run, piece)
                intervals.append(interval)
                demands.append(w)
        model.add_cumulative(intervals, demands, nodes)
        model.minimize(sum(self._width(job.name) for job in self.instance.jobs))

    def _width(self, name: str) -> LinearExprT:
        return sum(w * run for w, run in self._runs[name].items())

    def _end(self, name: str) -> LinearExprT:
        """Return the end of a job, in units."""
        height = sum(self._whole // w * run for w, run in self._runs[name].items())
        return self._starts[name] + height

    def _accept_rule(self, rule: Constraint, name: str) -> None:
        """Raise `InputError` for another kind, or after the user has changed the model."""
        if not isinstance(rule, Together | Apart):
            expected = "a kind that rectangles can take (one of 'together', 'apart')"
            raise InputError(expected, found=repr(rule.kind()))
        if self.changed:
            raise InputError("side constraints added before native ones", found="native ones")

    def _state(self, rule: Constraint, name: str) -> None:
        """State a side constraint, enforced by its own literal."""
        asked, model, starts = self.literal(name), self.model, self._starts
        jobs = list(dict.fromkeys(job for _, job in rule.jobs_named()))
        if isinstance(rule, Together):
            for first, other in pairwise(jobs):
                model.add(starts[first] == starts[other]).only_enforce_if(asked)
                model.add(self._width(first) == self._width(other)).only_enforce_if(asked)
            return
        for first, other in combinations(jobs, 2):
            before = model.new_bool_var(f"before[{first},{other}]")
            model.add(self._end(first) <= starts[other]).only_enforce_if(asked, before)
            model.add(self._end(other) <= starts[first]).only_enforce_if(asked, ~before)

    @property
    def _interchangeable_jobs(self) -> list[int]:
        """The positions of the jobs in no side constraint, by minimum."""
        ruled = {job for rule in self.rules.values() for _, job in rule.jobs_named()}
        return [j for j in self.instance.ascending if self.instance.jobs[j].name not in ruled]

    def in_order(self, copy: CpModel) -> None:
        """Add symmetry-breaking rows for interchangeable jobs to a copy of the model.

        Two such jobs can be exchanged if both fit on both widths: the larger job is no narrower,
        and of two jobs with one minimum the first starts no later.
        """
        jobs, starts = self.instance.jobs, self.starts
        for i, j in pairwise(self._interchangeable_jobs):
            first, second = jobs[i].name, jobs[j].name
            copy.add(self._width(first) <= self._width(second))
            if jobs[i].minimum == jobs[j].minimum:
                for w, run in self._runs[first].items():
                    both = [run, self._runs[second][w]]
                    copy.add(starts[first] <= starts[second]).only_enforce_if(both)

    def hint(self, solution: Scheduled) -> Hints:
        """Yield the widths and starts of a known schedule, in the order of `in_order`.

        Widths that the model does not have are omitted.
        """
        pieces, jobs = dict(solution.rectangles), self.instance.jobs
        names = [jobs[j].name for j in self._interchangeable_jobs]
        dealt = sorted((pieces[name] for name in names), key=lambda p: (p.nodes, p.start))
        for name, piece in (pieces | dict(zip(names, dealt, strict=True))).items():
            for w, run in self.runs[name].items():
                yield run, float(w == piece.nodes)
            yield self.starts[name], round(piece.start * self.units)

    def decode(self, value: Value) -> Scheduled:
        """Turn values of the variables into rectangles."""
        rectangles = {}
        for name, runs in self.runs.items():
            start = round(value(self.starts[name]))
            for nodes in (w for w, run in runs.items() if value(run) > 0.5):
                end = (start + self._whole // nodes) / self.units
                rectangles[name] = Rectangle(nodes=nodes, start=start / self.units, end=end)
        return Scheduled(rectangles=rectangles)
