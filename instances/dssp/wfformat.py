"""Conversion of executions of scientific workflows (WfCommons' WfFormat 1.5) into dssp instances.

Each workflow becomes a job. Its directed acyclic graph of tasks is divided into stages by level:
the largest number of edges on a path from a source to the task. Stages are at least as strict as
the graph, because a task waits for all tasks of the level before, and not only for its parents. (On
44 published executions critical paths are longer by 2% in the median, by 159% at most.) A task
takes one processor, whatever number of cores is recorded, and waiting is not part of run times.
"""

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from math import fsum, isfinite
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from schedopt.instances.declarations import Name, NonNegative
from schedopt.instances.dssp.jobs import REWARDS, Job
from schedopt.instances.dssp.records import PROCESSORS, Instance
from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.files import read, stem
from schedopt.instances.naming import check_unique, pick_name
from schedopt.instances.options import complete, number, one_of, text

OPTIONS = {
    "name": text("a name"),
    "processors": PROCESSORS,
    "deadline": number(None, "a number of seconds above 0", lambda v: v > 0),
    "reward": one_of("size", REWARDS),
}
"""The options of `convert`; ``processors`` and ``deadline`` have no default."""
SPECIFIED, EXECUTED = "workflow.specification.tasks", "workflow.execution.tasks"


class _Task(msgspec.Struct):
    id: Name
    parents: tuple[str, ...] = ()
    children: tuple[str, ...] = ()


class _Specification(msgspec.Struct):
    tasks: Annotated[tuple[_Task, ...], msgspec.Meta(min_length=1)]


class _Run(msgspec.Struct):
    id: Name
    runtime: NonNegative = msgspec.field(name="runtimeInSeconds")


class _Execution(msgspec.Struct):
    tasks: tuple[_Run, ...]


class _Workflow(msgspec.Struct):
    specification: _Specification
    execution: _Execution


class _System(msgspec.Struct):
    name: Name | None = None


class _Document(msgspec.Struct):
    workflow: _Workflow
    name: Name | None = None
    system: _System | None = msgspec.field(name="runtimeSystem", default=None)


class Workflow(NamedTuple):
    """A checked workflow, its tasks by position."""

    groups: dict[str, str]  # its name, and the workflow system that ran it, as the file gives them
    runtimes: tuple[float, ...]  # of each task, in seconds
    parents: tuple[tuple[int, ...], ...]  # the predecessors of each task
    order: tuple[int, ...]  # the tasks, predecessors first


def convert(paths: str | Path | Iterable[str | Path], **options: Any) -> Instance:
    """Convert WfFormat files, possibly gzipped, into an instance with a job each; in seconds.

    Jobs are named after their files. Their groups are ``workflow``, the name in the file, and
    ``system``, the workflow system, where the file has them. Rewards come from the size of the job,
    or from its position in the list of files.

    Raises
    ------
    InputError
        With the file, the place, what was found and what is expected.
    """
    values = complete(options, OPTIONS, "wfformat")
    for key in ("processors", "deadline"):
        if values[key] is None:
            raise InputError(
                f"option {key!r}, which a workflow file does not contain", place="option"
            )
    files = [paths] if isinstance(paths, str | Path) else list(paths)
    if not files:
        raise InputError("one WfFormat file or more", found="none")
    names = _unique([stem(path, ".json") for path in files])
    reward, jobs, tasks = REWARDS[values["reward"]], list[Job](), 0
    for rank, (path, own) in enumerate(zip(files, names, strict=True)):
        flow = load(path)
        tasks += len(flow.runtimes)
        with at_place(file=path):
            if not isfinite(sum(flow.runtimes)):
                raise InputError("runtimes whose sum is finite", found="an overflow")
            jobs.append(
                Job(
                    name=own,
                    reward=reward(float(rank), fsum(flow.runtimes)),
                    priority=float(rank),
                    groups=flow.groups,
                    stages=stages_by_level(flow),
                )
            )
    count = "1 workflow" if len(jobs) == 1 else f"{len(jobs)} workflows"
    several = f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]
    return Instance(
        name=values["name"] or several,
        description=f"{count} with {tasks} tasks, from WfFormat, in seconds.",
        processors=values["processors"],
        deadline=float(values["deadline"]),
        jobs=tuple(jobs),
    )


def load(path: str | Path) -> Workflow:
    """Read a WfFormat file; `InputError` if its graph has a cycle or something is missing."""
    document: _Document = read(path, _Document)
    with at_place(file=path):
        tasks = document.workflow.specification.tasks
        ids = [task.id for task in tasks]
        check_unique(ids, SPECIFIED, "an id")
        at = {key: i for i, key in enumerate(ids)}
        parents = _parents(tasks, at)
        try:
            order = tuple(TopologicalSorter(dict(enumerate(parents))).static_order())
        except CycleError as error:
            task = min(error.args[1])
            found, place = f"one through {quote(ids[task])}", f"{SPECIFIED}[{task}]"
            raise InputError("no cycle of dependencies", found=found, place=place) from None
        named = {"workflow": document.name, "system": getattr(document.system, "name", None)}
        groups = {by: name for by, name in named.items() if name}
        return Workflow(groups, _runtimes(document.workflow.execution, at), parents, order)


def stages_by_level(flow: Workflow) -> tuple[tuple[float, ...], ...]:
    """Return the run times by level, in seconds; every dependency is between different levels."""
    level = [0] * len(flow.runtimes)
    for task in flow.order:
        level[task] = max((level[parent] + 1 for parent in flow.parents[task]), default=0)
    stages: list[list[float]] = [[] for _ in range(max(level) + 1)]
    for task, runtime in enumerate(flow.runtimes):
        stages[level[task]].append(runtime)
    return tuple(map(tuple, stages))


def _unique(names: Sequence[str]) -> list[str]:
    """Return names where repeated ones get the suffix -2, -3, ..."""
    taken: dict[str, None] = {}
    for name in names:
        choice, k = name, 1
        while choice in taken or (k > 1 and choice in names):
            k += 1
            choice = f"{name}-{k}"
        taken[choice] = None
    return list(taken)


def _parents(tasks: Sequence[_Task], at: dict[str, int]) -> tuple[tuple[int, ...], ...]:
    """Return the predecessors of each task, from the parents and children in the file."""
    parents: list[dict[int, None]] = [{} for _ in tasks]
    for i, task in enumerate(tasks):
        for field, others in (("parents", task.parents), ("children", task.children)):
            for k, other in enumerate(others):
                with at_place(f"{SPECIFIED}[{i}].{field}[{k}]"):
                    pick_name(other, at, "the id of a task")
                before, after = (at[other], i) if field == "parents" else (i, at[other])
                parents[after][before] = None
    return tuple(map(tuple, parents))


def _runtimes(execution: _Execution, at: dict[str, int]) -> tuple[float, ...]:
    """Return the run time of each task."""
    check_unique([task.id for task in execution.tasks], EXECUTED, "an id", "id")
    for k, task in enumerate(execution.tasks):
        with at_place(f"{EXECUTED}[{k}].id"):
            pick_name(task.id, at, "the id of a task that is specified")
    ran = {task.id: task.runtime for task in execution.tasks}
    for key, i in at.items():
        if key not in ran:
            words = f"a runtime: `runtimeInSeconds` of this task in {EXECUTED}"
            raise InputError(words, found=f"none for {quote(key)}", place=f"{SPECIFIED}[{i}]")
    return tuple(ran[key] for key in at)
