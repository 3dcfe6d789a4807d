"""Statistics that cannot mislead: replications, gaps of nothing, replays of logs."""

from pathlib import Path

import msgspec
import pytest

import schedopt
from schedopt.analysis.pairs import paired
from schedopt.analysis.summary import summary
from schedopt.instances.epoch import Instance, Job
from schedopt.sweep.rows import Row
from schedopt.sweep.sources import generated, replicated
from tests.builders.cli import run

ROW = Row(
    instance="i",
    problem="msfq",
    policy="p",
    objective=2.0,
    reference=1.0,
    reference_bound=1.0,
    reference_proven=True,
    gap=1.0,
    seconds=0.1,
    seed=0,
    violations=(),
    message=None,
    file="f",
    reference_seconds=1.0,
    key="",
)


def row(policy: str, seed: int, objective: float | None, **more: object) -> Row:
    """Return a row of a queue whose optimum is 1."""
    key = f"{policy}{seed}{more.get('file', '')}"
    gap = None if objective is None else objective - 1
    own = {"policy": policy, "seed": seed, "objective": objective, "gap": gap}
    return msgspec.structs.replace(ROW, key=key, **own | more)


def test_seeds_of_a_generator_that_draws_nothing_are_replications_of_one_instance() -> None:
    few = {"k": 2, "load": 0.5}
    sources = generated("msfq", "one-or-all", seeds=range(1, 13), options=few)
    ((source, seeds),) = replicated(sources, (0,))
    assert (source, seeds) == (sources[0], tuple(range(1, 13)))
    assert list(replicated(sources, (7, 8))) == [(sources[0], (7, 8))]
    random = generated("msfq", "multi-class", seeds=[1, 2])
    assert list(replicated(random, (0,))) == [(random[0], (0,)), (random[1], (0,))]
    rows = schedopt.bench(
        generated=sources[:3], policies=["msf", "first-fit"], options={"arrivals": 2000}
    )
    assert {row.file for row in rows} == {sources[0].label}
    assert [row.seed for row in rows] == [1, 2, 3] * 2
    by = {(row.policy, row.seed): row.objective for row in rows}
    assert len({by["msf", seed] for seed in (1, 2, 3)}) == 3


def test_who_has_nothing_to_draw_runs_once(tmp_path: Path) -> None:
    log = schedopt.generate("msfq", "lublin-feitelson", options={"jobs": 50, "servers": 8})
    schedopt.dump(log, tmp_path / "log.json")
    queue = generated("msfq", "one-or-all", seeds=[0], options={"k": 4, "load": 0.5})
    rows = schedopt.bench(tmp_path / "log.json", policies=["fcfs", "easy"], seeds=(1, 2))
    assert [(row.policy, row.seed) for row in rows] == [("fcfs", 1), ("easy", 1)]
    (tmp_path / "t.csv").write_text("time,need,size\n0,1,1\n1,4,2\n2,1,3\n")
    for given, seeds in ({"arrivals": 1000}, [1, 2]), ({"trace": str(tmp_path / "t.csv")}, [1]):
        rows = schedopt.bench(generated=queue, policies=["msf"], seeds=(1, 2), options=given)
        assert [row.seed for row in rows] == seeds


def test_replications_are_compared_one_by_one() -> None:
    draws = [1.1, 1.9, 1.3, 1.5, 1.2, 1.8, 1.7, 1.4, 1.6, 1.05, 1.15, 1.25]
    rows = [row("a", i, draw) for i, draw in enumerate(draws)]
    rows += [row("b", i, draw + 0.1) for i, draw in enumerate(draws)] + [row("c", 0, 1.35)]
    (pair,) = paired(rows, "a", "b")
    assert pair.compared == (12, "replication")
    assert (pair.better, pair.worse) == (12, 0)
    assert pair.low < pair.mean < pair.high < 0.1
    (other,) = paired(rows, "a", "c")  # which draws nothing, and is the same at each seed
    assert (other.replications, other.better) == (12, sum(draw < 1.35 for draw in draws))
    low, high = next((s.low, s.high) for s in summary(rows) if s.contender == "a")
    assert low is not None and high is not None and low < high


def test_a_replication_without_a_number_leaves_the_others() -> None:
    rows = [row("a", i, 1.1 + i / 10) for i in range(12)]
    rows += [row("b", i, 1.2 + i / 10) for i in range(12)]
    rows[3] = row("a", 3, None)
    rows[23] = row("b", 11, None)
    (pair,) = paired(rows, "a", "b")
    assert (*pair.compared, pair.left_out, pair.better) == (10, "replication", 2, 10)
    more = [*rows, *(row(p, 0, v, file="g") for p, v in (("a", 1.0), ("b", 1.5)))]
    (both,) = paired(more, "a", "b")  # on the first by the runs that both have: 1.62 and 1.72
    assert (both.instances, both.left_out) == (2, 2)
    assert both.mean == pytest.approx((0.1 / 1.72 + 0.5 / 1.5) / 2)
    only = [*rows, row("a", 0, None, file="g"), row("b", 0, 1.5, file="g")]
    (one,) = paired(only, "a", "b")  # nothing is left of the second
    assert (*one.compared, one.left_out) == (10, "replication", 3)


def test_several_instances_are_what_is_compared() -> None:
    rows = [row(p, s, 1.5 + s, file=f) for p in "ab" for s in (0, 1) for f in ("f", "g")]
    (pair,) = paired(rows, "a", "b")
    assert pair.compared == (2, "instance")


def test_the_replay_of_a_log_is_no_sample() -> None:
    rows = [row("easy", 0, 1.2, confidence=0.5, measures={"wait": 1.0})]
    (standing,) = summary(rows)
    assert standing.noise == 0
    (sampled,) = summary([row("easy", 0, 1.2, confidence=0.5)])
    assert sampled.noise == 0.5
    (best,) = summary([row("easy", 0, 1.0, confidence=0.5, measures={"wait": 1.0})])
    assert best.at_optimum == 1


def test_a_gap_to_nothing_is_told_as_a_difference(tmp_path: Path) -> None:
    jobs = tuple(Job(name=f"j{i}", minimum=2) for i in range(2))
    alone = Instance(name="alone", nodes=4, inequity=0, jobs=jobs)
    path = tmp_path / "rows.jsonl"
    rows = [
        row("a", 0, 2.0, reference=0.0, gap=None, difference=2.0),
        row("b", 0, 0.0, reference=0.0, gap=0.0),
    ]
    path.write_bytes(b"\n".join(map(msgspec.json.encode, rows)) + b"\n")
    assert "reference 0" in run("summary", path).stdout
    assert next(s.difference for s in summary(rows) if s.contender == "a") == 2
    (pair,) = paired(rows, "b", "a")
    assert (pair.better, pair.worse) == (1, 0)
    assert all(row.gap is None or row.gap < 1e6 for row in schedopt.bench(alone))
