"""Records of a queue of multiserver jobs (msfq): servers, and classes of jobs or a log."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from math import fsum, inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

import msgspec
import numpy as np

from schedopt.instances.constraints import ResponseTime, check_rules
from schedopt.instances.declarations import CheckedRecord, Name
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, at_place, check_unique, expect, quote
from schedopt.instances.extras import require
from schedopt.instances.files import stem
from schedopt.instances.msfq.answers import Answer
from schedopt.instances.protocol import BaseInstance
from schedopt.instances.times import Dates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedopt.instances.msfq.answers import LogAnswer
    from schedopt.instances.msfq.logs import Jobs

Amount = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Servers = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
SideConstraint = ResponseTime
Rate = Annotated[float, msgspec.Meta(ge=1e-30, le=1e30)]  # so that ratios of rates stay accurate
PLAIN = re.compile(r"[/\\]")  # not allowed in the name of a log
MOST_SERVERS = 10**7
"""The most servers with classes: formulations and simulators have an entry for each server."""


class Exponential(CheckedRecord, kw_only=True, frozen=True, tag_field="kind", tag="exponential"):
    """Exponential sizes, which the paper analyses."""

    second_moment: ClassVar[float] = 2.0  # E[S²] for E[S] = 1

    def draw(self, random: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Return random sizes with mean 1, shape (count,)."""
        return random.exponential(size=count)


