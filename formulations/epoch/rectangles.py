"""Rectangles: each job once a quantum, on any number of nodes, all with the same area."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import combinations, pairwise
from math import lcm
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from schedopt.formulations.cp_sat import WholeModel
from schedopt.formulations.protocol import Hints, Settings, Side, Value
from schedopt.instances.constraints import (
    Apart,
    Constraint,
    Together,
    check_added,
    label,
)
from schedopt.instances.epoch import Instance, Rectangle, Scheduled
from schedopt.instances.epoch.widths import coarser, grid, possible_widths
from schedopt.instances.errors import InputError, shown
from schedopt.instances.options import Option, checked

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar, LinearExprT

MOST_NODES = 1_024
"""Nodes up to which the widths of schedules are looked for."""

MOST_UNITS = 1 << 30
"""Units of the quantum: CP-SAT's own numbers stay far below 2^31."""

MOST_PIECES = 5_000
"""Pairs of a job and a width: beyond, a model takes longer to build than anyone waits for it."""

WIDTHS = Option(
    default="any",
    expected="any, or powers-of-two: the widths that rectangles may have",
    accepts=lambda value: value in ("any", "powers-of-two"),
)


class Rectangles:
    """Give each job a rectangle of area N/J on its minimum of nodes or more, with least overhead.

    Allotments are equal in area whatever the instance's inequity, and a job's nodes need not be
    neighbours: at each instant there are enough, since nodes are alike. There are no epochs here:
    jobs that are to be together start and end together, and of jobs that are to be apart no two
    run at the same time.

    Parameters
    ----------
    instance : Instance
        Nodes and jobs.
    widths : {"any", "powers-of-two"}
        Which widths are allowed; N always is.

    Attributes
    ----------
    possible : list of int
        The widths that rectangles can have in some schedule, the narrowest first.
    widths : list of int
        Those of them that the model has: not all where it would be too large, or the grid too fine.
    narrowest : list of int
        For each job the narrowest width that it can have in any schedule.
    model : cp_model.CpModel
        Built when first asked for. Add native constraints as you like; `runs[job name][width]` says
        whether a job has a width, and `starts[job name]` is when it starts, in units of 1/`units`
        of a quantum.

    Raises
    ------
    InputError
        If a side constraint is of another kind than ``together`` and ``apart``, or there are too
        many nodes.

    Notes
    -----
    Source: McCann and Zahorjan, TR 94-10-05, University of Washington, 1994, section 2.3, Figure
    2(b); the paper has no method for it.
    """

    problem: ClassVar[str] = "epoch"
    name: ClassVar[str] = "rectangles"
    engine: ClassVar[str] = "cp-sat"
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    known_options: ClassVar[Mapping[str, Option]] = {"widths": WIDTHS}
    reward_scale: ClassVar[float] = 1.0
    loss: ClassVar[int] = 0
    inexact: ClassVar[str] = (
        "among schedules of fewer widths, since all would make too large a model"
    )

    def __init__(
        self, instance: Instance, *, widths: Literal["any", "powers-of-two"] = "any"
    ) -> None:
        checked({"widths": widths}, self.known_options, "rectangles")
        began = time.perf_counter()
        self.instance = instance
        self.added: list[Constraint] = []
        _check_kinds(instance.constraints)
        nodes, jobs = instance.nodes, len(instance.jobs)
        if nodes > MOST_NODES:
            expected = f"at most {MOST_NODES}, for rectangles"
            raise InputError(expected, found=shown(nodes), place="nodes")
        every = possible_widths(nodes, jobs, int(instance.minima.min()))
        if widths != "any":
            every = [w for w in every if w & (w - 1) == 0 or w == nodes]
        self._allowed = widths
        self.possible = every
        self.widths = coarser(every, nodes, jobs, MOST_UNITS, max(1, MOST_PIECES // jobs))
        self.exact = self.widths == every
        self.units = grid(self.widths, nodes, jobs)
        self.narrowest = [every[bisect_left(every, job.minimum)] for job in instance.jobs]
        self._pieces: _Pieces | None = None
        self._ordered = False
        self.seconds = time.perf_counter() - began

    @property
    def options(self) -> Settings:
        """How finely the quantum is cut, and whether any schedule is on that grid."""
        return {"widths": self._allowed, "units": self.units, "exact": self.exact}

    @property
    def model(self) -> CpModel:
        """The CP-SAT model."""
        return self._built().model

    @property
    def runs(self) -> dict[str, dict[int, IntVar]]:
        """Whether a job has a width, by name and width."""
        return self._built().runs

    @property
    def starts(self) -> dict[str, IntVar]:
        """When a job starts, in units of 1/`units` of a quantum, by name."""
        return self._built().starts

    def _built(self) -> _Pieces:
        if self._pieces is None:
            began = time.perf_counter()
            self._pieces = _Pieces(self.instance, self.widths, self.units)
            for position, rule in enumerate(self.rules):
                self._pieces.state(rule, label(rule, position))
            self._pieces.stated()
            self.seconds += time.perf_counter() - began
        return self._pieces

    def in_order(self) -> None:
        """State the order that jobs may be given since they can change places.

        Native constraints may tell them apart: only for a model that has none.
        """
        pieces = self._built()
        if not self.native and not self._ordered:
            pieces.in_order(self._alike)
            pieces.stated()
            self._ordered = True

    @property
    def rules(self) -> list[Constraint]:
        """All side constraints: the instance's, then those that were added."""
        return [*self.instance.constraints, *self.added]

    @property
    def _alike(self) -> list[int]:
        """Positions, by minimum, of the jobs that no side constraint speaks of."""
        told = {job for rule in self.rules for _, job in rule.jobs_named()}
        return [j for j in self.instance.ascending if self.instance.jobs[j].name not in told]

    def add(self, *constraints: Constraint) -> Self:
        """Add side constraints to those of the instance.

        Raises
        ------
        InputError
            If one names a job that does not exist, has a name that is taken, or is of a kind that
            rectangles cannot take; or if native constraints are there already.
        """
        check_added(self.instance, [*self.added, *constraints])
        _check_kinds(constraints)
        if constraints and self.native:
            raise InputError("side constraints before native ones", found="native ones")
        if constraints:
            self.added.extend(constraints)
            self._pieces, self._ordered = None, False  # to be built anew
        return self

    @property
    def asked(self) -> dict[str, IntVar]:
        """For each side constraint, the literal that asks for it."""
        return self._built().asked

    def ask(self, name: str, wanted: bool) -> None:
        """Ask for a side constraint, or do not."""
        self._built().ask(name, wanted)

    @property
    def native(self) -> int:
        """How many native constraints the user added."""
        return 0 if self._pieces is None else self._pieces.native

    @property
    def changed(self) -> bool:
        """Whether the user has changed the model."""
        return self.native > 0

    @property
    def goal_changed(self) -> bool:
        """Whether the user has changed its objective."""
        return False

    def side(self) -> Side:
        """Return the literal that asks for each side constraint, by its name."""
        names = [label(rule, position) for position, rule in enumerate(self.rules)]
        return {name: [] for name in names} if self._pieces is None else self._pieces.side()

    def hint(self, solution: Scheduled) -> Hints:
        """Yield widths and starts of a known schedule, where its widths are among ours.

        Jobs are dealt its pieces so that the symmetries broken here are kept.
        """
        pieces, jobs = dict(solution.rectangles), self.instance.jobs
        names = [jobs[j].name for j in self._alike]
        dealt = sorted((pieces[name] for name in names), key=lambda p: (p.nodes, p.start))
        for name, piece in (pieces | dict(zip(names, dealt, strict=True))).items():
            for w, run in self.runs[name].items():
                yield run, float(w == piece.nodes)
            yield self.starts[name], round(piece.start * self.units)

    def decode(self, value: Value) -> Scheduled:
        """Turn values of the variables into rectangles."""
        whole = lcm(*self.widths, self.instance.nodes)
        rectangles = {}
        for name, runs in self.runs.items():
            nodes = next(w for w, run in runs.items() if value(run) > 0.5)
            start = round(value(self.starts[name]))
            end = (start + whole // nodes) / self.units
            rectangles[name] = Rectangle(nodes=nodes, start=start / self.units, end=end)
        return Scheduled(rectangles=rectangles)


class _Pieces(WholeModel):
    """The model itself: each job's width and start, and that all nodes are always used."""

    def __init__(self, instance: Instance, widths: list[int], units: int) -> None:
        super().__init__()
        self.instance = instance
        self.whole = lcm(*widths, instance.nodes)
        self.runs: dict[str, dict[int, IntVar]] = {}
        self.starts: dict[str, IntVar] = {}
        model, whole = self.model, self.whole
        intervals, demands = [], []
        for job in instance.jobs:
            able = [w for w in widths if w >= job.minimum]
            runs = self.runs[job.name] = {
                w: model.new_bool_var(f"runs[{job.name},{w}]") for w in able
            }
            latest = units - whole // max(able)
            start = self.starts[job.name] = model.new_int_var(0, latest, f"start[{job.name}]")
            model.add_exactly_one(runs.values())
            for w, run in runs.items():
                height = whole // w
                model.add(start <= units - height).only_enforce_if(run)
                piece = f"piece[{job.name},{w}]"
                intervals.append(
                    model.new_optional_fixed_size_interval_var(start, height, run, piece)
                )
                demands.append(w)
        model.add_cumulative(intervals, demands, instance.nodes)
        model.minimize(sum(self.width(job.name) for job in instance.jobs))

    def width(self, name: str) -> LinearExprT:
        """Return a job's width."""
        return sum(w * run for w, run in self.runs[name].items())

    def _end(self, name: str) -> LinearExprT:
        """Return when a job ends, in units."""
        height = sum(self.whole // w * run for w, run in self.runs[name].items())
        return self.starts[name] + height

    def state(self, rule: Constraint, name: str) -> None:
        """State a side constraint, asked for by a literal of its own."""
        asked, model = self.literal(name), self.model
        jobs = list(dict.fromkeys(job for _, job in rule.jobs_named()))
        if isinstance(rule, Together):
            for first, other in pairwise(jobs):
                model.add(self.starts[first] == self.starts[other]).only_enforce_if(asked)
                model.add(self.width(first) == self.width(other)).only_enforce_if(asked)
            return
        for first, other in combinations(jobs, 2):
            before = model.new_bool_var(f"before[{first},{other}]")
            model.add(self._end(first) <= self.starts[other]).only_enforce_if(asked, before)
            model.add(self._end(other) <= self.starts[first]).only_enforce_if(asked, ~before)

    def in_order(self, alike: list[int]) -> None:
        """Break the symmetry: of two jobs the larger is no narrower; equals start in order.

        Two jobs that both fit on both widths could change places, if no side constraint tells
        them apart.
        """
        jobs, model = self.instance.jobs, self.model
        for i, j in pairwise(alike):
            first, second = jobs[i].name, jobs[j].name
            model.add(self.width(first) <= self.width(second))
            if jobs[i].minimum == jobs[j].minimum:
                for w in self.runs[first]:
                    both = [self.runs[first][w], self.runs[second][w]]
                    model.add(self.starts[first] <= self.starts[second]).only_enforce_if(both)


def _check_kinds(constraints: Iterable[Constraint]) -> None:
    for constraint in constraints:
        if not isinstance(constraint, Together | Apart):
            expected = "a kind that rectangles can take (one of 'together', 'apart')"
            raise InputError(expected, found=repr(constraint.kind()))
