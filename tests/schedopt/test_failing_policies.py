"""A policy that raises, exits or kills its process costs its own row, and nothing else."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from builders.cli import ROOT, run
from builders.refusals import raising

from schedopt.instances.dssp import Instance, Selected, selected
from schedopt.instances.errors import InputError
from schedopt.policies import registry
from schedopt.policies.registry import Policy
from schedopt.sweep import dask, measure, workers
from schedopt.sweep.measure import Begun, Done, Failed, Finished, Task, steps
from schedopt.sweep.plan import PlannedRun
from schedopt.sweep.rows import Row, read_rows
from schedopt.sweep.sources import FileSource, GeneratedSource
from schedopt.verbs.bench import BenchError, bench

SHOTS = ROOT / "instances" / "dssp" / "two-shots.json"


def raises(instance: Instance) -> Selected:
    raise ValueError("line\nafter line \x1b[31m" + "long " * 10_000)


def refuses(instance: Instance) -> Selected:
    raise InputError("another world", found="this one")


def exits(instance: Instance) -> Selected:
    if instance.name != "tiny":
        sys.exit("enough")
    return selected(instance, [])


def exits_when_warmed(instance: Instance) -> Selected:
    sys.exit(0)


def recurses(instance: Instance) -> Selected:
    return recurses(instance)


def quits(instance: Instance) -> Selected:
    if instance.name != "tiny":
        os._exit(0)
    return selected(instance, [])


def quits_when_warmed(instance: Instance) -> Selected:
    os._exit(0)


def hangs(instance: Instance) -> Selected:
    if instance.name != "tiny":
        os.kill(os.getpid(), signal.SIGSTOP)  # which no time limit of its own ends
    return selected(instance, [])


LOUD = [raises, refuses, exits, exits_when_warmed, recurses]
QUITTING = [quits, quits_when_warmed, hangs]
NAMES = [policy.__name__ for policy in LOUD + QUITTING]


def rig() -> None:
    for policy in LOUD + QUITTING:
        if policy.__name__ not in registry.registered("dssp"):
            registry.register(Policy(policy.__name__, "dssp", policy, "a test", "fails"))


@pytest.fixture(autouse=True)
def rigged() -> Iterator[None]:
    rig()
    yield
    for name in NAMES:
        del registry._POLICIES["dssp"][name]


@dataclass(frozen=True)
class Rigged(GeneratedSource):
    """An instance whose reading brings the policies into a worker's process."""

    def load(self) -> Any:
        rig()
        return super().load()


FEW = [Rigged("dssp", "uncorrelated", seed, {"jobs": 20}) for seed in (1, 2)]


def by_policy(rows: list[Row]) -> dict[str, Row]:
    return {row.policy: row for row in rows}


def sound(row: Row) -> bool:
    return row.termination == "completed" and row.gap is not None


def failed(row: Row) -> bool:
    said = str(row.message)
    return row.termination == "error" and row.objective is None and "\n" not in said


def test_in_this_process(tmp_path: Path) -> None:
    names = ["greedy", *(policy.__name__ for policy in LOUD), "core"]
    output = tmp_path / "rows.csv"
    rows = bench(generated=FEW, policies=names, output=output)
    assert [row.policy for row in rows] == names * 2
    for row in rows:
        assert sound(row) if row.policy in ("greedy", "core") else failed(row)
        assert row.reference is not None
    messages = {name: str(row.message) for name, row in by_policy(rows).items()}
    assert messages["raises"].startswith("ValueError: line\\nafter line \\x1b[31mlong")
    assert len(messages["raises"]) < 300
    assert messages["refuses"] == "found this one; expected another world"
    assert messages["exits"] == "SystemExit: enough"
    assert messages["exits_when_warmed"] == "SystemExit: 0"
    assert messages["recurses"].startswith("RecursionError")
    assert read_rows(output) == rows
    assert bench(generated=FEW, policies=names, output=output) == rows


