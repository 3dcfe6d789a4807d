"""Executions of scientific workflows in WfCommons' WfFormat 1.5, turned into dssp instances.

A workflow becomes one job. Its directed acyclic graph of tasks is levelled into stages: a task's
level is the largest number of edges on a path from a source to it. Stages are at least as strict
as the graph, since each task waits for all of the level before, not for its parents alone. So the
job's critical path, the sum over levels of their longest task, is at least the workflow's own, the
longest path by runtimes; the instance's description tells by how much. (On 44 published executions:
2% in the median, nothing for 12 of them, up to 159% for long graphs of uneven tasks.) A task
occupies one processor, whatever core count is recorded for it, and waits between tasks are no part
of its runtime.
"""

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from math import fsum, isfinite
from pathlib import Path
from typing import Annotated, Any

import msgspec

from schedopt.instances.declarations import Name, NonNegative
from schedopt.instances.dssp.jobs import REWARDS, Job
from schedopt.instances.dssp.records import PROCESSORS, Instance
from schedopt.instances.errors import InputError, placed, shown
from schedopt.instances.files import read, stem
from schedopt.instances.naming import pick, refuse_twice
from schedopt.instances.options import complete, number, one_of, text

OPTIONS = {
    "name": text("a name"),
    "processors": PROCESSORS,
    "deadline": number(None, "a number of seconds above 0", lambda v: v > 0),
    "reward": one_of("size", REWARDS),
}
"""The options of `convert`; ``processors`` and ``deadline`` have no default."""
SPECIFIED, EXECUTED = "workflow.specification.tasks", "workflow.execution.tasks"


class _Task(msgspec.Struct, frozen=True):
    id: Name
    parents: tuple[str, ...] = ()
    children: tuple[str, ...] = ()


_Tasks = Annotated[tuple[_Task, ...], msgspec.Meta(min_length=1)]


class _Specification(msgspec.Struct, frozen=True):
    tasks: _Tasks


class _Ran(msgspec.Struct, frozen=True):
    id: Name
    runtime_in_seconds: NonNegative = msgspec.field(name="runtimeInSeconds")


class _Execution(msgspec.Struct, frozen=True):
    tasks: tuple[_Ran, ...]


class _Workflow(msgspec.Struct, frozen=True):
    specification: _Specification
    execution: _Execution


class _System(msgspec.Struct, frozen=True):
    name: Name | None = None


class _Document(msgspec.Struct, frozen=True):
    workflow: _Workflow
    name: Name | None = None
    runtime_system: _System | None = msgspec.field(name="runtimeSystem", default=None)


class Workflow(msgspec.Struct, frozen=True):
    """A checked workflow, its tasks by position."""

    name: str | None  # as the file gives it
    system: str | None  # the workflow system that ran it, such as ``Pegasus``
    runtimes: tuple[float, ...]  # of each task, in seconds
    parents: tuple[tuple[int, ...], ...]  # the predecessors of each task
    order: tuple[int, ...]  # the tasks, predecessors first


def convert(paths: str | Path | Iterable[str | Path], **options: Any) -> Instance:
    """Make one instance of all workflows (WfFormat files, perhaps gzipped), each a job; in seconds.

    A job is named after its file, and belongs to the groups ``workflow`` (the name that the file
    gives) and ``system`` (the workflow system), where the file has them. Rewards are made from the
    size, or from the position in the list of files.

    Raises
    ------
    InputError
        With the file, the place, what was found and what was expected.
    """
    values = complete(options, OPTIONS, "wfformat")
    for key in ("processors", "deadline"):
        if values[key] is None:
            raise InputError(f"option {key!r}, which a workflow cannot tell", place="option")
    files = [paths] if isinstance(paths, str | Path) else list(paths)
    if not files:
        raise InputError("one WfFormat file or more", found="none")
    names = _unique([stem(path, ".json") for path in files])
    workflows = [load(path) for path in files]
    jobs = []
    for rank, (path, own, workflow) in enumerate(zip(files, names, workflows, strict=True)):
        with placed(file=path):
            jobs.append(_job(own, workflow, float(rank), values["reward"]))
    several = f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]
    return Instance(
        name=values["name"] or several,
        description=_description(workflows),
        processors=values["processors"],
        deadline=float(values["deadline"]),
        jobs=tuple(jobs),
    )


def load(path: str | Path) -> Workflow:
    """Read one WfFormat file; `InputError` where its graph has a cycle, or something is missing."""
    document: _Document = read(path, _Document)
    with placed(file=path):
        tasks = document.workflow.specification.tasks
        ids = [task.id for task in tasks]
        refuse_twice(ids, SPECIFIED, "an id")
        at = {key: i for i, key in enumerate(ids)}
        parents = _parents(tasks, at)
        return Workflow(
            name=document.name,
            system=document.runtime_system.name if document.runtime_system else None,
            runtimes=_runtimes(document.workflow.execution, at),
            parents=parents,
            order=_order(parents, ids),
        )


