"""Rectangles: each job once a quantum, on any number of nodes, all with the same area."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import pairwise
from math import lcm
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from formulations.protocol import Hints, Settings, Side, Value
from instances.constraints import Constraint
from instances.epoch import Instance, Rectangle, Scheduled
from instances.epoch.widths import coarser, grid, possible_widths
from instances.errors import InputError, shown
from instances.options import Option, checked

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar, LinearExprT

MOST_NODES = 1_024
"""Nodes up to which the widths of schedules are looked for."""

MOST_UNITS = 1 << 30
"""Units of the quantum: CP-SAT's own numbers stay far below 2^31."""


WIDTHS = Option(
    default="any",
    expected="any, or powers-of-two: the widths that rectangles may have",
    accepts=lambda value: value in ("any", "powers-of-two"),
)


class Rectangles:
    """Give each job a rectangle of area N/J on its minimum of nodes or more, with least overhead.

    Allotments are equal in area whatever the instance's inequity, and a job's nodes need not be
    neighbours: at each instant there are enough, since nodes are alike.

    Parameters
    ----------
    instance : Instance
        Nodes and jobs.
    widths : {"any", "powers-of-two"}
        Which widths are allowed; N always is.

    Attributes
    ----------
    narrowest : list of int
        For each job the narrowest width that it can have in any schedule.
    model : cp_model.CpModel
        Built when first asked for. Add native constraints as you like; `runs[job name][width]` says
        whether a job has a width, and `starts[job name]` is when it starts, in units of 1/`units`
        of a quantum.

    Raises
    ------
    InputError
        If the instance has side constraints, since they speak of epochs, or too many nodes.

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
    inexact: ClassVar[str] = "among schedules of fewer widths, since all would need too fine a grid"

    def __init__(
        self, instance: Instance, *, widths: Literal["any", "powers-of-two"] = "any"
    ) -> None:
        checked({"widths": widths}, self.known_options, "rectangles")
        began = time.perf_counter()
        self.instance = instance
        self.added: list[Constraint] = []
        self.asked: dict[str, IntVar] = {}
        self.add(*instance.constraints)
        nodes, jobs = instance.nodes, len(instance.jobs)
        if nodes > MOST_NODES:
            expected = f"at most {MOST_NODES}, for rectangles"
            raise InputError(expected, found=shown(nodes), place="nodes")
        every = possible_widths(nodes, jobs, int(instance.minima.min()))
        if widths != "any":
            every = [w for w in every if w & (w - 1) == 0 or w == nodes]
        self._allowed = widths
        self.widths = coarser(every, nodes, jobs, MOST_UNITS)
        self.exact = self.widths == every
        self.units = grid(self.widths, nodes, jobs)
        self.narrowest = [min(w for w in every if w >= job.minimum) for job in instance.jobs]
        self._pieces: _Pieces | None = None
        self._ordered = False
        self._stated = 0
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
            self._stated = len(self._pieces.model.proto.constraints)
            self.seconds += time.perf_counter() - began
        return self._pieces

    def in_order(self) -> None:
        """State the order that jobs may be given since they can change places.

        Native constraints may tell them apart: only for a model that has none.
        """
        pieces = self._built()
        if not self.native and not self._ordered:
            pieces.in_order()
            self._ordered = True
            self._stated = len(pieces.model.proto.constraints)

    def add(self, *constraints: Constraint) -> Self:
        """Refuse side constraints, which speak of epochs.

        Raises
        ------
        InputError
            If there are any.
        """
        if constraints:
            raise InputError(
                "no side constraint: rectangles have no epochs (see the formulation partition)",
                found=repr(constraints[0].kind()),
                place="constraints",
            )
        return self

    def ask(self, name: str, wanted: bool) -> None:
        """Refuse: rectangles take no side constraints, so there is none to ask for.

        Raises
        ------
        KeyError
            Always.
        """
        raise KeyError(name)

    @property
    def native(self) -> int:
        """How many native constraints the user added."""
        if self._pieces is None:
            return 0
        return len(self._pieces.model.proto.constraints) - self._stated

    def side(self) -> Side:
        """Return the user's native constraints: none of ours can be to blame."""
        return {"native constraints": []} if self.native else {}

    def hint(self, solution: Scheduled) -> Hints:
        """Yield widths and starts of a known schedule, where its widths are among ours.

        Jobs are dealt its pieces so that the symmetries broken here are kept.
        """
        pieces = sorted(solution.rectangles.values(), key=lambda p: (p.nodes, p.start))
        for j, piece in zip(self.instance.ascending, pieces, strict=True):
            name = self.instance.jobs[j].name
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


class _Pieces:
    """The model itself: each job's width and start, and that all nodes are always used."""

    def __init__(self, instance: Instance, widths: list[int], units: int) -> None:
        from ortools.sat.python import cp_model

        self.instance = instance
        self.model: CpModel = cp_model.CpModel()
        self.runs: dict[str, dict[int, IntVar]] = {}
        self.starts: dict[str, IntVar] = {}
        model, whole = self.model, lcm(*widths, instance.nodes)
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

    def in_order(self) -> None:
        """Break the symmetry: of two jobs the larger is no narrower; equals start in order.

        Two jobs that both fit on both widths could change places.
        """
        jobs, model = self.instance.jobs, self.model
        for i, j in pairwise(self.instance.ascending):
            first, second = jobs[i].name, jobs[j].name
            model.add(self.width(first) <= self.width(second))
            if jobs[i].minimum == jobs[j].minimum:
                for w in self.runs[first]:
                    both = [self.runs[first][w], self.runs[second][w]]
                    model.add(self.starts[first] <= self.starts[second]).only_enforce_if(both)
