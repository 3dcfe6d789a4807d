"""Side constraints as data: what stands in an instance's ``constraints`` list.

A declaration says what is wanted and knows its own JSON. What it means as mathematics is said by
each formulation, and whether a solution keeps it by each checker; neither is known here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Protocol

import msgspec

from schedopt.instances.declarations import (
    Constraint,
    Count,
    Jobs,
    Name,
    NonNegative,
    Share,
    check_bounds,
)
from schedopt.instances.errors import InputError, expect, join_places, listing, quote, suggestion
from schedopt.instances.fair_share import FairShare  # noqa: F401 - as all kinds are imported
from schedopt.instances.naming import check_unique


class Shares(Constraint, frozen=True, tag="share"):
    """What each of these jobs gets of the servers while it is in the system (hesrpt).

    Attributes
    ----------
    jobs : tuple of str
        The jobs, each bounded by itself.
    at_most : float, optional
        The largest share of all servers, in [0, 1].
    at_least : float, optional
        The least share of all servers, in [0, 1].
    """

    jobs: Jobs
    at_most: Share | None = None
    at_least: Share | None = None

    def __post_init__(self) -> None:
        check_bounds(self.at_least, self.at_most, "the jobs'")


class _OfJobs(Constraint, frozen=True):
    """What is asked of some jobs.

    Attributes
    ----------
    jobs : tuple of str
        Their names.
    """

    jobs: Jobs


class Require(_OfJobs, frozen=True, tag="require"):
    """These jobs are selected."""


class Forbid(_OfJobs, frozen=True, tag="forbid"):
    """These jobs are not selected."""


class Imply(Constraint, frozen=True, tag="imply", rename={"if_": "if"}):
    """Selecting the first job asks for the second.

    Attributes
    ----------
    if_ : str
        The first job (``if`` in JSON).
    then : str
        The second.
    """

    if_: Name
    then: Name

    def jobs_named(self) -> Iterator[tuple[str, str]]:
        """Yield the two jobs."""
        yield "if", self.if_
        yield "then", self.then


class Together(_OfJobs, frozen=True, tag="together"):
    """All of these jobs are selected, or none (epoch: all in one epoch)."""


class Apart(_OfJobs, frozen=True, tag="apart"):
    """At most one of these jobs is selected (epoch: all in different epochs)."""


class _Counted(Constraint, frozen=True):
    """A bound on how many jobs of a list, or of a group, are selected.

    Attributes
    ----------
    count : int
        How many.
    jobs : tuple of str, optional
        Which jobs are counted; or `by` and `group` say it.
    by : str, optional
        The grouping, such as ``team``.
    group : str, optional
        The group of it whose jobs are counted.
    """

    count: Count
    jobs: Jobs | None = None
    by: Name | None = None
    group: Name | None = None

    def __post_init__(self) -> None:
        listed, grouped = self.jobs is not None, self.by is not None and self.group is not None
        if listed == grouped or (listed and (self.by is not None or self.group is not None)):
            raise InputError("either `jobs`, or `by` and `group`")

    def groups_named(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield the group, if it is given by group."""
        if self.by is not None:
            yield "group", self.by, self.group


class AtMost(_Counted, frozen=True, tag="at-most"):
    """At most ``count`` of these jobs, or of this group's, are selected."""


class AtLeast(_Counted, frozen=True, tag="at-least"):
    """At least ``count`` of these jobs, or of this group's, are selected."""


class _Used(Constraint, frozen=True):
    """What jobs use, by their names."""

    def jobs_named(self) -> Iterator[tuple[str, str]]:
        """Yield the jobs that use it."""
        use: Mapping[str, Any] = getattr(self, "use")  # noqa: B009 - of whole numbers, or of any
        for job in use:
            yield f"use.{job}", job


class Resource(_Used, frozen=True, tag="resource"):
    """A total over the whole night, such as disk space or a budget; what is held is `Seats`.

    Attributes
    ----------
    name : str
        The resource.
    capacity : float
        How much of it there is.
    use : dict of str to float
        How much of it each job takes; a job that is not listed takes none.
    """

    name: Name
    capacity: NonNegative
    use: dict[Name, NonNegative]


class Seats(_Used, frozen=True, tag="seats"):
    """Seats of a licence, or slots, that running tasks hold: never more at a time than there are.

    Attributes
    ----------
    capacity : int
        How many there are.
    use : dict of str to int
        How many each running task of a job holds, from its start to its end; a task of a job that
        is not listed holds none. A job whose tasks hold more than there are cannot run.
    """

    capacity: Count
    use: dict[Name, Count]


class ResponseTime(Constraint, frozen=True, tag="response-time"):
    """The mean response time of a class of multiserver jobs is at most this.

    Attributes
    ----------
    need : int
        Which class: that of jobs which need so many servers.
    at_most : float
        The largest mean response time, in the file's unit of time.
    """

    need: Annotated[int, msgspec.Meta(ge=1)]
    at_most: Annotated[float, msgspec.Meta(gt=0)]

    def __post_init__(self) -> None:
        expect(0 < self.at_most < float("inf"), "a finite number > 0", self.at_most, "at_most")

    def groups_named(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield the class, as the group of that need."""
        yield "need", "need", str(self.need)


def label(constraint: Constraint, position: int) -> str:
    """Return a constraint's name for messages: its own, else its kind and position."""
    return constraint.name or f"{constraint.kind()}[{position}]"


class Ruled(Protocol):
    """An instance with side constraints."""

    @property
    def constraints(self) -> Sequence[Constraint]:
        """The side constraints that the file holds."""

    @property
    def index(self) -> Mapping[str, int]:
        """The position of each job, by name."""

    @property
    def groups(self) -> Mapping[str, Mapping[str, Sequence[int]]]:
        """The positions of each group's jobs, by grouping and group."""


def check_rules(instance: Ruled) -> None:
    """Check an instance's side constraints: their names, and the jobs and groups they name."""
    check_names(instance.constraints)
    if instance.constraints:
        check_references(instance.constraints, instance.index, instance.groups)


def check_added(instance: Ruled, added: Sequence[Constraint]) -> None:
    """Check side constraints that are added to those of an instance: their names and references."""
    if added:
        check_names([*instance.constraints, *added])
        check_references(added, instance.index, instance.groups)


def check_names(constraints: Sequence[Constraint], place: str = "constraints") -> None:
    """Raise `InputError` if two constraints would be reported by the same name."""
    check_unique(
        [label(constraint, i) for i, constraint in enumerate(constraints)], place, "a name", "name"
    )


def check_references(
    constraints: Iterable[Constraint],
    jobs: Mapping[str, int],
    groups: Mapping[str, Mapping[str, object]],
    where: str = "constraints",
) -> None:
    """Raise `InputError` at the first reference to a job or a group that does not exist.

    ``where`` is where the constraints stand, for the message.
    """
    for i, constraint in enumerate(constraints):
        place = f"{where}[{i}]"
        for inner, job in constraint.jobs_named():
            if job not in jobs:
                expected = f"the name of a job{suggestion(job, jobs)}"
                raise InputError(expected, found=quote(job), place=join_places(place, inner))
        for inner, by, group in constraint.groups_named():
            if by not in groups:
                expected = f"a grouping that some job has{listing(groups)}"
                raise InputError(expected, found=quote(by), place=join_places(place, "by"))
            if group is not None and group not in groups[by]:
                expected = f"a group of {quote(by)} that some job has{listing(groups[by])}"
                raise InputError(expected, found=quote(group), place=join_places(place, inner))
