"""Pictures of dssp: an instance's jobs, shares, on one night or several, and tasks as they run."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from schedopt.instances.constraints import FairShare
from schedopt.instances.dssp import Instance, Scheduled, Selected, SelectedNights
from schedopt.instances.dssp.clock import dates_of
from schedopt.pictures.style import (
    COLOURS,
    GREEN,
    PALE,
    RED,
    callers_axes,
    colours,
    keys,
    label,
    label_clock_times,
    names,
    panels,
    set_title,
    single_panel,
    time_unit,
    title,
)
from schedopt.problems.dssp.planning import has_several_nights
from schedopt.problems.dssp.to_tables import largest_groups
from schedopt.solvers.result import Result

GROUPS = 40  # groups of a grouping that are drawn; of more, those with the largest shares
ALL = "all jobs"  # what stands in place of groups where jobs have none
MANY = 2_000  # tasks from which on edges would hide them
THIN = 400  # parts of the night: a task that is shorter has an edge of its own colour
MOST_WINDOWS = 12  # most releases and deadlines that are drawn; more would hide the picture
DEADLINE: Any = {"color": "black", "linestyle": "--", "linewidth": 1.2}


def jobs(night: Instance) -> Figure:
    """Draw each job's critical path against its demand, by its first grouping."""
    figure, axes = single_panel((8, 5))
    unit, word = time_unit(night.deadline)
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
    if night.demands.size and night.demands.max() > 20 * night.demands.min() > 0:
        axes.set_xscale("log")
    axes.set_xlabel(_axis("demand", word and f"processor {word}"))
    axes.set_ylabel(_axis("critical path", word))
    total = night.demands.sum() / night.capacity()
    whole = "the night" if night.nights == 1 else f"{night.nights} nights"
    asked = f"{len(night.jobs)} jobs ask for {total / night.nights:.0%} of {whole}"
    axes.set_title(f"{label(night.name)}: {asked}")
    _legend(axes)
    return figure


def results(documents: Sequence[Result[Any]], night: Instance | None = None) -> Figure:
    """Draw schedules as they run where all results have one, else the shares of the capacity."""
    if all(isinstance(document.solution, Scheduled) for document in documents):
        return schedule(documents, night)
    return draw_shares(documents, night)


def draw_shares(documents: Sequence[Result[Any]], night: Instance | None = None) -> Figure:
    """Draw the shares of the capacity, by night where there are several."""
    if all(has_several_nights(document) for document in documents):
        return _shares_by_night(documents)
    return shares(documents, night)


def shares(documents: Sequence[Result[Selected]], night: Instance | None = None) -> Figure:
    """Draw the share of the capacity that each group gets in each selection, and asks for."""
    drawn = _panels(documents)
    look = colours(keys(documents))
    height = 0.25 + 0.15 * len(look)
    lines = sum(map(len, drawn.values()))
    size, heights = (8, 1.2 + 0.2 * len(look) + height * lines), [*map(len, drawn.values())]
    figure, grid = panels(size, len(drawn), height_ratios=heights)
    rows = grid[:, 0]
    for axes, (by, groups) in zip(rows, drawn.items(), strict=True):
        found = documents[0].solution
        if night is not None and found is not None and by in night.groups:
            asked = [night.demands[night.groups[by][g]].sum() / found.capacity for g in groups]
            axes.barh(range(len(groups)), asked, 0.9, color=PALE, label="asked for")
        for k, (document, (name, colour)) in enumerate(zip(documents, look.items(), strict=True)):
            at = np.arange(len(groups)) + (k - (len(look) - 1) / 2) * 0.8 / len(look)
            widths = [_share(document, by, group) for group in groups]
            axes.barh(at, widths, 0.8 / len(look), color=colour, label=label(name))
        _caps(axes, by, groups, documents, night)
        axes.set_yticks(range(len(groups)), [label(group) for group in groups])
        axes.invert_yaxis()
        axes.set_title(label(by), loc="left", fontsize=10)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    rows[-1].set_xlabel("share of the capacity")
    _legend(*rows)
    _entitle(figure, documents)
    return figure


