"""Side constraints: the entries of an instance's ``constraints`` list.

The fields of a kind are its JSON. For selections of jobs (dssp) a kind also has its meaning for
models, ``rows``, and for the checker, ``violations``; the two share no code. The other problems
interpret the kinds that they take in their formulations and checkers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import msgspec

from schedopt.instances.decimals import as_written, total
from schedopt.instances.declarations import (
    Constraint,
    Count,
    Jobs,
    Name,
    NonNegative,
    Share,
    check_bounds,
)
from schedopt.instances.errors import (
    InputError,
    check_unique,
    join_places,
    listing,
    quote,
    suggestion,
)
from schedopt.instances.fair_share import FairShare  # noqa: F401 - as all kinds are imported
from schedopt.instances.rows import Choice, Columns, Row


class Shares(Constraint, frozen=True, tag="share"):
    """Bound the share of the servers that each job has while it is in the system (hesrpt).

    Attributes
    ----------
    jobs : tuple of str
        The jobs; the bounds apply to each of them separately.
    at_most : float, optional
        The maximum share of all servers, in [0, 1].
    at_least : float, optional
        The minimum share of all servers, in [0, 1].
    """

    example: ClassVar = {
        "kind": "share",
        "name": "storm floor",
        "jobs": ["storm"],
        "at_least": 0.25,
    }

    jobs: Jobs
    at_most: Share | None = None
    at_least: Share | None = None

    def __post_init__(self) -> None:
        check_bounds(self.at_least, self.at_most, "the jobs'")


class _JobListConstraint(Constraint, frozen=True):
    """A constraint on a list of jobs.

    Attributes
    ----------
    jobs : tuple of str
        The names of the jobs.
    """

    jobs: Jobs


class Require(_JobListConstraint, frozen=True, tag="require"):
    """Select all of these jobs."""

    example: ClassVar = {"kind": "require", "name": "promised", "jobs": ["titles"]}

    def rows(self, columns: Columns) -> Iterator[Row]:
        """Yield x_j >= 1 for each job."""
        for job in self.jobs:
            yield columns.row(job, {job: 1.0}, lower=1.0)

    def violations(self, choice: Choice) -> Iterator[str]:
        """Yield the jobs that are not selected."""
        yield from (f"{job} is not selected" for job in self.jobs if job not in choice.selected)


class Forbid(_JobListConstraint, frozen=True, tag="forbid"):
    """Select none of these jobs."""

    example: ClassVar = {"kind": "forbid", "name": "on hold", "jobs": ["forest"]}

    def rows(self, columns: Columns) -> Iterator[Row]:
        """Yield x_j <= 0 for each job."""
        for job in self.jobs:
            yield columns.row(job, {job: 1.0}, upper=0.0)

    def violations(self, choice: Choice) -> Iterator[str]:
        """Yield the jobs that are selected."""
        yield from (f"{job} is selected" for job in self.jobs if job in choice.selected)


class Imply(Constraint, frozen=True, tag="imply", rename={"if_": "if"}):
    """Select the second job if the first one is selected.

    Attributes
    ----------
    if_ : str
        The first job (``if`` in JSON).
    then : str
        The second job.
    """

    example: ClassVar = {"kind": "imply", "name": "needs the set", "if": "crowd", "then": "forest"}

    if_: Name
    then: Name

    def jobs_named(self) -> Iterator[tuple[str, str]]:
        """Yield the two jobs."""
        yield "if", self.if_
        yield "then", self.then

    def rows(self, columns: Columns) -> Iterator[Row]:
        """Yield x_if <= x_then."""
        if self.if_ != self.then:
            yield columns.row("implied", {self.if_: 1.0, self.then: -1.0}, upper=0.0)

    def violations(self, choice: Choice) -> Iterator[str]:
        """Yield a message if only the first job is selected."""
        if self.if_ in choice.selected and self.then not in choice.selected:
            yield f"{self.if_} is selected, {self.then} is not"


class Together(_JobListConstraint, frozen=True, tag="together"):
    """Select all of these jobs, or none (epoch: all in one epoch)."""

    example: ClassVar = {"kind": "together", "name": "one shot", "jobs": ["crowd", "forest"]}

    def rows(self, columns: Columns) -> Iterator[Row]:
        """Yield x_first = x_j for each other job."""
        first, *others = dict.fromkeys(self.jobs)
        for job in others:
            yield columns.row(job, {first: 1.0, job: -1.0}, lower=0.0, upper=0.0)

    def violations(self, choice: Choice) -> Iterator[str]:
        """Yield the jobs that are missing, if another job of the list is selected."""
        missing = [job for job in self.jobs if job not in choice.selected]
        if 0 < len(missing) < len(self.jobs):
            yield f"some are selected, but not {', '.join(missing)}"


class Apart(_JobListConstraint, frozen=True, tag="apart"):
    """Select at most one of these jobs (epoch: all in different epochs)."""

    example: ClassVar = {"kind": "apart", "name": "one disk", "jobs": ["storm", "titles"]}

    def rows(self, columns: Columns) -> Iterator[Row]:
        """Yield sum of x_j <= 1."""
        yield columns.row("at most one", dict.fromkeys(self.jobs, 1.0), upper=1.0)

    def violations(self, choice: Choice) -> Iterator[str]:
        """Yield the selected jobs if there are several."""
        both = sorted(set(self.jobs) & set(choice.selected))
        if len(both) > 1:
            yield f"{', '.join(both)} are all selected"


class _CountConstraint(Constraint, frozen=True):
    """A bound on the number of selected jobs of a list or of a group.

    Attributes
    ----------
    count : int
        The bound.
    jobs : tuple of str, optional
        The jobs that are counted, unless `by` and `group` name a group.
    by : str, optional
        The grouping, such as ``team``.
    group : str, optional
        The group whose jobs are counted.
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
        """Yield the group, if the jobs are given by group."""
        if self.by is not None:
            yield "group", self.by, self.group

    def _coefficients(self, columns: Columns) -> Mapping[str, float]:
        if self.jobs is not None:
            return dict.fromkeys(self.jobs, 1.0)
        night = columns.instance
        members = night.groups[self.by or ""][self.group or ""]
        return {night.jobs[j].name: 1.0 for j in members}

    def _count(self, choice: Choice) -> int:
        counted = choice.members(self.by, self.group) if self.jobs is None else self.jobs
        return len({job for job in counted if job in choice.selected})


