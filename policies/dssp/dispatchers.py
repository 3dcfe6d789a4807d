"""The dispatchers: which runnable task an idle processor takes.

A dispatcher is a key, by job or by task: of all runnable tasks the one of the least key goes first,
and the file's order decides ties. Keys of jobs use what planning knows (predictions, where the file
has them); keys of tasks need task lengths, which only a clairvoyant has.

Source: Anderson et al., SPAA 2005, section 3.2, where
"over two dozen" were tried and six are named.
"""

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final

import numpy as np

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance, Scheduled
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.instances.errors import InputError
from schedopt.policies.dssp.dispatch import Played, play, schedule_of
from schedopt.policies.registry import NotApplicableError, Policy, register, returned, single_night

PAPER: Final = "Anderson et al., SPAA 2005, section 3.2"
Key = Callable[..., Floats]

KEYS: Final[dict[str, Key]] = {}
"""The key function of each dispatcher, by name."""

DRAWN: Final[set[str]] = set()
"""The dispatchers whose function takes ``(night, seed)`` and returns draws."""


def dispatcher(
    name: str, *, source: str, summary: str, random: bool = False
) -> Callable[[Key], Key]:
    """Register a function ``key(night) -> keys`` of jobs or tasks as a dispatcher.

    It returns a number for each job, shape (jobs,), or for each task, shape (tasks,): of what can
    run, the least goes first. ``core+name`` dispatches what a selector selects.

    Parameters
    ----------
    name, source, summary : str
        As in `Policy`.
    random : bool
        The function takes ``(night, seed)`` and returns draws, not keys: see `play`.
    """

    def decorate(key: Key) -> Key:
        def run(instance: Instance, *, seed: int = 0, after: Any = None) -> Scheduled:
            chosen = (job.name for job in instance.jobs) if after is None else after.selected
            jobs = positions(instance, list(chosen))
            fill = 1.0 if after is None else after.capacity / instance.capacity()
            return schedule_of(instance, jobs, simulated(instance, name, jobs, seed), fill)

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
    """Return where jobs stand in the file, in its order."""
    return np.array(sorted(night.index[name] for name in names), dtype=np.int64)


def simulated(night: Instance, name: str, jobs: Ints, seed: int = 0) -> Played:
    """Play a dispatcher by its name.

    Raises
    ------
    NotApplicableError
        If a job has no stages: nothing is known of its tasks.
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
        draws = returned(KEYS[name](night, seed), name, "task", float, tasks)
        return play(night, jobs, draws=draws)
    keys = returned(KEYS[name](night), name, "job, or each task", float, len(night.jobs), tasks)
    return play(night, jobs, keys=keys)


@dispatcher("random", source=PAPER, summary="a runnable task at random", random=True)
def random(night: Instance, seed: int) -> Floats:
    """Draw as many numbers in [0, 1) as there are tasks."""
    return np.random.default_rng(seed).random(len(night.tasks.lengths))


@dispatcher("first", source=PAPER, summary="the first job in the file with a runnable task")
def first(night: Instance) -> Floats:
    """Position in the file."""
    return np.arange(len(night.jobs), dtype=np.float64)


@dispatcher("priority", source=PAPER, summary="the job of highest priority (the lowest number)")
def priority(night: Instance) -> Floats:
    """priority(j); jobs that have none come last."""
    return np.array([inf if job.priority is None else job.priority for job in night.jobs])


@dispatcher("stcpu", source=PAPER, summary="the job of least total demand T_1")
def stcpu(night: Instance) -> Floats:
    """T_1(j)."""
    return night.demands


@dispatcher("lcpf", source=PAPER, summary="the job of longest critical path T_∞")
def lcpf(night: Instance) -> Floats:
    """-T_∞(j)."""
    return -night.critical_paths


@dispatcher("cpa", source=PAPER, summary="the task with the longest path from it to its job's end")
def cpa(night: Instance) -> Floats:
    """-(L_i + longest path through the later stages)."""
    tasks = night.tasks
    return -(tasks.lengths + tasks.following_paths[tasks.stage_of])


@dispatcher("ltcpu", source=PAPER, summary="the job of largest total demand T_1")
def ltcpu(night: Instance) -> Floats:
    """-T_1(j)."""
    return -night.demands


@dispatcher("scpf", source=PAPER, summary="the job of shortest critical path T_∞")
def scpf(night: Instance) -> Floats:
    """T_∞(j)."""
    return night.critical_paths


@dispatcher(
    "ltf",
    source="Graham, SIAM Journal on Applied Mathematics 17, 1969 (longest processing time first)",
    summary="the longest task",
)
def ltf(night: Instance) -> Floats:
    """-L_i."""
    return -night.tasks.lengths


@dispatcher(
    "stf",
    source="Smith, Naval Research Logistics Quarterly 3, 1956 (shortest processing time first)",
    summary="the shortest task",
)
def stf(night: Instance) -> Floats:
    """L_i."""
    return night.tasks.lengths


@dispatcher("spa", source="the opposite of cpa", summary="the task with the shortest path from it")
def spa(night: Instance) -> Floats:
    """L_i + longest path through the later stages."""
    tasks = night.tasks
    return tasks.lengths + tasks.following_paths[tasks.stage_of]


@dispatcher(
    "lrcp",
    source="between lcpf and cpa: of a job, and as it stands",
    summary="the job with the longest path from its present stage to its end",
)
def lrcp(night: Instance) -> Floats:
    """-(longest path from the start of the stage of i)."""
    tasks = night.tasks
    return -tasks.remaining_paths[tasks.stage_of]


@dispatcher(
    "widest", source="our own, for comparison", summary="the most parallel job: the largest T_1/T_∞"
)
def widest(night: Instance) -> Floats:
    """-T_1(j)/T_∞(j)."""
    return -_ratio(night.demands, night.critical_paths)


@dispatcher(
    "narrowest",
    source="the opposite of widest",
    summary="the least parallel job: least T_1/T_∞",
)
def narrowest(night: Instance) -> Floats:
    """T_1(j)/T_∞(j)."""
    return _ratio(night.demands, night.critical_paths)


@dispatcher("reward", source="our own, for comparison", summary="the most rewarding job")
def reward(night: Instance) -> Floats:
    """-R_j."""
    return -night.rewards


@dispatcher(
    "density",
    source="the greedy selector's order, as a dispatcher",
    summary="the job of most reward for its demand: the largest R/T_1",
)
def density(night: Instance) -> Floats:
    """-R_j/T_1(j)."""
    return -_ratio(night.rewards, night.demands)


@dispatcher(
    "edf",
    source="Jackson, Management Science Research Project 43, UCLA 1955 (earliest due date first)",
    summary="the job that is due first",
)
def edf(night: Instance) -> Floats:
    """d_j: the job's own deadline, else the file's."""
    return night.deadlines


@dispatcher(
    "least-slack",
    source="Mok, PhD thesis, MIT 1983 (least laxity first)",
    summary="the task with the least time to spare on the way from it to its job's deadline",
)
def least_slack(night: Instance) -> Floats:
    """d_j - (L_i + longest path through the later stages): the slack but for the common time t.

    So the order of tasks that wait is always that of their slack, d_j - t - L_i - ....
    """
    tasks = night.tasks
    return night.deadlines[tasks.job_of] - (tasks.lengths + tasks.following_paths[tasks.stage_of])


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return above/below; infinite for x/0, and 0 for 0/0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.nan_to_num(above / below, nan=0.0, posinf=np.inf)
