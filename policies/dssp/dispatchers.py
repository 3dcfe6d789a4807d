"""Dispatchers: rules by which idle processors choose a runnable task.

A dispatcher is a key for each job or task. The runnable task with the smallest key starts first;
the file's order breaks ties. Keys of jobs use planned numbers, which are predictions where the file
has them. Keys of tasks need actual task lengths, which only a clairvoyant scheduler knows.

Source: Anderson et al., SPAA 2005, section 3.2, which tried "over two dozen" and names six.
"""

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final

import numpy as np

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance, Scheduled
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.instances.errors import InputError
from schedopt.policies.dssp.dispatch import Simulated, schedule_of, simulate
from schedopt.policies.registry import (
    NotApplicableError,
    Policy,
    as_array,
    register,
    single_night,
)

PAPER: Final = "Anderson et al., SPAA 2005, section 3.2"
Key = Callable[..., Floats]

KEYS: Final[dict[str, Key]] = {}
"""The key function of each dispatcher, by name."""

DRAWN: Final[set[str]] = set()
"""The dispatchers whose function takes ``(night, seed)`` and returns draws."""


def dispatcher(
    name: str, *, source: str, summary: str, random: bool = False
) -> Callable[[Key], Key]:
    """Register a function ``key(night) -> keys`` as a dispatcher.

    The function returns a number for each job, shape (jobs,), or for each task, shape (tasks,); the
    runnable task with the smallest number starts first. The policy ``core+name`` dispatches the
    jobs that the selector ``core`` selects.

    Parameters
    ----------
    name, source, summary : str
        As in `Policy`.
    random : bool
        Whether the function takes ``(night, seed)`` and returns random draws in place of keys: see
        `simulate`.
    """

    def decorate(key: Key) -> Key:
        def run(instance: Instance, *, seed: int = 0, after: Any = None) -> Scheduled:
            chosen = (job.name for job in instance.jobs) if after is None else after.selected
            jobs = positions(instance, list(chosen))
            fill = 1.0 if after is None else after.capacity / instance.capacity()
            return schedule_of(
                instance, jobs, simulate_dispatcher(instance, name, jobs, seed), fill
            )

        KEYS[name] = key
        if random:
            DRAWN.add(name)
        register(
            Policy(
                name=name,
                problem="dssp",
                run=run,
                source=source,
                summary=summary,
                random=random,
                phase="dispatch",
            )
        )
        return key

    return decorate


def positions(night: Instance, names: Sequence[str]) -> Ints:
    """Return the positions of jobs by name, in the file's order."""
    return np.array(sorted(night.index[name] for name in names), dtype=np.int64)


def simulate_dispatcher(night: Instance, name: str, jobs: Ints, seed: int = 0) -> Simulated:
    """Simulate a dispatcher given by its name.

    `NotApplicableError` if a job has no stages.
    """
    single_night(night.nights, name)
    try:
        night.tasks  # noqa: B018 - raises where a job has none
    except InputError as error:
        raise NotApplicableError(f"{name} needs the tasks of every job: {error}") from error
    tasks, seats = len(night.tasks.lengths), [r for r in night.constraints if isinstance(r, Seats)]
    more = {job for rule in seats for job, use in rule.use.items() if use > rule.capacity}
    if more:  # that no task of theirs may hold: not even those of no length are run
        jobs = jobs[[night.jobs[j].name not in more for j in jobs]]
    if name in DRAWN:
        draws = as_array(KEYS[name](night, seed), name, "task", float, tasks)
        return simulate(night, jobs, draws=draws)
    keys = as_array(KEYS[name](night), name, "job, or each task", float, len(night.jobs), tasks)
    return simulate(night, jobs, keys=keys)


@dispatcher("random", source=PAPER, summary="a runnable task at random", random=True)
def _random(night: Instance, seed: int) -> Floats:
    """Draw a number in [0, 1) for each task."""
    return np.random.default_rng(seed).random(len(night.tasks.lengths))


def _priorities(night: Instance) -> Floats:
    return np.array([inf if job.priority is None else job.priority for job in night.jobs])


def _path_from(night: Instance) -> Floats:
    """Return the length of each task plus the critical path of the later stages."""
    return night.tasks.lengths + night.tasks.following_paths[night.tasks.stage_of]


def _path_of_stage(night: Instance) -> Floats:
    return night.tasks.remaining_paths[night.tasks.stage_of]


def _slack(night: Instance) -> Floats:
    """Return d_j - (L_i + critical path of the later stages), the slack at time 0."""
    return night.deadlines[night.tasks.job_of] - _path_from(night)


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return above/below, with x/0 infinite and 0/0 zero."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.nan_to_num(above / below, nan=0.0, posinf=np.inf)


GRAHAM = "Graham, SIAM Journal on Applied Mathematics 17, 1969 (longest processing time first)"
SMITH = "Smith, Naval Research Logistics Quarterly 3, 1956 (shortest processing time first)"
JACKSON = "Jackson, Management Science Research Project 43, UCLA 1955 (earliest due date first)"
MOK = "Mok, PhD thesis, MIT 1983 (least laxity first)"
OURS = "our own, for comparison"
_TABLE: Final[tuple[tuple[str, Key, str, str], ...]] = (
    (
        "first",
        lambda night: np.arange(len(night.jobs), dtype=np.float64),
        PAPER,
        "the first job in the file with a runnable task",
    ),
    ("priority", _priorities, PAPER, "the job of highest priority (the lowest number)"),
    ("stcpu", lambda night: night.demands, PAPER, "the job of least total demand T_1"),
    ("lcpf", lambda night: -night.critical_paths, PAPER, "the job of longest critical path T_∞"),
    (
        "cpa",
        lambda night: -_path_from(night),
        PAPER,
        "the task with the longest path from it to its job's end",
    ),
    ("ltcpu", lambda night: -night.demands, PAPER, "the job of largest total demand T_1"),
    ("scpf", lambda night: night.critical_paths, PAPER, "the job of shortest critical path T_∞"),
    ("ltf", lambda night: -night.tasks.lengths, GRAHAM, "the longest task"),
    ("stf", lambda night: night.tasks.lengths, SMITH, "the shortest task"),
    ("spa", _path_from, "the opposite of cpa", "the task with the shortest path from it"),
    (
        "lrcp",
        lambda night: -_path_of_stage(night),
        "between lcpf and cpa: of a job, and as it stands",
        "the job with the longest path from its present stage to its end",
    ),
    (
        "widest",
        lambda night: -_ratio(night.demands, night.critical_paths),
        OURS,
        "the most parallel job: the largest T_1/T_∞",
    ),
    (
        "narrowest",
        lambda night: _ratio(night.demands, night.critical_paths),
        "the opposite of widest",
        "the least parallel job: least T_1/T_∞",
    ),
    ("reward", lambda night: -night.rewards, OURS, "the most rewarding job"),
    (
        "density",
        lambda night: -_ratio(night.rewards, night.demands),
        "the greedy selector's order, as a dispatcher",
        "the job of most reward for its demand: the largest R/T_1",
    ),
    ("edf", lambda night: night.deadlines, JACKSON, "the job that is due first"),
    (
        "least-slack",
        _slack,
        MOK,
        "the task with the least time to spare on the way from it to its job's deadline",
    ),
)
"""Name, key, source and summary of each dispatcher but the random one."""
for _name, _key, _source, _summary in _TABLE:
    dispatcher(_name, source=_source, summary=_summary)(_key)
