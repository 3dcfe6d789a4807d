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


def test_observe_takes_unreported_tasks_as_planned() -> None:
    events, notes = reported()
    assert not notes
    assert {(e.job, e.stage, e.task, e.at, e.until) for e in events} == {
        ("a", 0, 0, 0.0, 5.0),
        ("b", 0, 0, 0.0, 1.0),
        ("b", 0, 1, 1.0, 2.0),
    }


@pytest.mark.parametrize(
    ("report", "kinds"),
    [
        (Observed("a", status="failed"), ["started", "failed"]),
        (Observed("a", 0, 0, status="failed", end=1.0), ["started", "failed"]),
        (Observed("a", status="waiting"), []),
        (Observed("a", status="cancelled"), ["started", "cancelled"]),
        (Observed("a", status="done"), ["started"]),
    ],
)
def test_report_on_a_job_becomes_events(report: Observed, kinds: list[str]) -> None:
    events, _ = reported(report, Observed("b", status="waiting"))
    assert [type(event).__name__.lower() for event in events] == kinds


def test_reported_end_of_a_running_task_replaces_the_planned_one() -> None:
    (first, *_), _ = reported(Observed("a", status="running", end=7.0))
    assert first.until == 7.0


def test_task_that_should_have_ended_is_taken_to_end_now() -> None:
    events, notes = reported(Observed("b", 0, 0, status="running"))
    assert notes == ["b was expected to end at 1; it is assumed to end now"]
    assert [e.until for e in events if (e.job, e.task) == ("b", 0)] == [2.0]


@pytest.mark.parametrize(
    ("report", "says"),
    [
        (Observed("z", status="failed"), "a job of the night"),
        (Observed("a", status="broken"), "a status"),
        (Observed("a", 1, 0, status="done"), "a stage from 0 to 0"),
        (Observed("b", 0, 2, status="done"), "a task from 0 to 1"),
        (Observed("a", status="running", start=3.0), "a start up to"),
        (Observed("a", status="running", end=1.0), "the time of the state"),
        (Observed("a", status="done", end=3.0), "an end up to"),
    ],
)
def test_report_that_cannot_be_names_its_place(report: Observed, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        reported(report._replace(place="line 7"))
    assert caught.value.place.startswith("line 7")


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


def test_history_of_a_failed_job_keeps_its_use() -> None:
    plan = PlanInHand.of(schedopt.plan(two_jobs()).result)
    events, _ = observe(plan.night_state(), plan.tasks(), 2.0, [Observed("a", status="failed")])
    night_state = NightState.of(two_jobs(), events)
    assert not night_state.progress["a"].runs
    assert night_state.progress["a"].used(1) == 2.0
    assert night_state.progress["b"].used(1) == 2.0
