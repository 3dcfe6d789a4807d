"""Replanning: what is planned of the rest of a night is the best that can still be done."""

import functools
from collections import Counter
from fractions import Fraction
from itertools import chain, combinations, product
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import polars as pl
import pytest
from builders.cli import refused, run
from builders.effort import examples

import schedopt
from schedopt.instances.constraints import Apart, AtMost, FairShare, Imply, Seats
from schedopt.instances.dssp import Down, Instance, Job
from schedopt.instances.errors import InputError
from schedopt.verbs import plan as plans
from schedopt.verbs.replan import Replanned, replan

HORIZON = 8


def some_machine(draw: Random) -> dict[str, Any]:
    """Draw processors that stay, pools of them, or some that are away for a time."""
    kind = draw.choice(("processors", "processors", "pools", "down", "both"))
    given: dict[str, Any] = {"processors": draw.randint(1, 3)}
    if kind in ("pools", "both"):
        given = {"pools": {"p": draw.randint(1, 2), "q": draw.randint(1, 2)}}
    if kind in ("down", "both"):
        start = draw.randint(0, HORIZON - 2)
        end, pool = draw.randint(start + 1, HORIZON - 1), "q" if kind == "both" else None
        given["down"] = (
            Down(start=float(start), end=float(end), processors=draw.randint(1, 2), pool=pool),
        )
    return given


def some_night(draw: Random) -> Instance:
    jobs: list[Job] = []
    machine = some_machine(draw)
    for n in range(draw.randint(2, 4)):
        stages = [
            tuple(float(draw.choice((1, 1, 2, 3))) for _ in range(draw.choice((1, 1, 2, 2, 3))))
            for _ in range(draw.choice((1, 2)))
        ]
        own: dict[str, Any] = {"stages": tuple(stages), "groups": {"team": draw.choice("xy")}}
        if draw.random() < 0.3:
            own["max_processors"] = draw.randint(1, 2)
        if draw.random() < 0.2:
            own["deadline"] = float(draw.randint(4, HORIZON + 1))
        if "pools" in machine and draw.random() < 0.5:
            own["pools"] = tuple(draw.choice(("p", "q", "qp")))
        if draw.random() < 0.2:
            own["release"] = float(draw.randint(1, 3))
        if jobs and draw.random() < 0.2:
            own["after"] = (draw.choice(jobs).name,)
        jobs.append(Job(name=f"j{n}", reward=float(draw.randint(1, 5)), **own))
    names = [job.name for job in jobs]
    rules: list[Any] = []
    if draw.random() < 0.3:
        rules.append(Apart(name="apart", jobs=tuple(draw.sample(names, 2))))
    if draw.random() < 0.3:
        first, then = draw.sample(names, 2)
        rules.append(Imply(name="imply", if_=first, then=then))
    if draw.random() < 0.3 and any(job.groups["team"] == "x" for job in jobs):
        rules.append(AtMost(name="few", by="team", group="x", count=1))
    if draw.random() < 0.4:
        cap = FairShare(name="cap", by="team", at_most={"x": draw.choice((0.25, 0.5))})
        rules += [cap] if any(job.groups["team"] == "x" for job in jobs) else []
    if draw.random() < 0.3:
        rules.append(Seats(name="seats", capacity=1, use={names[0]: 1, names[-1]: 1}))
    return Instance(
        name="small", deadline=float(HORIZON), jobs=tuple(jobs), constraints=tuple(rules), **machine
    )


