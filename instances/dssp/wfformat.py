"""Conversion of executions of scientific workflows (WfCommons' WfFormat 1.5) into dssp instances.

Each workflow becomes a job. Its directed acyclic graph of tasks is divided into stages by level:
the largest number of edges on a path from a source to the task. Stages are at least as strict as
the graph, because a task waits for all tasks of the level before, and not only for its parents. (On
44 published executions critical paths are longer by 2% in the median, by 159% at most.) A task
takes one processor, whatever number of cores is recorded, and waiting is not part of run times.
"""

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any

import msgspec

from schedopt.instances.declarations import Name, NonNegative
from schedopt.instances.dssp.jobs import Job
from schedopt.instances.dssp.records import PROCESSORS, Instance
from schedopt.instances.errors import InputError, at_place, check_unique, pick_name, quote
from schedopt.instances.files import read, stem
from schedopt.instances.options import complete, number, text

OPTIONS = {
    "name": text("a name"),
    "processors": PROCESSORS,
    "deadline": number(None, "a number of seconds above 0", lambda v: v > 0),
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


def convert(paths: str | Path | Iterable[str | Path], **options: Any) -> Instance:
    """Convert WfFormat files, possibly gzipped, into an instance with a job each; in seconds.

    Jobs are named after their files. Their groups are ``workflow``, the name in the file, and
    ``system``, the workflow system, where the file has them. The reward of a job is its size.

    `InputError` with the file, the place, what was found and what is expected.
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
    jobs = list[Job]()
    for rank, path in enumerate(files):
        document: _Document = read(path, _Document)
        named = {"workflow": document.name, "system": getattr(document.system, "name", None)}
        with at_place(file=path):
            stages = _stages_by_level(document.workflow)
            job = Job(
                name=stem(path, ".json"),
                reward=sum(map(sum, stages)),
                priority=float(rank),
                groups={by: name for by, name in named.items() if name},
                stages=stages,
            )
        jobs.append(job)
    count = "1 workflow" if len(jobs) == 1 else f"{len(jobs)} workflows"
    tasks = sum(len(stage) for job in jobs for stage in job.stages or ())
    several = f"{jobs[0].name} and {len(jobs) - 1} more" if len(jobs) > 1 else jobs[0].name
    return Instance(
        name=values["name"] or several,
        description=f"{count} with {tasks} tasks, from WfFormat, in seconds.",
        processors=values["processors"],
        deadline=float(values["deadline"]),
        jobs=tuple(jobs),
    )


def _stages_by_level(workflow: _Workflow) -> tuple[tuple[float, ...], ...]:
    """Return the run times by level, in seconds; every dependency is between different levels."""
    check_unique([task.id for task in workflow.specification.tasks], SPECIFIED, "an id")
    before: dict[str, set[str]] = {task.id: set() for task in workflow.specification.tasks}
    for i, task in enumerate(workflow.specification.tasks):
        with at_place(f"{SPECIFIED}[{i}]"):
            for other in (*task.parents, *task.children):
                pick_name(other, before, "the id of a task")
            before[task.id].update(task.parents)
            for child in task.children:
                before[child].add(task.id)
    ran = {task.id: task.runtime for task in workflow.execution.tasks}
    if missing := [name for name in before if name not in ran]:
        expected = f"`runtimeInSeconds` of each task in {EXECUTED}"
        raise InputError(expected, found=f"none for {quote(missing[0])}", place=EXECUTED)
    level: dict[str, int] = {}
    try:
        for name in TopologicalSorter(before).static_order():
            level[name] = max((level[parent] + 1 for parent in before[name]), default=0)
    except CycleError as error:
        found = f"one through {quote(error.args[1][0])}"
        raise InputError("no cycle of dependencies", found=found, place=SPECIFIED) from None
    stages: list[list[float]] = [[] for _ in range(max(level.values()) + 1)]
    for name in before:
        stages[level[name]].append(ran[name])
    return tuple(map(tuple, stages))
