"""Signals end a verb once, and what is in hand is written: each is sent to this very process."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from builders.cli import run
from builders.refusals import raising

import schedopt
import schedopt.__main__ as command
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.instances.files import dump, example
from schedopt.solvers import portfolio
from schedopt.solvers.stopping import finishing, stoppable, stopped
from schedopt.verbs import evaluate, solve
from schedopt.verbs.generate import generate

STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
SIGNALS = pytest.mark.parametrize("number", STATUS)


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Let the signals act that whoever runs the tests may have turned off, as `nohup` does."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number in before:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def sent(number: int) -> None:
    """Send this process a signal, which is handled before this returns."""
    os.kill(os.getpid(), number)


def at(turn: int, number: int, of: Callable[..., Any], *, unseen: bool = False) -> Any:
    """Return a function that gets a signal at its turn; ``unseen``: and takes no notice of it."""
    turns = count(1)

    def interrupted(*args: Any, **words: Any) -> Any:
        if next(turns) == turn:
            try:
                sent(number)
            except KeyboardInterrupt:
                if not unseen:
                    raise
        return of(*args, **words)

    return interrupted


STAGES = {
    "confirm": "schedopt.solvers.portfolio.confirm",
    "certificate": "schedopt.solvers.portfolio.certificate",
    "explain": "schedopt.problems.dssp.DsspProblem.explain",
}
"""Functions of the stages after a solve."""


def test_solve_writes_what_it_has_and_begins_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hard = generate("dssp", "group-fair", seed=1)
    dump(hard, tmp_path / "hard.json")

    @contextmanager
    def looking(_: str, **__: object) -> Iterator[Callable[..., None]]:
        pending = [signal.SIGTERM]  # sent once: a second Ctrl-C would end the process at once

        def watch(_: float, best: float | None, __: float | None) -> None:
            if best is not None and pending:
                sent(pending.pop())

        yield watch

    monkeypatch.setattr("schedopt.cli.solving.live", looking)
    for stage in STAGES.values():
        monkeypatch.setattr(stage, raising(AssertionError("it began something more")))
    words = ["--confirm", "--certificate", "--explain", "--output", tmp_path / "r.json"]
    run("solve", tmp_path / "hard.json", "--solver", "highs", *words, status=143)
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["termination"] == "interrupted"
    assert 0 < document["objective"] <= document["bound"]
    assert document["checked"]
    assert document["violations"] == []
    assert "before the end of: confirm, certify, explain" in document["message"]


@pytest.mark.parametrize("stage", STAGES)
def test_solve_keeps_its_result_when_a_later_stage_is_interrupted(stage: str) -> None:
    with pytest.MonkeyPatch.context() as on, stoppable(signal.SIGTERM) as stop:
        on.setattr(STAGES[stage], at(1, signal.SIGTERM, lambda *_: None))
        result = solve.solve(example("two-shots"), **{stage: True})
        assert stop.signal == signal.SIGTERM
    assert result.proven
    assert result.checked
    assert "interrupted" in str(result.message)


def test_solve_with_an_interrupted_check_is_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = at(1, signal.SIGINT, lambda *_: None)
    monkeypatch.setattr("schedopt.validation.documents.check", checks)
    result = solve.solve(example("two-shots"))
    assert result.solution is not None
    assert not result.checked
    assert "not checked: interrupted" in str(result.message)


@SIGNALS
def test_evaluate_writes_finished_policies_when_interrupted(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(evaluate, "now", at(5, number, evaluate.now))  # as the second begins
    words = ["--policy", "greedy,core,maxk", "--json"]
    told = json.loads(run("evaluate", "example:night", *words, status=STATUS[number]).stdout)
    ended = [(document["policy"], document["termination"]) for document in told]
    assert ended == [("greedy", "completed"), ("core", "interrupted")]
    assert told[0]["objective"] > 0


@pytest.mark.parametrize("unseen", [False, True])
def test_whatif_resumes_after_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unseen: bool
) -> None:
    rows = tmp_path / "rows.jsonl"
    words = ["whatif", "example:two-shots", "--vary", "processors=1,2,3", "--output", rows]
    with monkeypatch.context() as on:
        on.setattr(portfolio, "solve", at(2, signal.SIGHUP, portfolio.solve, unseen=unseen))
        said = run(*words, status=129)
    assert f"{rows.name} keeps the finished rows" in said.stderr
    assert "processors" in said.stdout, "what is done is shown"
    assert rows.read_bytes().count(b"\n") == 1
    run(*words)
    kept = [json.loads(line) for line in rows.read_bytes().splitlines()]
    assert [row["values"]["processors"] for row in kept] == [1, 2, 3]
    assert {row["termination"] for row in kept} == {"optimal"}


def test_replan_writes_the_plan_in_hand_and_solves_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, state = (tmp_path / name for name in ("old.json", "new.csv", "state.csv"))
    jobs = tuple(Job(name=name, reward=10.0, stages=((4.0,),)) for name in "ab")
    schedopt.plan(Instance(name="n", processors=2, deadline=5, jobs=jobs)).write(old)
    state.write_text("job,status\na,failed\n")
    words = ["replan", old, "--at", 1, "--state", state, "--output", new]
    solves = count(1)

    def counted(*args: Any, **how: Any) -> Any:
        if next(solves) == 1:
            with suppress(KeyboardInterrupt):
                sent(signal.SIGHUP)
        return solve.solve(*args, **how)

    monkeypatch.setattr("schedopt.verbs.replan.solve", counted)
    run(*words, status=129)
    assert next(solves) == 2
    assert new.read_text().startswith("job,run")
    new.unlink()
    monkeypatch.undo()
    assert "1 kept" in run(*words).stdout


def test_ready_prints_nothing_when_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "ready.csv"
    table.write_text("name,priority,cores\na,1,1\nb,2,1\n")
    words = ["ready", table, "--capacity", "cores=1", "--order", "priority", "--json"]
    interrupted = at(1, signal.SIGINT, lambda *_: None)
    monkeypatch.setattr("schedopt.verbs.ready.best_in_order", interrupted)
    said = run(*words, status=130)
    assert (said.stdout, said.stderr) == ("", "schedopt: interrupted\n")


def test_stoppable_finishes_writing_before_it_stops() -> None:
    with stoppable(signal.SIGINT, signal.SIGTERM) as stop:
        with finishing():
            sent(signal.SIGTERM)
        sent(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            sent(signal.SIGINT)
        with stoppable() as inner:
            assert inner is stop
        assert stop.signal == signal.SIGTERM
        assert stopped()
    assert not stopped()


@pytest.mark.parametrize("raised", [SystemExit(0), InputError("x"), None])
def test_signal_after_the_end_of_a_command_is_no_traceback(
    raised: BaseException | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes while the last message is printed, or after it."""

    def run() -> None:
        try:
            if raised is not None:
                raise raised
        finally:
            with finishing():
                sent(signal.SIGTERM)

    monkeypatch.setattr(command, "_run", run)
    monkeypatch.setattr("builtins.print", at(1, signal.SIGINT, print))
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 143


def test_stoppable_leaves_ignored_signals_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with stoppable(signal.SIGHUP):
            sent(signal.SIGHUP)
            assert not stopped()
    finally:
        signal.signal(signal.SIGHUP, before)