class Facts:
    """What has happened to a plan by a time, told plainly; shares nothing with `replan`."""

    def __init__(self, draw: Random, night: Instance, tasks: Any) -> None:
        self.night = night
        self.now = draw.randint(0, HORIZON - 1)
        self.ends: dict[str, dict[tuple[int, int], float]] = {}
        pools = night.pools or {"": night.processors}
        self.there = {
            name: [size - sum(d.processors for d in night.down
                              if (d.pool or "") == name and d.start <= t < d.end)
                   for t in range(2 * HORIZON)]
            for name, size in pools.items()
        }  # fmt: skip
        self.there = {name: [max(0, n) for n in level] for name, level in self.there.items()}
        pool_of = [name for name, level in self.there.items() for _ in range(max(level))]
        on = {(t.job, t.stage, t.task): pool_of[t.processor] for t in tasks}
        self.spent: Counter[str] = Counter()
        self.rows: list[dict[str, Any]] = []
        for job in night.jobs:
            begun = {(t.stage, t.task): (t.start, t.end) for t in tasks
                     if t.job == job.name and t.start < self.now}  # fmt: skip
            if not begun:
                continue
            lasting = [key for key, (_, end) in begun.items() if end > self.now]
            if draw.random() < 0.2:
                self.rows.append({"job": job.name, "status": "failed"})
                self.spent[job.groups["team"]] += sum(
                    min(e, self.now) - s for s, e in begun.values()
                )
                continue
            if lasting and draw.random() < 0.3:
                late = float(self.now + draw.randint(1, 4))
                self.rows.append({"job": job.name, "status": "running", "end": f"{late:g}"})
                begun |= {key: (begun[key][0], late) for key in lasting}
            self.ends[job.name] = {key: end for key, (_, end) in begun.items()}
            self.spent[job.groups["team"]] += sum(e - s for s, e in begun.values())
        self.busy = [
            (end, on[name, *key])
            for name, ends in self.ends.items()
            for key, end in ends.items()
            if end > self.now
        ]
        self.whole = sum(level[t] for level in self.there.values() for t in range(self.now))
        if draw.random() < 0.3:
            pool = draw.choice([*self.there])
            count = max(sum(of == pool for _, of in self.busy), 1, draw.randint(1, 3))
            self.rows.append({"processors": str(count), "pool": pool})
            changes = [t for d in night.down if (d.pool or "") == pool for t in (d.start, d.end)]
            until = int(min((t for t in changes if t > self.now), default=2 * HORIZON))
            self.there[pool][self.now : until] = [count] * (until - self.now)
        self.whole += sum(sum(level[self.now : HORIZON]) for level in self.there.values())

    def state(self) -> pl.DataFrame | None:
        titles = ("job", "status", "start", "processors", "end", "pool")
        rows = [{title: row.get(title, "") for title in titles} for row in self.rows]
        return pl.DataFrame(rows) if rows else None

    def left(self, pool: str, t: int) -> int:
        """How many processors of a pool are there at a time beside what runs already."""
        return max(0, self.there[pool][t] - sum(of == pool and end > t for end, of in self.busy))

    def over(self, name: str) -> bool:
        """Whether a job ends whatever is done."""
        count = sum(map(len, self.night.jobs[self.night.index[name]].stages or ()))
        return len(self.ends.get(name, ())) == count


def best(facts: Facts, was: set[str]) -> tuple[float, int] | None:
    """Return the best reward of the night, and how many jobs of the old plan can be kept with it.

    None where some rule cannot be kept whatever is done.
    """
    night = facts.night
    sure = {job.name for job in night.jobs if facts.over(job.name)}
    free = [job.name for job in night.jobs if job.name not in sure]
    found = []
    for more in chain.from_iterable(combinations(free, k) for k in range(len(free) + 1)):
        chosen = sure | {*more}
        if _allowed(facts, chosen) and _can(facts, frozenset(more)):
            found.append((sum(_earns(facts, n, sure) for n in chosen), len(was & {*more})))
    return max(found) if found else None


def _due(night: Instance, name: str) -> float:
    deadline = night.jobs[night.index[name]].deadline
    return night.deadline if deadline is None else deadline


def _earns(facts: Facts, name: str, sure: set[str]) -> float:
    in_time = name not in sure or max(facts.ends[name].values()) <= _due(facts.night, name)
    return facts.night.jobs[facts.night.index[name]].reward * in_time