def _shares_by_night(documents: Sequence[Result[SelectedNights]]) -> Figure:
    """Draw, for each result, the share of the capacity that each group has on each night."""
    solutions = [document.solution for document in documents if document.solution is not None]
    if len(solutions) < len(documents):
        raise ValueError("results without a solution are not drawn")
    by = next(iter(solutions[0].nights[0].shares), "")
    size, share = (8, 1 + 2.2 * len(documents)), {"sharex": True, "sharey": True}
    figure, grid = panels(size, len(documents), **share)
    rows = grid[:, 0]
    named = {group for found in solutions for group in largest_groups(found, by)}
    look = colours(sorted(named) if by else [ALL])
    for axes, found, name in zip(rows, solutions, keys(documents), strict=True):
        at = list(range(1, len(found.nights) + 1))
        base = [0.0] * len(at)
        for group, colour in look.items():
            heights = [
                night.shares[by].get(group, 0.0) if by else night.demand / room
                for night, room in zip(found.nights, found.capacities, strict=True)
            ]
            axes.bar(at, heights, bottom=base, color=colour, label=label(group), width=0.8)
            base = [low + height for low, height in zip(base, heights, strict=True)]
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.set_ylabel("share of the capacity")
        axes.set_title(label(name), loc="left", fontsize=10)
    rows[-1].set_xlabel("night")
    rows[-1].xaxis.get_major_locator().set_params(integer=True)
    _legend(rows[0])
    _entitle(figure, documents)
    return figure


def _entitle(figure: Figure, documents: Sequence[Result[Any]]) -> None:
    first = documents[0]
    what = title(first, "reward") if len(documents) == 1 else label(first.instance)
    set_title(figure, what)


def _panels(documents: Sequence[Result[Selected]]) -> dict[str, list[str]]:
    """Return the groups to draw of each grouping: of many, those with the largest shares."""
    found: dict[str, dict[str, float]] = {}
    for document in documents:
        for by, groups in document.solution.shares.items() if document.solution else ():
            most = found.setdefault(by, {})
            for group, share in groups.items():
                most[group] = max(share, most.get(group, 0.0))
    panels = {}
    for by, most in found.items():
        if most:
            largest = set(sorted(most, key=most.__getitem__)[-GROUPS:])
            panels[by] = [group for group in most if group in largest]
    return panels or {"": [ALL]}


def _share(document: Result[Selected], by: str, group: str) -> float:
    found = document.solution
    if found is None:
        return 0.0
    if group == ALL and not by:
        return found.demand / found.capacity
    return found.shares.get(by, {}).get(group, 0.0)


def _caps(
    axes: Axes,
    by: str,
    groups: Sequence[str],
    documents: Sequence[Result[Selected]],
    night: Instance | None,
) -> None:
    """Mark the caps and floors of fair shares of the capacity."""
    rules = [rule for document in documents for rule in document.constraints]
    for rule in [*rules, *(() if night is None else night.constraints)]:
        if not isinstance(rule, FairShare) or rule.by != by or rule.of != "capacity":
            continue
        if rule.remembers:  # then a bound is no share of tonight's capacity
            continue
        caps, floors = rule.caps(groups), rule.floors(groups)
        marks = ((caps, "at most", RED), (floors, "at least", GREEN))
        for bounds, what, colour in marks:
            places = [(groups.index(g), share) for g, share in bounds.items() if g in groups]
            for i, (at, share) in enumerate(places):
                ends = ([share, share], [at - 0.45, at + 0.45])
                axes.plot(*ends, color=colour, linewidth=2, label=None if i else what)


def schedule(documents: Sequence[Result[Selected]], night: Instance | None = None) -> Figure:
    """Draw schedules: their Gantt charts, completion profiles and processor releases."""
    count = len(documents)
    alone = callers_axes() is not None  # then of one schedule its tasks alone
    size = (9, 3.2 * count + 3.4)
    figure = panels(size, count)[0] if alone else Figure(size, layout="constrained")
    grid = figure.add_gridspec(count + 1, 2, height_ratios=[1.2] * count + [1])
    found = [d.solution for d in documents if isinstance(d.solution, Scheduled)]
    longest = max((solution.makespan for solution in found), default=1.0)
    unit, word = time_unit(night.deadline if night is not None else longest)
    who = names(documents)
    deadline = None if night is None else night.deadline / unit
    for i, document in enumerate(documents):
        axes = callers_axes() or figure.add_subplot(grid[i, :])
        _gantt(axes, document, night, unit)
        _time(axes, deadline, longest / unit, word, night)
        _windows(axes, night, unit)
        _machine(axes, night, unit)
        axes.set_title(title(document, "reward", who[i]), fontsize=10)
    if alone:
        return figure
    done, busy = figure.add_subplot(grid[count, 0]), figure.add_subplot(grid[count, 1])
    for k, document in enumerate(documents):
        ends = np.array([*found[k].completion.values()]) / unit
        _profile(done, ends, COLOURS[k % len(COLOURS)], who[k], rising=True)
        last = _releases(document) / unit
        _profile(busy, last, COLOURS[k % len(COLOURS)], who[k], rising=False)
    for axes, what in ((done, "jobs complete"), (busy, "processors not yet released")):
        _time(axes, deadline, longest / unit, word, night)
        axes.set_ylabel(what)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    if count > 1:
        done.legend(loc="upper left", frameon=False, fontsize=8)
    return figure