class AtMost(_CountConstraint, frozen=True, tag="at-most"):
    """Select at most ``count`` of these jobs, or of the jobs of this group."""

    example: ClassVar = {"kind": "at-most", "name": "one", "by": "team", "group": "fx", "count": 1}

    def rows(self, columns: Columns) -> Iterator[Row]:
        """Yield sum of x_j <= count."""
        yield columns.row("count", self._coefficients(columns), upper=self.count)

    def violations(self, choice: Choice) -> Iterator[str]:
        """Yield the count if it is too large."""
        if (count := self._count(choice)) > self.count:
            yield f"{count} selected, at most {self.count} asked"


class AtLeast(_CountConstraint, frozen=True, tag="at-least"):
    """Select at least ``count`` of these jobs, or of the jobs of this group."""

    example: ClassVar = {"kind": "at-least", "jobs": ["crowd", "forest", "titles"], "count": 2}

    def rows(self, columns: Columns) -> Iterator[Row]:
        """Yield sum of x_j >= count."""
        yield columns.row("count", self._coefficients(columns), lower=self.count)

    def violations(self, choice: Choice) -> Iterator[str]:
        """Yield the count if it is too small."""
        if (count := self._count(choice)) < self.count:
            yield f"{count} selected, at least {self.count} asked"


