"""Pictures of dssp: the jobs of an instance, the shares of a selection, a schedule as it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from instances.constraints import FairShare
from schedopt.pictures.style import BLUE, COLOURS, GREEN, PALE, RED, colours, label

MANY = 2_000
"""Tasks from which on edges would hide them."""

DEADLINE: Any = {"color": "black", "linestyle": "--", "linewidth": 1.2}


def jobs(night: Any) -> Figure:
    """Draw each job's critical path against its demand, by its first grouping."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    unit, word = _unit(night.deadline)
    labels = _labels(night)
    for group, colour in colours(dict.fromkeys(labels.values())).items():
        mine = [j for j, job in enumerate(night.jobs) if labels[job.name] == group]
        axes.scatter(
            night.demands[mine] / unit,
            night.critical_paths[mine] / unit,
            s=22,
            color=colour,
            alpha=0.8,
            label=label(group),
        )
    axes.axhline(night.deadline / unit, label="deadline", **DEADLINE)
    if night.demands.size and night.demands.min() > 0:
        axes.set_xscale("log")
    axes.set_xlabel(f"demand, processor {word}")
    axes.set_ylabel(f"critical path, {word}")
    total = night.demands.sum() / night.capacity()
    axes.set_title(f"{label(night.name)}: {len(night.jobs)} jobs ask for {total:.0%} of the night")
    _legend(axes)
    return figure


def selection(document: Any, night: Any | None = None) -> Figure:
    """Draw the share of the capacity that each group of a selection gets, and asks for."""
    shares = document.solution.shares or {"": {"all jobs": 0.0}}
    figure = Figure(figsize=(8, 1.2 + 0.4 * sum(map(len, shares.values()))), layout="constrained")
    rows = figure.subplots(len(shares), squeeze=False)[:, 0]
    for axes, (by, groups) in zip(rows, shares.items(), strict=True):
        names = list(groups)
        if night is not None and by in night.groups:
            capacity = document.solution.capacity
            asked = [night.demands[night.groups[by][name]].sum() / capacity for name in names]
            axes.barh(names, asked, color=PALE, label="asked for")
        axes.barh(names, [groups[name] for name in names], color=BLUE, label="selected")
        _caps(axes, by, names, document, night)
        axes.invert_yaxis()
        axes.set_yticks(range(len(names)), [label(name) for name in names])
        axes.set_title(label(by), loc="left", fontsize=10)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    rows[-1].set_xlabel("share of the capacity")
    rows[0].legend(loc="lower right", frameon=False)
    figure.suptitle(f"{label(document.instance)}: {_title(document)}")
    return figure


def _caps(axes: Any, by: str, names: list[str], document: Any, night: Any | None) -> None:
    """Mark the caps and floors of fair shares of the capacity."""
    rules = [*document.constraints, *(() if night is None else night.constraints)]
    for rule in rules:
        if not isinstance(rule, FairShare) or rule.by != by:
            continue
        for shares, colour in ((rule.at_most, RED), (rule.at_least, GREEN)):
            for name, share in shares.items():
                if name in names:
                    at = names.index(name)
                    axes.plot([share, share], [at - 0.45, at + 0.45], color=colour, linewidth=2)


def schedule(documents: Sequence[Any], night: Any | None = None) -> Figure:
    """Draw schedules: their Gantt charts, completion profiles and processor releases.

    Parameters
    ----------
    documents : sequence of Result
        Results with tasks, of one instance.
    night : Instance, optional
        The instance: tells the deadline and the groups.
    """
    count = len(documents)
    figure = Figure(figsize=(9, 3.2 * count + 3.4), layout="constrained")
    grid = figure.add_gridspec(count + 1, 2, height_ratios=[1.2] * count + [1])
    longest = max((d.solution.makespan for d in documents), default=1.0)
    unit, word = _unit(night.deadline if night is not None else longest)
    deadline = None if night is None else night.deadline / unit
    for i, document in enumerate(documents):
        axes = figure.add_subplot(grid[i, :])
        _gantt(axes, document, night, unit)
        _time(axes, deadline, longest / unit, word)
        axes.set_title(f"{label(document.instance)}: {_title(document)}", fontsize=10)
    done, busy = figure.add_subplot(grid[count, 0]), figure.add_subplot(grid[count, 1])
    for k, document in enumerate(documents):
        ends = np.array([*document.solution.completion.values()]) / unit
        _profile(done, ends, COLOURS[k % len(COLOURS)], _who(document), rising=True)
        last = _releases(document) / unit
        _profile(busy, last, COLOURS[k % len(COLOURS)], _who(document), rising=False)
    for axes, what in ((done, "jobs complete"), (busy, "processors not yet released")):
        _time(axes, deadline, longest / unit, word)
        axes.set_ylabel(what)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    if count > 1:
        done.legend(loc="upper left", frameon=False, fontsize=8)
    return figure