def _allowed(facts: Facts, chosen: set[str]) -> bool:
    night = facts.night
    team = {job.name: job.groups["team"] for job in night.jobs}
    for rule in night.constraints:
        if isinstance(rule, Apart) and len(chosen & {*rule.jobs}) > 1:
            return False
        if isinstance(rule, Imply) and rule.if_ in chosen and rule.then not in chosen:
            return False
        if isinstance(rule, AtMost) and sum(team[n] == "x" for n in chosen) > 1:
            return False
        if isinstance(rule, FairShare):
            left = sum(
                length
                for n in chosen
                if team[n] == "x"
                for s, stage in enumerate(night.jobs[night.index[n]].stages or ())
                for i, length in enumerate(stage)
                if (s, i) not in facts.ends.get(n, {})
            )
            if left and left + facts.spent["x"] > Fraction(rule.at_most["x"]) * facts.whole:
                return False
    return all({*night.jobs[night.index[n]].after} <= chosen for n in chosen if n not in facts.ends)


def _can(facts: Facts, chosen: frozenset[str]) -> bool:
    """Tell whether what is left of some jobs can be done in time, trying every slot."""
    night = facts.night
    jobs = [night.jobs[night.index[name]] for name in sorted(chosen)]
    seats = next((rule for rule in night.constraints if isinstance(rule, Seats)), None)
    todo = tuple(
        (job.name, s, i) for job in jobs for s, stage in enumerate(job.stages or ())
        for i, _ in enumerate(stage) if (s, i) not in facts.ends.get(job.name, {})
    )  # fmt: skip
    running = tuple(
        (name, s, end) for name, ends in facts.ends.items() for (s, _), end in ends.items()
    )
    by_name = {job.name: job for job in night.jobs}

    def ready(task: tuple[str, int, int], t: int, left: Any, on: Any) -> bool:
        name, stage, _ = task
        job = by_name[name]
        if t < job.release or any(n == name and s < stage for n, s, _ in left):
            return False
        if any(n == name and s < stage and e > t for n, s, e in on):
            return False
        begun = name in facts.ends
        waits = () if begun else job.after
        return not any(n in waits for n, _, _ in left) and not any(
            n in waits and e > t for n, _, e in on
        )

    def fits(t: int, on: Any) -> bool:
        now = Counter(name for name, _, end in on if end > t)
        if any((most := by_name[n].max_processors) and k > most for n, k in now.items()):
            return False
        return not seats or sum(seats.use.get(n, 0) * k for n, k in now.items()) <= seats.capacity

    def ways(started: Any) -> Any:
        """Yield in which pool each of some tasks may run."""
        return product(*(by_name[n].pools or (*facts.there,) for n, _, _ in started))

    @functools.cache
    def done(t: int, left: tuple[tuple[str, int, int], ...], on: Any, where: Any) -> bool:
        if not left:
            return True
        if any(
            t + max((by_name[n].stages or ())[s]) > _due(night, n) for n, s, _ in left
            if len({*(by_name[n].stages or ())[s]}) == 1
        ):  # fmt: skip
            return False
        if t > HORIZON + 1:
            return False
        able = [task for task in left if ready(task, t, left, on)]
        for k in range(len(able), -1, -1):
            for started in {*combinations(able, k)}:
                ends = tuple((n, s, t + (by_name[n].stages or ())[s][i]) for n, s, i in started)
                if any(end > _due(night, name) for name, _, end in ends):
                    continue
                now = tuple(sorted(one for one in (*on, *ends) if one[2] > t))
                rest = tuple(task for task in left if task not in started)
                if started and not fits(t, now):
                    continue
                for pools in {*ways(started)}:
                    held = (*where, *((end, p) for (_, _, end), p in zip(ends, pools, strict=True)))
                    held = tuple(sorted(one for one in held if one[0] > t))
                    used = Counter((p, u) for end, p in held for u in range(t, int(end)))
                    if all(n <= facts.left(*at) for at, n in used.items()) and done(
                        t + 1, rest, now, held
                    ):
                        return True
        return False

    if any(end > _due(night, name) for name, _, end in running if name in chosen):
        return False
    return done(facts.now, todo, tuple(sorted(one for one in running if one[2] > facts.now)), ())


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
        old = schedopt.plan(night, plan)
        for column in ("job", "run", "start", "end", "start_time"):
            assert made.plan[column].to_list() == old[column].to_list()


