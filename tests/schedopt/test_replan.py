"""Replanning: what is planned of the rest of a night is the best that can still be done."""

from pathlib import Path
from random import Random
from typing import Any

import msgspec
import polars as pl
import pytest
from builders.cli import refused, run
from builders.dssp_remaining import HORIZON, Facts, best, some_night
from builders.effort import examples

import schedopt
from schedopt.instances.constraints import AtLeast, FairShare
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.planning.plan_rows import dispatch_result
from schedopt.problems.summary import Replanned
from schedopt.verbs import plan_table as plans
from schedopt.verbs.replan import replan


def cases(count: int, seed: int) -> list[Any]:
    return [pytest.param(seed + i, id=str(seed + i)) for i in range(examples(count))]


@pytest.mark.parametrize("seed", cases(60, 0))
def test_the_rest_of_a_small_night_is_the_best_there_is(seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    night = some_night(draw)
    plan = schedopt.solve(night, formulation="schedule")
    facts = Facts(draw, night, plan.solution.tasks)
    if not any(facts.left(p, t) for p in facts.there for t in range(facts.now, HORIZON)):
        with pytest.raises(InputError, match="comes free"):
            replan(plan, at=facts.now, state=facts.state(), instance=night)
        return
    made = replan(plan, at=facts.now, state=facts.state(), formulation="schedule", instance=night)
    was = {*plan.solution.selected} - {job.name for job in night.jobs if facts.over(job.name)}
    found = best(facts, was)
    if found is None:
        assert any("cannot be kept" in note for note in made.notes) or made.plan is None
        return
    reward, kept = found
    assert made.result.objective == pytest.approx(reward), made.notes
    runs = (
        {row["job"] for row in made.plan.to_dicts() if row["run"]}
        if made.plan is not None
        else set()
    )
    assert len(was & runs) == kept
    assert not made.result.violations
    assert schedopt.check(made.rest, made.result).whole
    _holds(night, made, facts)
    choice = replan(plan, at=facts.now, state=facts.state(), instance=night).result
    assert choice.objective >= reward - 1e-9  # a selection asks for less
    assert not choice.violations


WHAT = ("job", "run", "reward", "processors", "start", "end", "late", "rank", "begun")


@pytest.mark.parametrize("part", range(4))
def test_what_was_replanned_stays_where_nothing_is_new(part: int, tmp_path: Path) -> None:
    count = 0
    for seed in range(part, examples(400), 4):
        draw = Random(seed)  # noqa: S311
        night, kind = some_night(draw), "schedule" if seed % 16 == part else "selection"
        plan = schedopt.solve(night, formulation=kind)
        facts = Facts(draw, night, dispatch_result(night, plan).solution.tasks)
        how: Any = {"at": facts.now, "formulation": kind, "stay": draw.choice((0.0, 0.0, 0.2))}
        try:
            made = replan(plan, state=facts.state(), instance=night, **how)
        except InputError:  # all is at work, or a late job runs, which the plan does not
            continue
        if made.plan is None:
            continue
        count += 1
        for again in (replan(made, **how), replan(made, state=facts.state(), **how)):
            assert {change.change for change in again.changes} <= {"kept"}, seed
            assert again.plan[WHAT].equals(made.plan[WHAT]), seed
            assert again.result.objective == made.result.objective
        if seed // 4 % 20 == 0 and not how["stay"]:
            _stays_on_the_command_line(night, made, facts, kind, tmp_path)
    assert count > examples(400) / 6


def _stays_on_the_command_line(
    night: Instance, made: Replanned, facts: Facts, kind: str, folder: Path
) -> None:
    """From a result beside the rest of its night, and from a table with the same state."""
    schedopt.dump(made.result, folder / "new.json")
    schedopt.dump(made.rest, folder / "rest.json")
    schedopt.dump(night, folder / "night.json")
    plans.write(made.plan, folder / "new.csv")
    words = ["--at", facts.now, "--formulation", kind, "--json"]
    said = [run("replan", folder / "new.json", *words)]
    if (state := facts.state()) is not None:
        plans.write_bytes(folder / "state.csv", state.write_csv().encode())
        words += ["--state", folder / "state.csv"]
    said.append(run("replan", folder / "new.csv", "--instance", folder / "night.json", *words))
    for document in map(msgspec.json.decode, (each.stdout for each in said)):
        assert document["objective"] == pytest.approx(made.result.objective)


def test_what_a_dropped_job_runs_still_holds_its_processors(tmp_path: Path) -> None:
    stages = (((2,), (2, 2)), ((3,), (2,)), ((1, 1),), ((1, 3),))
    jobs = tuple(
        Job(name=f"j{n}", reward=reward, stages=each)
        for n, (reward, each) in enumerate(zip((5, 3, 1, 3), stages, strict=True))
    )
    night = Instance(name="n598", processors=3, deadline=5, jobs=jobs)
    plan = schedopt.solve(night, formulation="schedule")
    how: Any = {"at": 1, "formulation": "schedule"}
    made = replan(plan, state=state("j0,failed"), instance=night, **how)
    (dropped,) = (change.job for change in made.changes if change.change == "dropped")
    again = replan(made, **how)
    table = replan(made.plan, state=state("j0,failed"), instance=night, **how)
    assert [each.result.objective for each in (made, again, table)] == [8, 8, 8]
    later = replan(again, at=2, state=state(f"{dropped},failed"), formulation="schedule")
    assert later.old.progress[dropped].lost >= 2  # from 0 on
    with pytest.raises(InputError, match="when it was planned again"):
        replan(later, at=1.5)


def test_what_failed_counts_against_shares_at_every_later_time() -> None:
    cap = FairShare(name="cap", by="team", at_most={"fx": 0.5})
    night = a_night(constraints=(cap,))
    made = replan(schedopt.solve(night), at=5, state=state("b,failed", "d,failed"), instance=night)
    used = sum(begun.lost for begun in made.old.progress.values())
    assert used > 0
    later = replan(made, at=5.5).rest.constraints
    assert next(rule for rule in later if rule.name == "cap").past["fx"] >= used


def test_a_job_after_one_that_ends_too_late_to_be_paid_does_not_run() -> None:
    jobs = (
        Job(name="a", reward=1, stages=((1.0,),), deadline=2.0),
        Job(name="b", reward=5, stages=((1.0,),), after=("a",)),
    )
    night = Instance(name="late", processors=1, deadline=9, jobs=jobs)
    for late, runs in (((), False), (((0.0, 1.0), (2.0, 0.5)), True)):
        plan = schedopt.solve(msgspec.structs.replace(night, late=late))
        given = msgspec.structs.replace(night, late=late)
        made = replan(plan, at=0.5, state=state("a,running,,,4"), instance=given)
        assert dict(zip(made.plan["job"], made.plan["run"], strict=True))["b"] is runs


def test_a_rest_is_the_one_that_its_result_answers_though_a_rule_was_left_out() -> None:
    rules = (AtLeast(name="two", jobs=("a", "c"), count=2),)
    made = replan(
        schedopt.solve(a_night(constraints=rules)),
        at=4,
        state=state("c,failed"),
        instance=a_night(constraints=rules),
    )
    assert any("two cannot be kept" in note for note in made.notes)
    assert schedopt.check(made.rest, made.result).whole


def _holds(night: Instance, made: Replanned, facts: Facts) -> None:
    """The plan of the whole night: every task once, in order, on processors that are there."""
    spans = made.old.tasks
    for job in night.jobs:
        tasks = spans.get(job.name, ())
        if job.name in made.old.spans and tasks:
            keys = [(t.stage, t.task) for t in tasks]
            assert len({*keys}) == len(keys) == sum(map(len, job.stages or ()))
            for t in tasks:
                before = [o.end for o in tasks if o.stage < t.stage]
                assert t.start >= max(before, default=job.release) - 1e-9
    for time in range(facts.now, HORIZON):
        for pool in facts.there:
            held = sum(
                t.start <= time < t.end and t.pool == pool
                for ts in spans.values()
                for t in ts
                if t.start >= facts.now
            )
            assert held <= facts.left(pool, time)


def a_night(**more: Any) -> Instance:
    jobs = tuple(
        Job(name=name, reward=reward, stages=stages, groups={"team": team})
        for name, reward, stages, team in (
            ("a", 5.0, ((2.0, 3.0), (4.0,)), "light"),
            ("b", 4.0, ((1.0, 1.0, 1.0),), "fx"),
            ("c", 4.0, ((3.0,), (5.0,)), "fx"),
            ("d", 1.0, ((1.0,), (1.0, 2.0)), "fx"),
        )
    )
    given: dict[str, Any] = {"processors": 2, "deadline": 10, "unit": "h"} | more
    return Instance(name="night", jobs=jobs, start="2026-10-24T20:00[Europe/Berlin]", **given)


def state(*rows: str) -> pl.DataFrame:
    cells = [[*row.split(","), "", "", "", ""][:5] for row in rows]
    return pl.DataFrame(cells, schema=["job", "status", "start", "processors", "end"], orient="row")


def test_nothing_changes_where_nothing_happened() -> None:
    night = a_night()
    plan = schedopt.solve(night)
    for at in (0, 0.5, 2, "02:30", "2026-10-25T04:00+01:00"):
        made = replan(plan, at=at, instance=night)
        assert {change.change for change in made.changes} == {"kept"}
        assert made.result.objective == plan.objective
        assert made.plan is not None
        old = schedopt.plan_table(night, plan)
        for column in ("job", "run", "start", "end", "start_time"):
            assert made.plan[column].to_list() == old[column].to_list()


def test_what_fails_and_what_comes_is_said_with_why() -> None:
    night = a_night()
    plan = schedopt.solve(night)
    made = replan(plan, at="23:30", state=state("c,failed", ",,,3"), instance=night)
    by = {change.job: change for change in made.changes}
    assert {name: change.change for name, change in by.items()} == {
        "a": "kept",
        "b": "moved",
        "c": "dropped",
        "d": "added",
    }
    assert by["c"].why.startswith("failed; ")
    assert by["d"].now_time.startswith("2026-10-2")
    ranks = dict(zip(made.plan["job"], made.plan["rank"], strict=True))
    assert ranks["a"] is None  # it runs already
    assert sorted(rank for rank in ranks.values() if rank) == [1, 2]


def test_stability_costs_no_more_than_it_may() -> None:
    jobs = [Job(name=n, reward=r, stages=((4.0,),)) for n, r in (("a", 10.0), ("b", 10.0))]
    jobs.append(Job(name="c", reward=10.1, stages=((4.0,),), release=1.0))
    night = Instance(name="stay", processors=2, deadline=5, jobs=tuple(jobs))
    plan = schedopt.solve(night, constraints=[schedopt.Forbid(jobs=("c",))])
    held = msgspec.structs.replace(plan, constraints=())  # now c may run
    assert {*replan(held, at=0.5, instance=night).result.solution.selected} >= {"a", "b"}
    rows = state("a,waiting", "b,waiting")
    free = replan(held, at=0.5, instance=night, state=rows)
    assert "c" in free.result.solution.selected
    near = replan(held, at=0.5, instance=night, state=rows, stay=0.01)
    assert {*near.result.solution.selected} == {"a", "b"}
    assert near.result.objective == 20


def test_in_which_pool_what_runs_is_told_planned_or_taken_for_granted() -> None:
    night = a_night(processors=0, pools={"cpu": 2, "gpu": 1})
    plan = schedopt.solve(night)
    rows = schedopt.plan_table(night, plan)
    first = rows.filter(pl.col("start") < 1)["job"].to_list()[0]
    made = replan(rows, at=0.5, instance=night)  # a table does not say in which pool
    assert any(f"{first} is taken to run in pool cpu" in note for note in made.notes)
    assert not replan(plan, at=0.5, instance=night).notes
    told = pl.DataFrame(
        {
            "job": [first, ""],
            "status": ["running", ""],
            "start": ["0", ""],
            "processors": ["1", "1"],
            "pool": ["gpu", "cpu"],
        }
    )
    made = replan(rows, at=0.5, instance=night, state=told)
    assert not any(f"{first} is taken" in note for note in made.notes)
    assert made.rest.pools == {"cpu": ((0, 0), (3, 1)), "gpu": ((0, 0), (2, 1))}
    for pool, says in (("ram", "`pools`"), ("", "which `pool`")):
        wrong = pl.DataFrame({"job": [""], "status": [""], "processors": ["1"], "pool": [pool]})
        with pytest.raises(InputError, match=says):
            replan(rows, at=0.5, instance=night, state=wrong)


@pytest.mark.parametrize(
    ("rows", "says", "place"),
    [
        (("z,failed",), "a job of the instance", "row 1"),
        (("a,broken",), "a status", "row 1"),
        (("a,failed", "a,done"), "each job once", "row 2, column 'job'"),
        (("a,running,9",), "a time by now", "row 1, column 'start'"),
        (("a,running,,,2",), "a time from now on", "row 1, column 'end'"),
        (("d,running",), "when it started", "row 1.start"),
        (("d,running,2",), "at least 1", "row 1.processors"),
        (("a,running,2,x",), "a whole number", "row 1, column 'processors'"),
        (("a,running,noon",), "a finite number", "row 1, column 'start'"),
        ((",failed",), "a job", "row 1, column 'job'"),
        ((",,,1",), "2 at work .a on 1, c on 1.; .*say what failed", "state"),
    ],
)
def test_a_state_that_cannot_be_is_refused(rows: tuple[str, ...], says: str, place: str) -> None:
    night = a_night()
    with pytest.raises(InputError, match=says) as caught:
        replan(schedopt.solve(night), at=2.5, state=state(*rows), instance=night)
    assert caught.value.place == place


def test_from_the_command_line(tmp_path: Path) -> None:
    night, old, new, rest = (tmp_path / name for name in ("n.json", "old.json", "new", "rest.json"))
    schedopt.dump(a_night(), night)
    run("solve", night, "--output", old)
    told = tmp_path / "state.csv"
    told.write_text("job,status\nc,FAILED\n")
    how = ["--at", "23:30", "--state", told]
    table = new.with_suffix(".csv")
    said = run("replan", old, *how, "--output", table)  # the night is found beside the result
    assert "failed" in said[0]
    shown = plans.read(table)
    assert {"was", "change"} < {*shown.columns}
    script = new.with_suffix(".sh")
    said = run("replan", table, "--at", "01:00", "--instance", night, "--output", script)
    assert "says neither its rules nor what became of the machine" in said[1]
    assert new.with_suffix(".sh").read_text().startswith("#!")
    document = new.with_suffix(".json")
    run("replan", old, *how, "--output", document, "--rest", rest)
    run("check", rest, document)
    forged = msgspec.json.decode(document.read_bytes())
    forged["solution"]["selected"].append("c")
    document.write_bytes(msgspec.json.encode(forged))
    run("check", rest, document, status=1)
    told.write_text("job,state\nc,failed\n")
    said = run("replan", old, *how, status=2)
    assert "state.csv" in said[1]
    assert "a column 'status'" in said[1]
    assert "--instance FILE" in refused("replan", table, "--at", "1")
    night.unlink()
    assert "--instance FILE: night, digest" in refused("replan", old, "--at", "1")
    schedopt.dump(a_night(), night)
    assert "before 2026-10-25T05:00" in refused("replan", table, "--at", "11", "--instance", night)
    assert "from 0 to 1" in refused(
        "replan", table, "--at", "1", "--instance", night, "--stay", "2"
    )
