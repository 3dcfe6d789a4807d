"""Construction of solution records from job positions and from start times."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import fsum, inf, nextafter
from types import MappingProxyType

import numpy as np
from msgspec import UNSET
from msgspec.structs import asdict, replace

from schedopt.instances.constraints import Constraint, FairShare, Seats
from schedopt.instances.decimals import as_written, split
from schedopt.instances.dssp import answers
from schedopt.instances.dssp.jobs import Job
from schedopt.instances.dssp.planned import FORGIVEN, Floats, Ints
from schedopt.instances.dssp.records import Instance


def selected(night: Instance, chosen: object, fill: float = 1.0) -> answers.Selected:
    """Return the record of a selection, given as positions or as a mask; shares are of r·P·D."""
    at = np.asarray(chosen)
    if at.dtype != np.bool_:
        at, positions = np.zeros(len(night.jobs), dtype=np.bool_), at.astype(np.intp)
        at[positions] = True
    picked = np.flatnonzero(at)
    names = tuple(night.names[j] for j in picked.tolist())
    demands, capacity = night.demands[picked], night.capacity(fill)
    shares: dict[str, dict[str, float]] = {}
    for by, (groups, codes) in night.codes.items():
        parts = (demands[own].tolist() for own in split(codes[picked], len(groups)))
        shares[by] = {g: fsum(part) / capacity for g, part in zip(groups, parts, strict=True)}
    return answers.Selected(
        selected=names,
        demand=fsum(demands.tolist()),
        capacity=capacity,
        shares=shares,
        objectives=UNSET if len(night.objectives) < 2 else worths(night, picked.tolist()),
    )


def worths(night: Instance, positions: Sequence[int]) -> tuple[float, ...]:
    """Return the total value of some jobs for each of the instance's objectives."""
    return tuple(fsum(night.worths(name)[positions]) for name in night.objectives)


def selected_nights(
    season: Instance, nights: Sequence[Sequence[int] | Ints], fill: float = 1.0
) -> answers.SelectedNights:
    """Return the record of a selection for each night, from the positions of its jobs."""
    every = (selected(season, np.asarray(night, np.int64), fill) for night in nights)
    return answers.SelectedNights(
        nights=tuple(
            answers.SelectedNight(selected=one.selected, demand=one.demand, shares=one.shares)
            for one in every
        ),
        capacity=season.capacity(fill),
    )


def scheduled(
    night: Instance,
    jobs: Iterable[int],
    starts: Floats,
    processors: Ints,
    fill: float = 1.0,
    *,
    several: Mapping[int, tuple[int, ...]] = MappingProxyType({}),
) -> answers.Scheduled:
    """Return the record of a schedule of some jobs, which all have stages.

    ``starts`` and ``processors`` have an entry for each task, also of other jobs; ``several`` has
    all processors of the tasks that take more than one. Shares are of r·P·D.
    """
    tasks, run = night.tasks, sorted(int(j) for j in jobs)
    begin, end = starts.tolist(), (starts + tasks.lengths).tolist()
    where = processors.tolist()
    placed: list[answers.PlacedTask] = []
    completion: dict[str, float] = {}
    for j in run:
        name, first = night.jobs[j].name, int(tasks.first_stage[j])
        for s in range(first, int(tasks.first_stage[j + 1])):
            first_task, after = int(tasks.first_task[s]), int(tasks.first_task[s + 1])
            placed += [
                answers.PlacedTask(
                    job=name,
                    stage=s - first,
                    task=i - first_task,
                    processor=where[i],
                    start=begin[i],
                    end=end[i],
                    processors=several.get(i, UNSET),
                )
                for i in range(first_task, after)
            ]
            completion[name] = max(end[first_task:after])
    base, deadline = selected(night, run, fill), night.deadline
    busy = fsum(
        (min(task.end, deadline) - min(task.start, deadline)) * len(task.on) for task in placed
    )
    return answers.Scheduled(
        **asdict(base),
        tasks=tuple(placed),
        completion=completion,
        makespan=max(completion.values(), default=0.0),
        utilization=busy / night.capacity(),
    )


def bounding(night: Instance) -> Instance:
    """Return the relaxed instance whose best selection (r = 1) bounds every schedule.

    All jobs that are processed between two times have a total actual demand of at most the
    processor time between them, and a critical path of at most that length. So predictions are
    replaced by the actual tasks, and deadlines by the last times that still earn a reward. If times
    have no common unit, the rounding tolerance of completions is added. Side constraints: see
    `bounding_rules`.
    """
    predicted = list(map(_is_predicted, night.jobs))
    forgiven = Fraction(1) if night.has_common_unit else FORGIVEN
    if not night.late and not any(predicted) and forgiven == 1:
        return night

    def last(deadline: float) -> float:
        exact = (as_written(deadline) + as_written(night.delay)) * forgiven
        near = float(exact)
        return near if as_written(near) >= exact else nextafter(near, inf)

    jobs = list(night.jobs)
    for j, job in enumerate(jobs):
        if job.deadline is not None:
            jobs[j] = replace(job, deadline=last(job.deadline))
        if predicted[j]:
            jobs[j] = replace(jobs[j], demand=None, critical_path=None)
    return replace(
        night,
        jobs=tuple(jobs),
        deadline=last(night.deadline),
        end=None if night.end is None else last(night.end),
        late=(),
        constraints=tuple(bounding_rules(night, night.constraints)),
    )


def bounding_rules(night: Instance, rules: Iterable[Constraint]) -> list[Constraint]:
    """Return the side constraints that the best selection of the relaxed instance has to satisfy.

    Constraints refer to planned demands and deadlines, so they remain valid where these are
    unchanged. Seats always do. If deadlines differ by the rounding tolerance only, all but minimum
    shares do.
    """
    if night.late or any(map(_is_predicted, night.jobs)):
        return [rule for rule in rules if isinstance(rule, Seats)]
    if night.has_common_unit:
        return list(rules)
    return [
        rule for rule in rules if not (isinstance(rule, FairShare) and (rule.at_least or rule.each))
    ]


def _is_predicted(job: Job) -> bool:
    return job.stages is not None and (job.demand, job.critical_path) != (None, None)
