"""A cluster manager that carries out releases."""

from collections.abc import Mapping, Sequence

import numpy as np

from schedopt.instances.constraints import Constraint
from schedopt.instances.dssp import Instance, Job
from schedopt.planning.release import Release, Span, TaskKey, seats_of
from schedopt.policies.dssp.dispatch import simulate as dispatch


def simulate(
    night: Instance,
    given: Sequence[Release],
    lengths: Mapping[TaskKey, float] | None = None,
    rules: Sequence[Constraint] = (),
) -> dict[TaskKey, Span]:
    """Return the span of each task.

    A release is a job of one stage, the first has priority. The manager counts processors, so these
    are a resource of each pool.
    """
    known = lengths or {}
    keys = [[(one.job, one.stage, task) for task in one.tasks] for one in given]
    stages = [
        tuple(known.get(key, planned) for key, planned in zip(own, one.lengths, strict=True))
        for own, one in zip(keys, given, strict=True)
    ]
    jobs = tuple(
        Job(
            name=str(one.order),
            reward=1,
            stages=(stage,),
            release=one.begin,
            after=tuple(map(str, one.after)),
            max_processors=one.at_once,
            holds={**one.holds, f"processors {one.pool}": one.width},
        )
        for one, stage in zip(given, stages, strict=True)
    )
    seats = {name: rule.capacity for rule, name in seats_of(night, rules)}
    pools = {
        f"processors {name}": [
            (float(t), float(n)) for t, n in zip(there.times, there.amounts, strict=True)
        ]
        for name, there in night.machine.pools.items()
    }
    farm = Instance(
        name="manager",
        processors=sum(len(own) for own in night.machine.numbers.values()),
        deadline=night.deadline,
        jobs=jobs,
        resources={**night.resources, **seats, **pools},
    )
    order = np.arange(len(farm.tasks.lengths), dtype=float)
    starts = dispatch(farm, np.arange(len(jobs)), keys=order).starts.tolist()
    every = [key for own in keys for key in own]
    ends = [start + length for start, length in zip(starts, farm.tasks.lengths, strict=True)]
    return dict(zip(every, zip(starts, ends, strict=True), strict=True))
