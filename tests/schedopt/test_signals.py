"""Signals end a verb once, and what is in hand is written: each is sent to this very process."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from builders.cli import run
from builders.refusals import raising

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


def test_stoppable_leaves_ignored_signals_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with stoppable(signal.SIGHUP):
            sent(signal.SIGHUP)
            assert not stopped()
    finally:
        signal.signal(signal.SIGHUP, before)