def test_in_processes_that_die_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "MOST_STARTS", 1)  # each start takes seconds
    names = ["greedy", "exits", "quits", "quits_when_warmed", "core"]
    rows = bench(generated=FEW[:1], policies=names, jobs=2)
    assert [row.policy for row in rows] == names
    for row in rows:
        assert sound(row) if row.policy in ("greedy", "core") else failed(row)
    found = by_policy(rows)
    assert found["quits"].message == "the worker was killed on every attempt (3)"
    assert found["quits_when_warmed"].message == found["quits"].message
    assert found["exits"].message == "SystemExit: enough"


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_policy_that_hangs_is_ended_and_its_row_says_so(jobs: int) -> None:
    limits = {"time_limit": 4.0, "grace": 2.0}  # more than optima take on a loaded machine
    names = ["hangs", "greedy", "core"]
    hung, *others = bench(generated=FEW[:jobs], policies=names, jobs=jobs, **limits)
    assert (hung.termination, hung.objective, hung.gap) == ("time-limit", None, None)
    assert hung.message == "its process was ended after 6 s, the time limit and the grace"
    assert hung.seconds == 6.0
    assert all(sound(row) for row in others if row.policy != "hangs")


def test_the_command_line_says_so_and_writes_the_others(tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"
    done = run("bench", SHOTS, "--policy", "exits,greedy", "--output", output, status=1)
    assert "exits on two-shots: SystemExit: enough" in done.stderr
    assert [row.termination for row in read_rows(output)] == ["error", "completed"]


def task(*names: str, **more: Any) -> Task:
    source = FileSource(SHOTS)
    runs = tuple(PlannedRun(name, name, 0, {}) for name in names)
    return Task(source, source.digest(), runs, **more)


def test_each_step_is_told_before_it_is_taken() -> None:
    found = list(steps(task("greedy", "exits")))
    kinds = [type(step) for step in found]
    assert kinds == [Begun, Begun, Begun, Done, Begun, Begun, Done, Finished]
    warming = [step.warming for step in found if isinstance(step, Begun)]
    assert warming == [False, True, False, True, False]


def test_a_reference_that_raises_costs_no_policy(monkeypatch: pytest.MonkeyPatch) -> None:

    list(steps(task("greedy")))  # what is tried on something tiny beforehand is tried once
    monkeypatch.setattr("schedopt.sweep.measure.solve", raising(ZeroDivisionError("in the solver")))
    (row,) = [step.row for step in steps(task("greedy")) if isinstance(step, Done)]
    assert row.objective is not None
    assert (row.reference, row.gap, row.termination) == (None, None, "completed")
    assert row.message == "no reference: ZeroDivisionError: in the solver"


def test_what_an_instance_cannot_be_used_with_is_one_line_before_any_run() -> None:
    from schedopt.formulations.constraints import Require

    rule = Require(jobs=("nobody",))
    (failure,) = steps(task("greedy", constraints=(rule,)))
    assert isinstance(failure, Failed)
    assert "nobody" in failure.why
    with pytest.raises(BenchError) as caught:
        bench([SHOTS], generated=FEW, policies=["greedy"], constraints=[rule])
    assert caught.value.rows == []
    assert len(caught.value.failures) == 3


def test_rows_are_kept_where_the_instance_fails_later(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = measure._References.prepare

    def fails(self: Any, policy: Policy, options: Any) -> Any:
        if policy.name == "core":
            raise InputError("what core needs")
        return prepare(self, policy, options)

    monkeypatch.setattr(measure._References, "prepare", fails)
    with pytest.raises(BenchError) as caught:
        bench(SHOTS, policies=["greedy", "core"])
    assert [row.policy for row in caught.value.rows] == ["greedy"]
    (failure,) = caught.value.failures
    assert failure.endswith("two-shots.json: expected what core needs")


# --- a cluster that is lost ------------------------------------------------------------------


def losses() -> list[BaseException]:
    import asyncio
    from concurrent import futures

    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError

    return [
        FutureCancelledError("work-1", "scheduler-connection-lost"),
        futures.CancelledError(),
        asyncio.CancelledError(),
        CommClosedError("gone"),
        TimeoutError(),
    ]


@pytest.mark.parametrize("lost", losses(), ids=lambda lost: type(lost).__name__)
@pytest.mark.parametrize("where", ["_workforce", "_through"])
def test_every_way_to_lose_a_scheduler_is_one_line(
    lost: BaseException, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Client:
        def __init__(self, *_: object, **__: object) -> None:
            pass

        def __enter__(self) -> Client:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr("distributed.Client", Client)
    monkeypatch.setattr(dask, "_knock", lambda _: None)
    monkeypatch.setattr(dask, "_workforce", lambda _: 1)
    monkeypatch.setattr(dask, where, raising(lost))
    with pytest.raises(InputError, match="run again to go on") as caught:
        bench(generated=FEW, policies=["greedy"], cluster="tcp://127.0.0.1:1")
    assert "\n" not in str(caught.value)
