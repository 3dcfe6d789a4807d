"""Executions of scientific workflows in WfCommons' WfFormat, turned into dssp instances.

A workflow becomes one job. Its directed acyclic graph of tasks is levelled into stages: a task's
level is the largest number of edges on a path from a source to it. Stages are at least as strict
as the graph, since each task waits for all of the level before, not for its parents alone. So the
job's critical path, the sum over levels of their longest task, is at least the workflow's own, the
longest path by runtimes, and at most that times the number of levels; `lengthening` tells by how
much, and the instance's description tells the most. (On 44 published executions: 2% in the median,
nothing for 12 of them, up to 159% for long graphs of uneven tasks.) A task occupies one processor,
whatever core count is recorded for it, and waits between tasks are no part of its runtime.

Source: WfFormat 1.5, with tasks in ``workflow.specification`` and runtimes in
``workflow.execution``; 1.3 and 1.4, which have both in ``workflow.tasks``, are read too.
"""

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from math import fsum, isfinite
from pathlib import Path
from typing import Annotated

import msgspec

from schedopt.instances.declarations import Name, NonNegative
from schedopt.instances.dssp.jobs import REWARDS, Job
from schedopt.instances.dssp.records import PROCESSORS, Instance
from schedopt.instances.errors import InputError, placed, shown, suggestion
from schedopt.instances.files import read, stem
from schedopt.instances.naming import refuse_twice
from schedopt.instances.options import is_number, number, one_of, taking, text

OPTIONS = {
    "name": text("a name"),
    "processors": PROCESSORS,
    "deadline": number(None, "a number of seconds above 0", lambda v: v > 0),
    "reward": one_of("size", REWARDS),
}
"""The options of `convert`; ``processors`` and ``deadline`` have no default."""


class _Task(msgspec.Struct, frozen=True):
    """A task as it is listed, in any version of the format."""

    id: Name | None = None
    name: Name | None = None
    parents: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    runtime_in_seconds: NonNegative | None = msgspec.field(name="runtimeInSeconds", default=None)
    runtime: NonNegative | None = None


_Tasks = Annotated[tuple[_Task, ...], msgspec.Meta(min_length=1)]


class _Specification(msgspec.Struct, frozen=True):
    tasks: _Tasks


class _Ran(msgspec.Struct, frozen=True):
    id: Name
    runtime_in_seconds: NonNegative = msgspec.field(name="runtimeInSeconds")


class _Execution(msgspec.Struct, frozen=True):
    tasks: tuple[_Ran, ...]


class _Workflow(msgspec.Struct, frozen=True):
    specification: _Specification | None = None
    execution: _Execution | None = None
    tasks: _Tasks | None = None


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