def levelled(workflow: Workflow) -> tuple[tuple[float, ...], ...]:
    """Return the runtimes by level (seconds): stages in which every dependency is kept."""
    level = [0] * len(workflow.runtimes)
    for task in workflow.order:
        level[task] = max((level[parent] + 1 for parent in workflow.parents[task]), default=0)
    stages: list[list[float]] = [[] for _ in range(max(level) + 1)]
    for task, runtime in enumerate(workflow.runtimes):
        stages[level[task]].append(runtime)
    return tuple(map(tuple, stages))


def critical_path(workflow: Workflow) -> float:
    """Return the longest path of the workflow's own graph, by runtimes (seconds)."""
    done = [0.0] * len(workflow.runtimes)
    for task in workflow.order:
        start = max((done[parent] for parent in workflow.parents[task]), default=0.0)
        done[task] = start + workflow.runtimes[task]
    return max(done)


def lengthening(workflow: Workflow) -> float:
    """Return the fraction by which levelling lengthens the critical path."""
    own = critical_path(workflow)
    return max(0.0, sum(map(max, levelled(workflow))) / own - 1) if own > 0 else 0.0


def _description(workflows: Sequence[Workflow]) -> str:
    tasks = sum(len(workflow.runtimes) for workflow in workflows)
    most = max(map(lengthening, workflows))
    count = "1 workflow" if len(workflows) == 1 else f"{len(workflows)} workflows"
    return (
        f"{count} with {tasks} tasks, from WfFormat, in seconds; levelling into "
        f"stages lengthens their critical paths by {most:.1%} at most."
    )


def _job(name: str, workflow: Workflow, priority: float, reward: str) -> Job:
    groups = {"workflow": workflow.name, "system": workflow.system}
    if not isfinite(sum(workflow.runtimes)):
        raise InputError("runtimes whose sum is finite", found="an overflow")
    return Job(
        name=name,
        reward=REWARDS[reward](priority, fsum(workflow.runtimes)),
        priority=priority,
        groups={by: group for by, group in groups.items() if group is not None},
        stages=levelled(workflow),
    )


def _unique(names: Sequence[str]) -> list[str]:
    """Tell equal names apart by -2, -3, ..."""
    taken: dict[str, None] = {}
    for name in names:
        choice, k = name, 1
        while choice in taken or (k > 1 and choice in names):
            k += 1
            choice = f"{name}-{k}"
        taken[choice] = None
    return list(taken)


def _parents(tasks: _Tasks, ids: dict[str, int]) -> tuple[tuple[int, ...], ...]:
    """Return each task's predecessors, from what parents and children say together."""
    found: list[dict[int, None]] = [{} for _ in tasks]
    for i, task in enumerate(tasks):
        for field, others in (("parents", task.parents), ("children", task.children)):
            for k, other in enumerate(others):
                with placed(f"{SPECIFIED}[{i}].{field}[{k}]"):
                    pick(other, ids, "the id of a task")
                before, after = (ids[other], i) if field == "parents" else (i, ids[other])
                found[after][before] = None
    return tuple(map(tuple, found))


def _runtimes(execution: _Execution, ids: dict[str, int]) -> tuple[float, ...]:
    """Return each task's runtime."""
    refuse_twice([task.id for task in execution.tasks], EXECUTED, "an id", "id")
    ran: dict[str, float] = {}
    for k, task in enumerate(execution.tasks):
        with placed(f"{EXECUTED}[{k}].id"):
            pick(task.id, ids, "the id of a task that is specified")
        ran[task.id] = task.runtime_in_seconds
    for key, i in ids.items():
        if key not in ran:
            words = f"a runtime: `runtimeInSeconds` of this task in {EXECUTED}"
            raise InputError(words, found=f"none for {shown(key)}", place=f"{SPECIFIED}[{i}]")
    return tuple(ran[key] for key in ids)


def _order(parents: tuple[tuple[int, ...], ...], ids: Sequence[str]) -> tuple[int, ...]:
    """Order the tasks, predecessors first."""
    try:
        return tuple(TopologicalSorter(dict(enumerate(parents))).static_order())
    except CycleError as error:
        task = min(error.args[1])
        words, found = "no cycle of dependencies", f"one through {shown(ids[task])}"
        raise InputError(words, found=found, place=f"{SPECIFIED}[{task}]") from None
