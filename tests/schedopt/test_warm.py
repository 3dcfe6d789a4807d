"""`schedopt warm`: it reaches every formulation, example, generator and policy of a problem."""

from __future__ import annotations

import pytest

from schedopt.problems import problem
from schedopt.verbs import warm as verb


def test_it_says_how_many_runs_there_were(monkeypatch: pytest.MonkeyPatch) -> None:
    epoch = problem("epoch")
    policies, told = dict(epoch.policies()), []
    monkeypatch.setattr(verb, "problems", lambda: [epoch])
    monkeypatch.setattr(verb, "SECONDS", 0.05)
    monkeypatch.setattr(type(epoch), "generators", lambda _: {})
    (found,) = verb.warm(lambda done, total: told.append((done, total)))
    assert found.problem == "epoch"
    assert found.seconds >= 0
    assert found.runs >= len(policies) + len(epoch.formulation_homes) + 6
    assert told[-1] == (found.runs, found.runs)