def _profile(axes: Axes, times: Any, colour: str, who: str, *, rising: bool) -> None:
    """Draw the fraction of times that have passed, or are still to come, at each time."""
    part = np.arange(len(times) + 1) / max(1, len(times))
    heights = part if rising else 1 - part
    steps = np.concatenate(([0.0], np.sort(times)))
    axes.step(steps, heights, where="post", color=colour, label=label(who))


def _gantt(axes: Axes, document: Any, night: Instance | None, unit: float) -> None:
    """Draw every task as a bar on its processor; very many are drawn as pixels, without edges."""
    placed = [(task, on) for task in document.solution.tasks for on in task.on]
    tasks = [task for task, _ in placed]
    labels = {task.job: task.job for task in tasks} if night is None else _labels(night)
    groups = list(dict.fromkeys(labels[name] for name in labels))
    colour = colours(groups)
    start = np.array([task.start for task in tasks]) / unit
    end = np.array([task.end for task in tasks]) / unit
    row = np.array([on for _, on in placed], dtype=float)
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
    faces = [colour[labels[task.job]] for task in tasks]
    thin = end - start < end.max(initial=0.0) / THIN  # of these a white edge would leave nothing
    edges = [face if few else "white" for face, few in zip(faces, thin, strict=True)]
    bars = PolyCollection(
        corners,
        facecolors=faces,
        edgecolors="none" if many else edges,
        linewidths=0 if many else 0.6,
        antialiased=not many,
        rasterized=many,
    )
    axes.add_collection(bars)
    axes.set_ylim(max(row.max(initial=0.0), 0.5) + 0.5, -0.5)
    axes.set_ylabel("processor")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    if len(groups) <= len(COLOURS):
        for group in groups:
            axes.bar(0, 0, color=colour[group], label=label(group))
        _legend(axes)


def _time(
    axes: Axes, deadline: float | None, longest: float, word: str, night: Instance | None
) -> None:
    axes.set_xlim(0, 1.02 * max(longest, deadline or 0.0, 1e-9))
    axes.set_xlabel(_axis("time", word))
    if deadline is not None:
        axes.axvline(deadline, **DEADLINE)
    if night is not None and night.start is not None:
        label_clock_times(axes, dates_of(night.start, night.unit), time_unit(night.deadline)[0])


def _windows(axes: Axes, night: Instance | None, unit: float) -> None:
    """Mark releases and deadlines of jobs' own, where there are few."""
    if night is None or not night.windowed:
        return
    own = set(night.deadlines[night.deadlines != night.deadline].tolist())
    for times, colour in ((set(night.releases.tolist()) - {0.0}, GREEN), (own, RED)):
        for time in sorted(times) if len(times) <= MOST_WINDOWS else ():
            axes.axvline(time / unit, color=colour, linestyle=":", linewidth=1.0)


def _machine(axes: Axes, night: Instance | None, unit: float) -> None:
    """Draw the processors by pool, where their number changes."""
    if night is None or not any((night.changes, night.end, night.down, night.pools)):
        return
    first = 0.0
    for steps in night.machine.pools.values():
        times = [float(time) / unit for time in steps.times]
        counts = [first + float(amount) - 0.5 for amount in steps.amounts]
        last = max(times[-1], axes.get_xlim()[1])
        look: Any = {"where": "post", "color": "black", "linewidth": 1.0}
        axes.step([*times, last], [*counts, counts[-1]], **look)
        first += float(steps.most)


def _releases(document: Any) -> Any:
    """Return the end of each busy processor's last task."""
    last: dict[int, float] = {}
    for task in document.solution.tasks:
        for on in task.on:
            last[on] = max(last.get(on, 0.0), task.end)
    return np.array(list(last.values()))


def _labels(night: Instance) -> Mapping[str, str]:
    """Return each job's group in the first grouping with few enough groups, or its name."""
    for by, groups in night.groups.items():
        if len(groups) <= len(COLOURS):
            return {job.name: job.groups.get(by, "none") for job in night.jobs}
    return {job.name: "jobs" if len(night.jobs) > len(COLOURS) else job.name for job in night.jobs}


def _axis(what: str, unit: str) -> str:
    return f"{what}, {unit}" if unit else what


def _legend(axes: Axes, *others: Axes) -> None:
    """Say beside the axes what their lines and colours mean, and those of others."""
    known: dict[str, Any] = {}
    for drawn in (axes, *others):
        handles, texts = drawn.get_legend_handles_labels()
        known |= dict(zip(texts, handles, strict=True))
    style: Any = {"frameon": False, "fontsize": 8, "bbox_to_anchor": (1.0, 0.5)}
    axes.legend(known.values(), known.keys(), loc="center left", **style)