def _profile(axes: Any, times: Any, colour: str, who: str, *, rising: bool) -> None:
    """Draw which part of some things has happened, or has not, by each time."""
    part = np.arange(len(times) + 1) / max(1, len(times))
    heights = part if rising else 1 - part
    steps = np.concatenate(([0.0], np.sort(times)))
    axes.step(steps, heights, where="post", color=colour, label=label(who))


def _gantt(axes: Any, document: Any, night: Any | None, unit: float) -> None:
    """Draw every task as a bar on its processor; very many are drawn as pixels, without edges."""
    tasks = document.solution.tasks
    labels = {task.job: task.job for task in tasks} if night is None else _labels(night)
    groups = list(dict.fromkeys(labels[name] for name in labels))
    colour = colours(groups)
    start = np.array([task.start for task in tasks]) / unit
    end = np.array([task.end for task in tasks]) / unit
    row = np.array([task.processor for task in tasks], dtype=float)
    corners: Any = np.stack(
        [
            np.stack([start, row - 0.5], axis=-1),
            np.stack([end, row - 0.5], axis=-1),
            np.stack([end, row + 0.5], axis=-1),
            np.stack([start, row + 0.5], axis=-1),
        ],
        axis=1,
    )
    many = len(tasks) > MANY
    bars = PolyCollection(
        corners,
        facecolors=[colour[labels[task.job]] for task in tasks],
        edgecolors="none" if many else "white",
        linewidths=0 if many else 0.6,
        antialiased=not many,
        rasterized=many,
    )
    axes.add_collection(bars)
    axes.set_ylim(max(row.max(initial=0.0), 0.5) + 0.5, -0.5)
    axes.set_ylabel("processor")
    if len(groups) <= len(COLOURS):
        for group in groups:
            axes.bar(0, 0, color=colour[group], label=label(group))
        _legend(axes)


def _time(axes: Any, deadline: float | None, longest: float, word: str) -> None:
    axes.set_xlim(0, 1.02 * max(longest, deadline or 0.0, 1e-9))
    axes.set_xlabel(f"time, {word}")
    if deadline is not None:
        axes.axvline(deadline, **DEADLINE)


def _releases(document: Any) -> Any:
    """Return when each processor that works at all ends its last task."""
    last: dict[int, float] = {}
    for task in document.solution.tasks:
        last[task.processor] = max(last.get(task.processor, 0.0), task.end)
    return np.array(list(last.values()))


def _labels(night: Any) -> Mapping[str, str]:
    """Return each job's group in the first grouping with few enough groups, or its name."""
    for by, groups in night.groups.items():
        if len(groups) <= len(COLOURS):
            return {job.name: job.groups.get(by, "none") for job in night.jobs}
    return {job.name: "jobs" if len(night.jobs) > len(COLOURS) else job.name for job in night.jobs}


def _unit(scale: float) -> tuple[float, str]:
    """Return a unit of time in which a night reads well; files of the project use seconds."""
    return (3600.0, "hours") if scale >= 2 * 3600 else (1.0, "units")


def _who(document: Any) -> str:
    """Say what made a result, and under which side constraints beyond the instance's."""
    rules = [rule.name or rule.kind() for rule in document.constraints]
    return str(document.policy or document.formulation) + (f", {rules[0]}" if rules else "")


def _title(document: Any) -> str:
    what = f"{_who(document)}, reward {document.objective:,.6g}"
    return what + (" (proven optimal)" if document.proven else "")


def _legend(axes: Any) -> None:
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