def test_what_fails_and_what_comes_is_said_with_why() -> None:
    night = a_night()
    plan = schedopt.solve(night)
    made = replan(plan, at="23:30", state=state("c,failed", ",,,3"), instance=night)
    by = {change.job: change for change in made.changes}
    assert {name: change.change for name, change in by.items()} == {
        "a": "kept", "b": "moved", "c": "dropped", "d": "added",
    }  # fmt: skip
    assert by["c"].why.startswith("failed; ")
    assert by["d"].now_time.startswith("2026-10-2")
    assert made.plan is not None
    ranks = dict(zip(made.plan["job"], made.plan["rank"], strict=True))
    assert ranks["a"] is None  # it runs already
    assert sorted(rank for rank in ranks.values() if rank) == [1, 2]
    again = replan(made, at=5)  # of what was planned again
    assert {change.change for change in again.changes} == {"kept"}


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


def test_shares_count_what_was_used() -> None:
    cap = FairShare(name="cap", by="team", at_most={"fx": 0.5})
    night = a_night(constraints=(cap,))
    plan = schedopt.solve(night)
    assert {*plan.solution.selected} == {"a", "b", "d"} or plan.objective == 9
    rest = replan(plan, at=5, instance=night).rest
    rule = next(rule for rule in rest.constraints if rule.name == "cap")
    assert rule.past_total + rest.capacity() == pytest.approx(20)


def test_in_which_pool_what_runs_is_told_planned_or_taken_for_granted() -> None:
    night = a_night(processors=0, pools={"cpu": 2, "gpu": 1})
    plan = schedopt.solve(night)
    rows = schedopt.plan(night, plan)
    first = rows.filter(pl.col("start") < 1)["job"].to_list()[0]
    made = replan(rows, at=0.5, instance=night)  # a table does not say in which pool
    assert any(f"{first} is taken to run in pool cpu" in note for note in made.notes)
    assert not replan(plan, at=0.5, instance=night).notes
    told = pl.DataFrame(
        {"job": [first, ""], "status": ["running", ""], "start": ["0", ""],
         "processors": ["1", "1"], "pool": ["gpu", "cpu"]}
    )  # fmt: skip
    made = replan(rows, at=0.5, instance=night, state=told)
    assert not any(f"{first} is taken" in note for note in made.notes)
    assert made.rest.pools["cpu"][-1][1] == 1  # and not 2, as in the file
    assert made.rest.pools["gpu"][1][1] == 0
    for pool, says in (("ram", "`pools`"), ("", "which `pool`")):
        wrong = pl.DataFrame({"job": [""], "status": [""], "processors": ["1"], "pool": [pool]})
        with pytest.raises(InputError, match=says):
            replan(rows, at=0.5, instance=night, state=wrong)


@pytest.mark.parametrize(
    ("rows", "says", "place"),
    [
        (("z,failed",), "a job of the instance", "row 1"),
        (("a,broken",), "a status", "row 1"),
        (("a,failed", "a,done"), "each job once", "row 2.job"),
        (("a,running,9",), "a time by now", "row 1.start"),
        (("a,running,,,2",), "a time from now on", "row 1.end"),
        (("d,running",), "when it started", "row 1.start"),
        (("d,running,2",), "at least 1", "row 1.processors"),
        (("a,running,2,x",), "a whole number", "row 1.processors"),
        (("a,running,noon",), "a finite number", "row 1.start"),
        ((",failed",), "a job", "row 1.job"),
        ((",,,1",), "say what failed", "state"),
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
    told.write_text("job,status\nc,failed\n")
    how = ["--at", "23:30", "--state", told]
    table = new.with_suffix(".csv")
    said = run("replan", old, *how, "--output", table)  # the night is found beside the result
    assert "failed" in said[0]
    shown = plans.read(table)
    assert shown is not None
    assert {"was", "change"} < {*shown.columns}
    run("replan", table, "--at", "01:00", "--instance", night, "--output", new.with_suffix(".sh"))
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
    assert "a column `status`" in said[1]
    assert "--instance FILE" in refused("replan", table, "--at", "1")
    night.unlink()
    assert "--instance FILE: night, digest" in refused("replan", old, "--at", "1")
    schedopt.dump(a_night(), night)
    assert "before 10" in refused("replan", table, "--at", "11", "--instance", night)
    assert "from 0 to 1" in refused(
        "replan", table, "--at", "1", "--instance", night, "--stay", "2"
    )
