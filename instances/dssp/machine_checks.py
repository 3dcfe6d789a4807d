"""Validation of machines that change over time, and of what jobs need of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from schedopt.instances.decimals import as_written
from schedopt.instances.declarations import Count, NonNegative
from schedopt.instances.dssp.clock import dates_of
from schedopt.instances.dssp.machine import Down, Machine, Steps, in_order
from schedopt.instances.errors import InputError, at_place, check_unique, expect, pick_name, quote
from schedopt.instances.times import SPELLED

if TYPE_CHECKING:
    from schedopt.instances.dssp.jobs import Job

Profile = Annotated[tuple[tuple[NonNegative, NonNegative], ...], msgspec.Meta(min_length=1)]
"""Times, ascending, from which on there is so much; nothing before the first."""
Counts = Annotated[tuple[tuple[NonNegative, Count], ...], msgspec.Meta(min_length=1)]
"""Times, ascending from 0, with the number of processors from each on."""

OF_FILES = ("changes", "down", "resources", "pools", "end")
OF_JOBS: dict[str, Callable[[Job], object]] = {
    "after": attrgetter("after"),
    "max_processors": attrgetter("max_processors"),
    "holds": attrgetter("holds"),
    "processors": lambda job: job.processors > 1,
}
"""Keys beyond jobs on an unchanging machine, and how a job shows each."""
Instance = Any  # `records.Instance`, which asks for these checks
NAMES = {"changes": "capacity"}


def features_of(night: Instance) -> dict[str, str]:
    """Return an instance's features beyond jobs on a constant machine, with their places."""
    features = {NAMES.get(key, key): NAMES.get(key, key) for key in OF_FILES if getattr(night, key)}
    for key, used in OF_JOBS.items():
        if any(map(used, night.jobs)):
            j = next(j for j, job in enumerate(night.jobs) if used(job))
            features.setdefault(key, f"jobs[{j}].{key}")
    return features


def refuse_features(night: Instance, who: str, known: Collection[str] = ()) -> None:
    """Raise `InputError` if an instance uses a feature that ``who`` does not support."""
    for key, place in night.features.items():
        if key not in known:
            raise InputError(f"none: {who} does not support it", found=f"`{key}`", place=place)


def check_machine(night: Instance) -> None:
    """Raise `InputError` if the machine is inconsistent, or a job needs more than it has."""
    processors, pools = night.processors, night.pools
    if pools:
        what = "`pools` or `processors`, not both"
        expect(not processors, what, processors, "processors")
        expect(not night.changes, "`pools` or `capacity`, not both", night.changes, "capacity")
    else:
        expect(processors >= 1, "a number >= 1, or `pools`", processors, "processors")
    _check_times(night)
    if not night.features and not any(map(attrgetter("pools"), night.jobs)):
        return
    one = night.nights <= 1 or "after" not in night.features
    expect(one, "1 if jobs have predecessors (`after`)", night.nights, "nights")
    for n in {None, *(down.night for down in night.down if night.nights > 1)}:
        work = Machine.of(night, n).total.until(as_written(night.deadline))
        found, place = (night.down, "down") if night.down else (night.changes, "capacity")
        expect(work > 0, "at least one processor before the deadline", quote(found), place)
    for j, job in enumerate(night.jobs):
        try:
            _check_needs(night, job)
        except InputError as error:
            raise error.within(f"jobs[{j}]") from None
    cycle = in_order(night.jobs, night.index)[1]
    if cycle:
        names = " after ".join(night.jobs[j].name for j in cycle)
        raise InputError("no cycle", found=names, place=f"jobs[{cycle[0]}].after")


def _check_times(night: Instance) -> None:
    _ascending(night.changes, "capacity")
    for name, size in night.pools.items():
        if isinstance(size, tuple):
            _ascending(size, f"pools.{name}")
    for i, down in enumerate(night.down):
        with at_place(f"down[{i}]"):
            words = f"a time after {down.start:g}, the start"
            expect(down.start < down.end, words, down.end, "end")
            one = bool(down.numbers) != bool(down.processors)
            expect(one, "`processors` or `numbers`", [down.processors, down.numbers], "processors")
            if down.numbers:
                _check_numbers(night, down)
            elif down.pool is not None or night.pools:
                with at_place("pool"):
                    pick_name(down.pool or "", night.pools, "one of the file's `pools`")
            words = f"at most {night.nights}, the file's `nights`"
            expect((down.night or 1) <= night.nights, words, down.night, "night")
    for name, amounts in night.resources.items():
        if isinstance(amounts, tuple):
            _ascending(amounts, f"resources.{name}")
    with at_place("unit"):
        pick_name(night.unit, SPELLED, "a unit of time")
    if night.start is not None:
        with at_place("start"):
            dates = dates_of(night.start, night.unit)
        with at_place("deadline"):
            for end in (0.0, night.deadline, *(job.deadline or 0.0 for job in night.jobs)):
                dates.at(end)


def _check_numbers(night: Instance, down: Down) -> None:
    """Raise `InputError` if processors that are down do not exist in the machine."""
    expect(
        down.pool is None,
        "no pool, since processors are numbered through all pools",
        down.pool,
        "pool",
    )
    pools = night.pools.values() if night.pools else [night.changes]
    count = sum(int(Steps.of(size, night.processors).most) for size in pools)
    for i, number in enumerate(down.numbers):
        expect(number < count, f"a processor from 0 to {count - 1}", number, f"numbers[{i}]")


def _ascending(points: Sequence[tuple[float, float]], place: str) -> None:
    before = -1.0
    for i, (time, amount) in enumerate(points):
        expected = f"a time after {before:g}" if i else "a finite time >= 0"
        expect(before < time < inf, expected, time, f"{place}[{i}][0]")
        expect(amount < inf, "a finite amount >= 0", amount, f"{place}[{i}][1]")
        before = time


def _check_needs(night: Instance, job: Job) -> None:
    """Raise `InputError` if a job needs more than the machine has."""
    for key, declared, what in (
        ("after", night.index, "a job"),
        ("pools", night.pools, "one of the file's `pools`"),
    ):
        names = getattr(job, key) or ()
        for i, name in enumerate(names):
            with at_place(f"{key}[{i}]"):
                pick_name(name, declared, what)
        check_unique(names, key, "a name")
    machine = night.machine
    for name, amount in job.holds.items():
        with at_place(f"holds.{name}"):
            pick_name(name, night.resources, "one of the file's `resources`")
        most = machine.resources[name].most
        expected = f"at most {float(most):g}, all that there ever is"
        expect(amount <= most, expected, amount, f"holds.{name}")
    pools = night.pools or {"": night.changes}  # one night's `down` is not another's
    most = max(Steps.of(pools[name], night.processors).most for name in machine.of_job(job))
    expected = f"at most {float(most):g}, all that there ever are"
    expect(job.processors <= most, expected, job.processors, "processors")
    if job.max_processors is not None:
        expected = f"at least {job.processors}, what each task takes"
        enough = job.max_processors >= job.processors
        expect(enough, expected, job.max_processors, "max_processors")