@taking("wfformat", OPTIONS)
def convert(
    paths: str | Path | Iterable[str | Path],
    *,
    name: str | None = None,
    processors: int | None = None,
    deadline: float | None = None,
    reward: str = "size",
    priorities: Sequence[float] | None = None,
) -> Instance:
    """Make one instance of all workflows, each a job; in seconds.

    A job is named after its file, and belongs to the groups ``workflow`` (the name that the file
    gives) and ``system`` (the workflow system), where the file has them.

    Parameters
    ----------
    paths : path or iterable of paths
        WfFormat files (JSON, perhaps gzipped).
    name : str, optional
        The instance's name; if left out the file's, of several ``a and 2 more``.
    processors : int
        P. It has no default: a workflow does not know it.
    deadline : float
        D, in seconds. It has no default either.
    reward : {"size", "linear", "banded"}
        How rewards are made.
    priorities : sequence of float, optional
        Each file's priority; 0, 1, 2, ... in the order of the files if left out.

    Raises
    ------
    InputError
        With the file, the place, what was found and what was expected.
    """
    if processors is None or deadline is None:
        missing = "processors" if processors is None else "deadline"
        raise InputError(f"option {missing!r}, which a workflow cannot tell", place="option")
    files = [paths] if isinstance(paths, str | Path) else list(paths)
    if not files:
        raise InputError("one WfFormat file or more", found="none")
    ranks = range(len(files)) if priorities is None else list(priorities)
    if len(ranks) != len(files) or not all(map(is_number, ranks)):
        words = f"{len(files)} finite numbers, one for each file"
        raise InputError(words, found=shown(ranks), place="option priorities")
    names = _unique([stem(path, ".json") for path in files])
    workflows = [load(path) for path in files]
    jobs = []
    for path, own, workflow, rank in zip(files, names, workflows, ranks, strict=True):
        with placed(file=path):
            jobs.append(_job(own, workflow, float(rank), reward))
    return Instance(
        name=name or (names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"),
        description=_description(workflows),
        processors=processors,
        deadline=float(deadline),
        jobs=tuple(jobs),
    )


def load(path: str | Path) -> Workflow:
    """Read one WfFormat file; `InputError` where its graph has a cycle, or something is missing."""
    document: _Document = read(path, _Document)
    with placed(file=path):
        tasks, place = _listed(document.workflow)
        ids = _ids(tasks, place)
        parents = _parents(tasks, ids, place)
        return Workflow(
            name=document.name,
            system=document.runtime_system.name if document.runtime_system else None,
            runtimes=_runtimes(document.workflow, tasks, ids, place),
            parents=parents,
            order=_order(parents, list(ids), place),
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


def _listed(workflow: _Workflow) -> tuple[_Tasks, str]:
    """Return the tasks and their place, which differs between versions of the format."""
    if workflow.specification is not None:
        return workflow.specification.tasks, "workflow.specification.tasks"
    if workflow.tasks is not None:
        return workflow.tasks, "workflow.tasks"
    raise InputError("`specification` with `tasks` (before version 1.5: `tasks`)", place="workflow")


def _ids(tasks: _Tasks, place: str) -> dict[str, int]:
    """Return the position of each task by its id, which before version 1.5 may be its name."""
    ids = [task.id or task.name for task in tasks]
    named = [key for key in ids if key is not None]
    if len(named) < len(ids):
        raise InputError("a key 'id'", place=f"{place}[{ids.index(None)}]")
    refuse_twice(named, place, "an id")
    return {key: i for i, key in enumerate(named)}


def _parents(tasks: _Tasks, ids: dict[str, int], place: str) -> tuple[tuple[int, ...], ...]:
    """Return each task's predecessors, from what parents and children say together."""
    found: list[dict[int, None]] = [{} for _ in tasks]
    known = _references(tasks, ids)
    for i, task in enumerate(tasks):
        for field, others in (("parents", task.parents), ("children", task.children)):
            for k, other in enumerate(others):
                if other not in known:
                    words = "the id of a task" + suggestion(other, known)
                    where = f"{place}[{i}].{field}[{k}]"
                    raise InputError(words, found=shown(other), place=where)
                before, after = (known[other], i) if field == "parents" else (i, known[other])
                found[after][before] = None
    return tuple(map(tuple, found))


def _references(tasks: _Tasks, ids: dict[str, int]) -> dict[str, int]:
    """Return what a reference may say: an id or, as older versions do, a name of one task only."""
    names: dict[str, list[int]] = {}
    for i, task in enumerate(tasks):
        names.setdefault(task.name or "", []).append(i)
    return {name: at[0] for name, at in names.items() if name and len(at) == 1} | ids


def _runtimes(
    workflow: _Workflow, tasks: _Tasks, ids: dict[str, int], place: str
) -> tuple[float, ...]:
    """Return each task's runtime: from the execution, or before version 1.5 from the task."""
    ran: dict[str, float] = {}
    for k, task in enumerate(workflow.execution.tasks if workflow.execution else ()):
        where = f"workflow.execution.tasks[{k}].id"
        if task.id not in ids:
            words = "the id of a task that is specified" + suggestion(task.id, ids)
            raise InputError(words, found=shown(task.id), place=where)
        if task.id in ran:
            raise InputError("each task once", found=f"{shown(task.id)} twice", place=where)
        ran[task.id] = task.runtime_in_seconds
    runtimes = []
    for key, i in ids.items():
        told = (ran.get(key), tasks[i].runtime_in_seconds, tasks[i].runtime)
        runtime = next((seconds for seconds in told if seconds is not None), None)
        if runtime is None:
            words = "a runtime: `runtimeInSeconds` of this task in workflow.execution.tasks"
            raise InputError(words, found=f"none for {shown(key)}", place=f"{place}[{i}]")
        runtimes.append(runtime)
    return tuple(runtimes)


def _order(parents: tuple[tuple[int, ...], ...], ids: Sequence[str], place: str) -> tuple[int, ...]:
    """Order the tasks, predecessors first."""
    try:
        return tuple(TopologicalSorter(dict(enumerate(parents))).static_order())
    except CycleError as error:
        task = min(error.args[1])
        words, found = "no cycle of dependencies", f"one through {shown(ids[task])}"
        raise InputError(words, found=found, place=f"{place}[{task}]") from None
