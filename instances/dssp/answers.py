"""Solution records of dssp: selections of jobs, and schedules, for one night or several."""

from itertools import chain

from msgspec import UNSET, UnsetType

from schedopt.instances.declarations import Integer, Record


class Selected(Record, kw_only=True):
    """A selection of jobs, as in result documents.

    Attributes
    ----------
    selected : tuple of str
        The selected jobs, in the instance's order.
    demand : float
        Their total planned demand, in processor time.
    capacity : float
        r·P·D, in processor time.
    shares : dict
        For each grouping and group, the demand of its selected jobs divided by the capacity.
    note : str, optional
        A note on how the selection was found.
    objectives : tuple of float, optional
        The value of each of the instance's `objectives`, if there are several.
    """

    selected: tuple[str, ...]
    demand: float
    capacity: float
    shares: dict[str, dict[str, float]]
    note: str | UnsetType = UNSET
    objectives: tuple[float, ...] | UnsetType = UNSET

    @property
    def nights(self) -> tuple["Selected"]:
        """The selection as that of a single night; several nights have one each."""
        return (self,)


class SelectedNight(Record, kw_only=True):
    """The jobs that run on one of several nights.

    Attributes
    ----------
    selected : tuple of str
        The selected jobs, in the instance's order.
    demand : float
        Their total planned demand, in processor time.
    shares : dict
        For each grouping and group, the demand of its selected jobs divided by the capacity.
    """

    selected: tuple[str, ...]
    demand: float
    shares: dict[str, dict[str, float]]


class SelectedNights(Record, kw_only=True):
    """A selection for each of several nights, as in result documents.

    Attributes
    ----------
    nights : tuple of SelectedNight
        The nights in order.
    capacity : float
        r·P·D of each night.
    note : str, optional
        A note on how the selection was found.
    """

    nights: tuple[SelectedNight, ...]
    capacity: float
    note: str | UnsetType = UNSET

    @property
    def selected(self) -> tuple[str, ...]:
        """All selected jobs, night by night."""
        return tuple(chain.from_iterable([night.selected for night in self.nights]))


class PlacedTask(Record, kw_only=True):
    """A task of a schedule, with its processors and its start and end.

    Stages, tasks and processors are numbered from 0; processors are numbered through all pools in
    the file's order. ``processors`` lists all processors of a task that takes more than one.
    """

    job: str
    stage: Integer
    task: Integer
    processor: Integer
    start: float
    end: float
    processors: tuple[Integer, ...] | UnsetType = UNSET

    @property
    def on(self) -> tuple[int, ...]:
        """All processors of the task."""
        return (self.processor,) if isinstance(self.processors, UnsetType) else self.processors


class Scheduled(Selected, kw_only=True):
    """A schedule of jobs, as in result documents.

    ``selected`` has every job that runs, also jobs that complete after their deadline.

    Attributes
    ----------
    tasks : tuple of PlacedTask
        The tasks.
    completion : dict of str to float
        The completion time of each job.
    makespan : float
        The end of the last task.
    utilization : float
        The busy fraction of the P·D processor time before the deadline.
    """

    tasks: tuple[PlacedTask, ...]
    completion: dict[str, float]
    makespan: float
    utilization: float