class Resource(Constraint, frozen=True, tag="resource"):
    """Bound a total over each night, such as disk space or a budget.

    What tasks hold only while they run is `Seats`.

    Attributes
    ----------
    name : str
        The resource.
    capacity : float
        The largest total.
    use : dict of str to float
        The amount that each job uses; 0 for a job that is not listed.
    """

    example: ClassVar = {"kind": "resource", "name": "disk", "capacity": 4, "use": {"storm": 3}}

    name: Name
    capacity: NonNegative
    use: dict[Name, NonNegative]

    def rows(self, columns: Columns) -> Iterator[Row]:
        """Yield sum of use_j·x_j <= capacity for each night."""
        room = as_written(self.capacity)
        most = 2 * room or 1  # larger amounts mean the same
        use = {job: min(as_written(amount), most) for job, amount in self.use.items()}
        return columns.each_night("use", use, upper=room)

    def violations(self, choice: Choice) -> Iterator[str]:
        """Yield the total of each night on which it is too large."""
        for night, chosen in choice.by_night():
            used = total(amount for job, amount in self.use.items() if job in chosen)
            if used > as_written(self.capacity):
                yield f"{night}{float(used):.12g} of {self.capacity:.12g} used"


class Seats(Constraint, frozen=True, tag="seats"):
    """Bound what running tasks hold at a time, such as seats of a licence.

    Attributes
    ----------
    capacity : int
        The number of seats.
    use : dict of str to int
        The seats that each running task of a job holds, from its start to its end; 0 for a job that
        is not listed. A job whose tasks hold more seats than there are cannot run.
    """

    example: ClassVar = {"kind": "seats", "name": "houdini", "capacity": 2, "use": {"storm": 1}}

    capacity: Count
    use: dict[Name, Count]

    def rows(self, columns: Columns) -> Iterator[Row]:
        """Yield x_j <= 0 for jobs that hold too many seats, and seats·time within each window.

        These rows are necessary; a schedule bounds the seats at each time.
        """
        too_many = [job for job, use in self.use.items() if use > self.capacity]
        for job in sorted(too_many, key=columns.instance.index.__getitem__):
            yield from columns.each_night(job, {job: 1.0}, upper=0.0)
        yield from columns.held(self.use, self.capacity)

    def violations(self, choice: Choice) -> Iterator[str]:
        """Yield the selected jobs that hold too many seats.

        The checkers of selections and of schedules judge what is held at a time.
        """
        for night, chosen in choice.by_night():
            for job in sorted(job for job, use in self.use.items() if use > self.capacity):
                if job in chosen:
                    yield f"{night}{job} holds more than there are"


class ResponseTime(Constraint, frozen=True, tag="response-time"):
    """Bound the mean response time of a class of multiserver jobs (msfq).

    Attributes
    ----------
    need : int
        The number of servers that each job of the class needs.
    at_most : float
        The largest mean response time, in the file's unit of time.
    """

    example: ClassVar = {"kind": "response-time", "name": "large jobs", "need": 32, "at_most": 60}

    need: Annotated[int, msgspec.Meta(ge=1)]
    at_most: Annotated[float, msgspec.Meta(gt=0)]

    def groups_named(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield the class, as the group of that need."""
        yield "need", "need", str(self.need)


def label(constraint: Constraint, position: int) -> str:
    """Return a constraint's name for messages: its own, else its kind and position."""
    return constraint.name or f"{constraint.kind()}[{position}]"


def check_rules(instance: Any, added: Sequence[Constraint] | None = None) -> None:
    """Check the names of side constraints, and the jobs and groups that they name.

    With ``added``, those are checked that are added to the constraints of the instance.
    """
    check_names([*instance.constraints, *(added or ())])
    if rules := instance.constraints if added is None else added:
        check_references(rules, instance.index, instance.groups)


def check_names(constraints: Sequence[Constraint]) -> None:
    """Raise `InputError` if two constraints would be reported by the same name."""
    labels = [label(constraint, i) for i, constraint in enumerate(constraints)]
    check_unique(labels, "constraints", "a name", "name")


def check_references(
    constraints: Iterable[Constraint],
    jobs: Mapping[str, int],
    groups: Mapping[str, Mapping[str, object]],
) -> None:
    """Raise `InputError` at the first reference to a job or a group that does not exist."""
    for i, constraint in enumerate(constraints):
        place = f"constraints[{i}]"
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
