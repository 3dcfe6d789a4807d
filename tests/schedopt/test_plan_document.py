"""The plan document: the night and its history in one file, and what reports become in it."""

import json
from pathlib import Path
from typing import Any

import pytest

import schedopt
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.planning.document import PlanInHand
from schedopt.planning.history import Event, NightState, as_events
from schedopt.planning.observed import Observed, observe


def two_jobs() -> Instance:
    jobs = (
        Job(name="a", reward=5, stages=((5.0,),)),
        Job(name="b", reward=4, stages=((1.0, 1.0), (2.0,))),
    )
    return Instance(name="two", processors=2, deadline=8, jobs=jobs)


def reported(*reports: Observed, now: float = 2.0) -> tuple[list[Event], list[str]]:
    plan = PlanInHand.of(schedopt.plan(two_jobs()).result)
    return observe(plan.night_state(), plan.tasks(), now, reports)


def test_plan_document_holds_the_night_and_an_empty_history(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    schedopt.plan(two_jobs()).write(file)
    document = json.loads(file.read_bytes())
    assert document["history"] == []
    assert document["night"]["jobs"][0]["name"] == "a"
    plan = PlanInHand.of(schedopt.load(file))
    assert plan.night == two_jobs()
    again = tmp_path / "again.json"
    schedopt.dump(schedopt.load(file), again)
    assert json.loads(again.read_bytes()) == document


def test_plan_document_of_another_night_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    schedopt.plan(two_jobs()).write(file)
    document = json.loads(file.read_bytes())
    document["night"]["deadline"] = 9
    file.write_text(json.dumps(document))
    with pytest.raises(InputError, match="another night"):
        PlanInHand.of(schedopt.load(file))


def test_task_that_should_have_ended_is_taken_to_end_now() -> None:
    events, notes = reported(Observed("b", 0, 0, status="running"))
    assert notes == ["b was expected to end at 1; it is assumed to end now"]
    assert [e.until for e in events if (e.job, e.task) == ("b", 0)] == [2.0]


def test_running_task_that_the_plan_has_not_started_is_taken_to_start_now() -> None:
    late = Observed("b", 1, 0, status="running", place="line 7")
    events, notes = reported(late, now=1.5)
    assert "assumed to be now" in notes[0]
    assert [e.at for e in events if e.stage == 1] == [1.5]
    events, notes = reported(late._replace(start=1.25), now=1.5)
    assert not notes
    assert [e.at for e in events if e.stage == 1] == [1.25]


@pytest.mark.parametrize(
    ("history", "says"),
    [
        ([{"kind": "waiting", "at": 1, "job": "z"}], "a job of the night"),
        ([{"kind": "paused", "at": 1}], "paused"),
        ([{"kind": "replanned", "at": 1, "by": "me"}], "by"),
        ([{"kind": "processors", "at": 1, "pool": "gpu", "count": 2}], "pools"),
    ],
)
def test_history_that_contradicts_the_night_is_refused(
    history: list[dict[str, Any]], says: str
) -> None:
    with pytest.raises(InputError, match=says) as caught:
        NightState.of(two_jobs(), as_events(history))
    assert "history[0]" in str(caught.value)
