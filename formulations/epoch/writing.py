"""What every way to write a partition for CP-SAT shares: Direct, Slots and Counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Protocol, Self

from schedopt.formulations.cp_sat import WholeModel
from schedopt.formulations.protocol import Hints, Settings, Value
from schedopt.instances.constraints import Constraint
from schedopt.instances.epoch import Instance, Partitioned, partitioned
from schedopt.instances.options import Option

Epochs = list[list[int]]
"""For each epoch the positions of its jobs."""

FORMS = ("slots", "counts", "direct")

MODEL = Option(
    default="auto",
    expected=f"auto, or one of {', '.join(FORMS)}: how the partition is written",
    accepts=lambda value: value == "auto" or value in FORMS,
    asks=False,
)


class Declared:
    """What a formulation says of itself, the same however a partition is written."""

    problem: ClassVar[str] = "epoch"
    name: ClassVar[str] = "partition"
    engine: ClassVar[str] = "cp-sat"
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    known_options: ClassVar[Mapping[str, Option]] = {"model": MODEL}
    reward_scale: float = 1.0
    loss: int = 0
    exact: bool = True
    inexact: ClassVar[str] = ""


class Source(Protocol):
    """What a form is written from: a `Partition`."""

    instance: Instance
    added: list[Constraint]


class Form(Declared, WholeModel):
    """A partition written in one of the strong ways, each a formulation of its own.

    A form takes no further constraints: those go to the `Partition` that it was written from.
    """

    form: ClassVar[str]

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.instance = source.instance
        self.added = list(source.added)

    @property
    def options(self) -> Settings:
        """Which form this is."""
        return {"model": self.form}

    def add(self, *constraints: Constraint) -> Self:
        """Refuse side constraints.

        Raises
        ------
        TypeError
            If there are any: a form is written from a `Partition` that has them all.
        """
        if constraints:
            raise TypeError("add side constraints to the partition, then write it in this form")
        return self

    def hint(self, solution: Partitioned) -> Hints:
        """Yield a value for each variable that a known partition gives one."""
        yield from self.hints(positions(self.instance, solution))

    def decode(self, value: Value) -> Partitioned:
        """Turn values of the variables into epochs with real allotments."""
        return partitioned(self.instance, self.epochs(value))

    def hints(self, epochs: Epochs) -> Hints:
        """Yield values of the variables from epochs."""
        raise NotImplementedError

    def epochs(self, value: Value) -> Epochs:
        """Return the epochs that values of the variables mean."""
        raise NotImplementedError


def positions(instance: Instance, solution: Partitioned) -> Epochs:
    """Return the positions of each epoch's jobs."""
    return [[instance.index[name] for name in epoch.nodes] for epoch in solution.epochs]