class Empirical(CheckedRecord, kw_only=True, frozen=True, tag_field="kind", tag="empirical"):
    """Sizes drawn from a list with equal probabilities, scaled to the mean of the class.

    Attributes
    ----------
    values : tuple of float
        Sizes above 0, in any unit.
    """

    values: Annotated[tuple[Rate, ...], msgspec.Meta(min_length=1)]

    def draw(self, random: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Return random sizes with mean 1, shape (count,)."""
        return random.choice(self.scaled, count)

    @property
    def scaled(self) -> NDArray[np.float64]:
        """The values at mean 1."""
        return np.asarray(np.array(self.values) / np.mean(self.values))

    @property
    def second_moment(self) -> float:
        """E[S²] for E[S] = 1."""
        return float(np.mean(self.scaled**2))


Shape = Exponential | Empirical


class JobClass(CheckedRecord, kw_only=True, omit_defaults=True):
    """The jobs of one server need.

    Attributes
    ----------
    need : int
        Servers that each job holds while it runs.
    arrival_rate : float
        λ, jobs per unit of time; arrivals are Poisson.
    service_rate : float
        μ: the mean size is 1/μ.
    sizes : Shape
        The distribution of sizes about their mean; by default exponential.
    """

    need: Annotated[int, msgspec.Meta(ge=1)]
    arrival_rate: Rate
    service_rate: Rate
    sizes: Shape = Exponential()

    @property
    def work(self) -> float:
        """j·λ_j/μ_j: the mean number of servers that the class keeps busy."""
        return self.need * self.arrival_rate / self.service_rate


class Partition(CheckedRecord, kw_only=True, omit_defaults=True):
    """A part of a machine that runs only the jobs of that partition.

    Attributes
    ----------
    servers : int
        Of the partition.
    resources : dict of str to int, optional
        Its capacity of other resources by name.
    """

    servers: Servers
    resources: dict[Name, Amount] = msgspec.field(default_factory=dict)


class Part(NamedTuple):
    """A separate machine of a log: a partition with jobs, or the whole machine.

    ``rows`` are its jobs in the log, shape (jobs,), and ``queue`` is the instance of these.
    """

    name: str
    rows: NDArray[np.intp]
    queue: Instance


class Instance(BaseInstance, kw_only=True, tag="msfq"):
    """Identical servers, and a stream of jobs that each hold several of them at the same time.

    Attributes
    ----------
    servers : int
        k, at least 1.
    objective : {"mean", "weighted"}
        E[T], or E[T^w], in which the weight of each class is its load (section 6.1).
    classes : tuple of JobClass, optional
        One for each server need; policies break ties in their order. Either these or a log.
    log : str, optional
        Single jobs in place of classes: the name of a table beside this file, in Parquet or CSV. It
        has a row for each job and the columns submit, need and run, and perhaps estimate, release
        (when the job can start, if later than its submit), start (when it started at the site),
        user, group, queue, partition, name, and ``need:NAME`` for each resource.
    log_digest : str, optional
        SHA-256 of that table: another table under its name is an error.
    start : str, optional
        The date of time 0 of a log in seconds: an ISO time with its zone, such as
        ``2026-11-22T20:00+01:00[Europe/Berlin]``.
    resources : dict of str to int, optional
        Of a log's machine: its capacity of other resources by name.
    partitions : dict of str to Partition, optional
        Of a log's machine: its disjoint parts, which together have all servers.
    constraints : tuple of Constraint
        Upper bounds on mean response times.
    """

    servers: Servers
    objective: Literal["mean", "weighted"] = "mean"
    classes: Annotated[tuple[JobClass, ...], msgspec.Meta(min_length=1)] = ()
    log: str | None = None
    log_digest: str | None = None
    start: str | None = None
    resources: dict[Name, Amount] = msgspec.field(default_factory=dict)
    partitions: dict[Name, Partition] = msgspec.field(default_factory=dict)
    constraints: tuple[SideConstraint, ...] = ()

    def __post_init__(self) -> None:
        if self.log is not None:
            from schedopt.instances.msfq.log_files import check_name

            check_name(self.log)
            if self.classes:
                raise InputError("classes or a log", found="both", place="log")
        elif not self.classes:
            raise InputError("a class or more, or a log", found="none", place="classes")
        elif self.servers > MOST_SERVERS:
            expected = f"at most {MOST_SERVERS}, with classes"
            raise InputError(expected, found=quote(self.servers), place="servers")
        if self.start is not None:
            self._check_log()
            with at_place("start"):
                Dates.of(self.start)
        self._check_parts()
        for i, job in enumerate(self.classes):
            expected = f"at most {self.servers}, all servers"
            expect(job.need <= self.servers, expected, job.need, f"classes[{i}].need")
        check_unique([job.need for job in self.classes], "classes", "a need", "need")
        if not fsum(job.work for job in self.classes) < inf:
            raise InputError("a finite load", found="an overflow", place="classes")
        if self.log is None:  # the needs of a log are known after reading
            check_rules(self)

    def _check_parts(self) -> None:
        """Raise `InputError` unless resources and partitions are those of one machine of a log."""
        parts = self.partitions.values()
        for key in ("resources", "partitions"):
            if getattr(self, key) and self.log is None:
                raise InputError(f"a log: only logs have {key}", found="classes", place=key)
        if any("servers" in of for of in (self.resources, *(p.resources for p in parts))):
            raise InputError("another name than servers", found="servers", place="resources")
        if not parts:
            return
        if self.resources:
            raise InputError("resources in each partition", found="both", place="resources")
        total = sum(part.servers for part in parts)
        expect(
            self.servers == total, f"{total}, the total of all partitions", self.servers, "servers"
        )

    def __reduce__(self) -> tuple[Callable[..., Instance], tuple[object, ...]]:
        """Pickle the instance with the jobs of its log, for other processes."""
        return _restore, (to_json(self), self.__dict__.get("jobs"))

    @cached_property
    def jobs(self) -> Jobs:
        """The jobs of the log; raise `InputError` if there is no log, or its table was not read."""
        self._check_log()
        raise InputError("a log that was read: load the instance from its file", place="log")

    def _check_log(self) -> None:
        if self.log is None:
            raise InputError("an instance of a log", found="an instance of classes", place="log")

    def with_jobs(self, jobs: Jobs) -> Instance:
        """Return the instance with the jobs of its log.

        `InputError` if there is no log, a job needs more than its machine has, or a side constraint
        names a need that no job has.
        """
        self._check_log()
        whole = msgspec.structs.replace(self)
        whole.__dict__["jobs"] = jobs
        for part in whole.parts():
            one, where = part.queue, f" of partition {part.name}" * bool(part.name)
            widest = int(one.jobs.need.max())
            expected = f"needs of at most {one.servers}, all servers{where}"
            expect(widest <= one.servers, expected, widest, "log")
            if one.jobs.needs is None:
                continue
            for (title, column), most in zip(
                one.jobs.needs.columns().items(), one.amounts, strict=True
            ):
                widest, at = int(column.max()), int(part.rows[column.argmax()])
                expected = f"{title} of at most {most}, all that there is{where} (row {at})"
                expect(widest <= most, expected, widest, "log")
        check_rules(whole)
        return whole

    def as_released(self) -> tuple[Instance, NDArray[np.intp]]:
        """Return the log as policies see it, with releases as submits, and the jobs' rows.

        Jobs are in the order in which they join the queue.
        """
        jobs, rows = self.jobs.as_released()
        return (self if jobs is self.jobs else self.with_jobs(jobs)), rows

    @property
    def amounts(self) -> tuple[int, ...]:
        """The capacity of each resource that the jobs' ``needs`` name, without partitions."""
        needs = self.jobs.needs
        return tuple(self.resources.get(name, 0) for name in needs.names) if needs else ()

    def expect_servers_alone(self, whose: str) -> None:
        """Raise `InputError`, which names ``whose``, if there are resources or partitions."""
        for key in ("resources", "partitions"):
            if names := getattr(self, key):
                raise InputError(f"servers alone for {whose}", found=", ".join(names), place=key)

    def parts(self) -> list[Part]:
        """Return each partition that has jobs as a separate machine, in the file's order.

        `InputError` if a job has an unknown partition, or needs an unknown resource.
        """
        jobs = self.jobs
        resources = set(self.resources).union(
            *(part.resources for part in self.partitions.values())
        )
        named = set(jobs.needs.names) if jobs.needs else set()
        for name in sorted(named ^ resources):
            expected = (
                f"a column 'need:{name}'" if name in resources else f"{quote(name)} in resources"
            )
            raise InputError(
                expected, found="none", place="log" if name in resources else "resources"
            )
        if not self.partitions:
            return [Part("", np.arange(len(jobs)), self)]
        if jobs.partition is None:
            raise InputError("a column 'partition'", found="none", place="log")
        names, codes = jobs.partition.names, jobs.partition.codes
        elsewhere = np.array([name not in self.partitions for name in names] + [True])[codes]
        if elsewhere.any():
            at = int(np.argmax(elsewhere))
            found = f"{int(elsewhere.sum())} jobs of none, the first in row {at}"
            if codes[at] >= 0:
                found += f", of {quote(names[codes[at]])}"
            expected = f"partitions of {', '.join(self.partitions)}"
            raise InputError(expected, found=found, place="column 'partition'")
        found_parts = []
        for name, part in self.partitions.items():
            rows = np.flatnonzero(codes == (names.index(name) if name in names else len(names)))
            if not len(rows):
                continue
            has = {resource: part.resources.get(resource, 0) for resource in sorted(resources)}
            one = msgspec.structs.replace(
                self, servers=part.servers, resources=has, partitions={}, constraints=()
            )
            one.__dict__["jobs"] = jobs.take(rows)
            found_parts.append(Part(name, rows, one))
        return found_parts

    def read_beside(self, file: str) -> Instance:
        """Return the instance with the jobs of its log, read from the table beside the file."""
        if self.log is None:
            return self
        require("polars", "log")
        from schedopt.instances.msfq.log_files import read_jobs

        path = Path(file).parent / self.log
        return self.with_jobs(read_jobs(path, self.servers, self.log_digest))

    def companion(self, file: str | Path) -> Path | None:
        """Return the path of the table that belongs to an instance file; None without a log."""
        if self.log is None:
            return None
        return Path(file).parent / f"{stem(file)}{self.log.removeprefix(stem(self.log))}"

    def write_beside(self, file: str | Path) -> Instance:
        """Write the jobs of a log beside an instance file; return the instance with their table."""
        if (path := self.companion(file)) is None:
            return self
        from schedopt.instances.msfq.log_files import write_jobs

        return msgspec.structs.replace(self, log=path.name, log_digest=write_jobs(self.jobs, path))

    def as_identified(self) -> Instance:
        """Return the instance in its identified form, independent of the name of its table."""
        if self.log is None:
            return self
        log = f"{PLAIN.sub('-', self.name)}{self.log.removeprefix(stem(self.log))}"
        return msgspec.structs.replace(self, log=log, log_digest=None)

    @cached_property
    def index(self) -> dict[str, int]:
        """Empty: no side constraint names a single job."""
        return {}

    @cached_property
    def groups(self) -> dict[str, dict[str, list[int]]]:
        """The classes by need; those of a log are the needs of its jobs."""
        if self.log is not None:
            labels = self.jobs.labels("need")
            return {"need": {name: [] for name in labels.names} if labels else {}}
        return {"need": {str(job.need): [i] for i, job in enumerate(self.classes)}}

    @property
    def arrival_rate(self) -> float:
        """λ of all classes together; of a log, its jobs but the first over its span."""
        if self.log is not None:
            return (len(self.jobs) - 1) / self.jobs.span if self.jobs.span else inf
        return fsum(job.arrival_rate for job in self.classes)

    @property
    def load(self) -> float:
        """Σ j·λ_j/(k·μ_j): no policy is stable unless it is below 1 (Theorem 2).

        Of a log: the work of all jobs, divided by servers times the time from the first submit to
        the last.
        """
        if self.log is not None:
            span = self.jobs.span
            return self.jobs.work / (self.servers * span) if span else inf
        return fsum(job.work for job in self.classes) / self.servers

    @property
    def one_or_all(self) -> tuple[int, int] | None:
        """The positions of the class of need 1 and of the class of need k, or None."""
        if self.servers < 2 or {job.need for job in self.classes} != {1, self.servers}:
            return None
        small = next(i for i, job in enumerate(self.classes) if job.need == 1)
        return small, 1 - small

    @property
    def memoryless(self) -> bool:
        """Whether all sizes are exponential."""
        return self.log is None and all(isinstance(job.sizes, Exponential) for job in self.classes)

    def weights(self, objective: str | None = None) -> tuple[float, ...]:
        """Return each class's weight in E[T] (mean: λ_j/λ) or E[T^w] (weighted: ρ_j/ρ)."""
        of = [
            job.arrival_rate if (objective or self.objective) == "mean" else job.work
            for job in self.classes
        ]
        total = fsum(of)
        return tuple(one / total for one in of)

    def scaled(self, rate: float) -> Instance:
        """Return the same mix of classes at another total arrival rate."""
        factor = rate / self.arrival_rate
        classes = tuple(
            msgspec.structs.replace(job, arrival_rate=job.arrival_rate * factor)
            for job in self.classes
        )
        return msgspec.structs.replace(self, classes=classes)

    def objective_of(self, solution: Answer | LogAnswer) -> float:
        """Return E[T] or E[T^w], the objective of the instance."""
        if self.objective == "mean":
            return solution.mean_response_time
        return solution.weighted_response_time


def _restore(data: bytes, jobs: Jobs | None) -> Instance:
    restored = msgspec.json.decode(data, type=Instance)
    return restored if jobs is None else restored.with_jobs(jobs)
