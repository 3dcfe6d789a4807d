"""Answers of the disconnected staged scheduling problem: a selection of jobs, and a schedule."""

from itertools import chain

from msgspec import UNSET, UnsetType

from schedopt.instances.declarations import Integer, Record


class Selected(Record, kw_only=True):
    """A selection of jobs, as result documents write it.

    Attributes
    ----------
    selected : tuple of str
        The jobs, in the instance's order.
    demand : float
        Their total planned demand.
    capacity : float
        r·P·D.
    shares : dict
        For each grouping and group, the share of the capacity that its selected jobs ask for.
    note : str, optional
        What there is to say about how it was found.
    objectives : tuple of float, optional
        What each of the instance's `objectives` comes to, where there are several.
    """

    selected: tuple[str, ...]
    demand: float
    capacity: float
    shares: dict[str, dict[str, float]]
    note: str | UnsetType = UNSET
    objectives: tuple[float, ...] | UnsetType = UNSET


class SelectedNight(Record, kw_only=True):
    """The jobs that are run on one night.

    Attributes
    ----------
    selected : tuple of str
        The jobs, in the instance's order.
    demand : float
        Their total planned demand.
    shares : dict
        For each grouping and group, the share of the night's capacity that they ask for.
    capacity : float, optional
        r·P·D of a night with a machine of its own.
    """

    selected: tuple[str, ...]
    demand: float
    shares: dict[str, dict[str, float]]
    capacity: float | UnsetType = UNSET


class SelectedNights(Record, kw_only=True):
    """A selection for each of several nights, as result documents write it.

    Attributes
    ----------
    nights : tuple of SelectedNight
        The first night first.
    capacity : float
        r·P·D of each of them but those that say another.
    note : str, optional
        What there is to say about how it was found.
    """

    nights: tuple[SelectedNight, ...]
    capacity: float
    note: str | UnsetType = UNSET

    @property
    def capacities(self) -> tuple[float, ...]:
        """r·P·D of each night."""
        own = (night.capacity for night in self.nights)
        return tuple(self.capacity if isinstance(room, UnsetType) else room for room in own)

    @property
    def selected(self) -> tuple[str, ...]:
        """All jobs that are run, night by night."""
        return tuple(chain.from_iterable([night.selected for night in self.nights]))


class PlacedTask(Record, kw_only=True):
    """One task on one processor, or several: stage, task and processor count from 0.

    Pools count on, in the file's order. ``processors`` has all of a task that takes several.
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
        """All processors that it takes."""
        return (self.processor,) if isinstance(self.processors, UnsetType) else self.processors


class Scheduled(Selected, kw_only=True):
    """Jobs that are run, and their schedule, as result documents write it.

    ``selected`` are the jobs that are run at all, whether or not they complete in time.

    Attributes
    ----------
    tasks : tuple of PlacedTask
        Every task that is run.
    completion : dict of str to float
        When each job completes.
    makespan : float
        When the last task ends.
    utilization : float
        The busy share of the P·D processor time before the deadline.
    """

    tasks: tuple[PlacedTask, ...]
    completion: dict[str, float]
    makespan: float
    utilization: float


class ScheduledNights(SelectedNights, kw_only=True):
    """A selection for each of several nights, and a schedule for each.

    Attributes
    ----------
    schedules : tuple of Scheduled
        The first night first, of that night's jobs alone; times are from its night's start.
    """

    schedules: tuple[Scheduled, ...]
