"""Preemptive references: what they promise, and a checker that knows preemption."""

from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from builders.effort import tried
from builders.msfq import queue_of, random_jobs
from hypothesis import strategies as st

import schedopt
from schedopt.analysis.measured import measured
from schedopt.formulations.msfq.log_bound import Ticks
from schedopt.instances.files import dump
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.msfq.logs.preemptive import divisor_filling
from schedopt.policies.msfq.logs.registration import started
from schedopt.solvers.msfq.log_bound.relaxations import relaxed

SEEDS = st.integers(0, 2**32 - 1)
NAMES = ("server-filling", "server-filling-srpt", "preemptive-srpt", "divisor-filling")


def of_powers(seed: int) -> Instance:
    """Draw a log whose needs are powers of 2."""
    jobs, _ = random_jobs(seed, 25, servers=8)
    need = 2 ** np.minimum(3, np.floor(np.log2(jobs.need)).astype(np.int64))
    return queue_of(Jobs.of(jobs.submit, need, np.ceil(jobs.run)), 8)


@tried(60, seed=SEEDS, name=st.sampled_from(NAMES))
def test_what_is_played_is_checked_and_beats_no_bound(seed: int, name: str) -> None:
    queue = of_powers(seed)
    result = schedopt.evaluate(queue, name)
    assert result.checked
    assert result.violations == ()
    least = relaxed(Ticks.of(queue))
    assert result.objective >= least["combined"] * (1 - 1e-9)  # of preemptive schedules, too


@tried(60, seed=SEEDS, name=st.sampled_from(NAMES[:2]))
def test_all_servers_are_busy_where_there_is_enough_to_do(seed: int, name: str) -> None:
    queue = of_powers(seed)
    of, begin, end = schedopt.evaluate(queue, name).solution.intervals
    need, submit = queue.jobs.need, queue.jobs.submit
    ends = np.zeros(len(need))
    np.maximum.at(ends, of.astype(int), end)
    times = np.unique(np.concatenate([submit, begin, end]))
    for time in (times[:-1] + times[1:]) / 2:
        wanted = need[(submit <= time) & (time < ends)].sum()
        served = need[of.astype(int)[(begin <= time) & (time < end)]].sum()
        assert served == min(queue.servers, wanted)


@tried(40, seed=SEEDS)
def test_known_policies_are_special_cases(seed: int) -> None:
    jobs, _ = random_jobs(seed, 25, servers=4)
    whole = queue_of(Jobs.of(jobs.submit, np.full(len(jobs), 4), np.ceil(jobs.run)), 4)
    # Where every job takes the whole machine this is one server: least work left first is optimal.
    ticks = Ticks.of(whole)
    for name in NAMES[1:3]:
        got = schedopt.evaluate(whole, name).objective or 0.0
        assert got == pytest.approx(relaxed(ticks)["squashed-area"])
    # Where every job takes one server, the oldest are served: first come, first served.
    single = queue_of(Jobs.of(jobs.submit, np.ones(len(jobs)), jobs.run), 4)
    found = schedopt.evaluate(single, "server-filling").solution
    assert found.preemptions == 0
    of, begin, _ = found.intervals
    assert begin[np.argsort(of)].tolist() == started(single, "fcfs").tolist()


def test_worked_out_by_hand() -> None:
    # The wide job came first; least work left lets the two small ones stop it, and it ends at 6.
    queue = queue_of(Jobs.of([0, 1, 1], [2, 1, 1], [4, 2, 2]), 2)
    assert schedopt.evaluate(queue, "preemptive-srpt").objective == pytest.approx(
        float(Fraction(6 + 2 + 2, 3))
    )
    filled = schedopt.evaluate(queue, "server-filling")
    assert filled.objective == pytest.approx((4 + 5 + 5) / 3)
    assert filled.solution.preemptions == 0


def test_a_reference_is_no_policy_of_the_comparison(tmp_path: Path) -> None:
    dump(queue_of(Jobs.of([0, 1, 1], [2, 1, 1], [4, 2, 2]), 2), tmp_path / "log.json")
    rows = schedopt.bench(
        [tmp_path / "log.json"], policies=["fcfs", "preemptive-srpt", "server-filling"]
    )
    told = {row.policy: row for row in rows}
    assert told["fcfs"].gap is not None
    assert told["preemptive-srpt"].gap is None
    assert told["preemptive-srpt"].objective == pytest.approx(10 / 3)
    (one,) = measured(rows)
    assert one.rows[0][1].policy == "fcfs"  # the best of those that preempt nobody


def best_subset(need: list[int], servers: int) -> list[int]:
    """Return the first, in the order of the jobs, of the subsets that fill most of the servers."""
    fits = [
        (sum(need[i] for i in chosen), [-i for i in chosen], list(chosen))
        for size in range(len(need) + 1)
        for chosen in combinations(range(len(need)), size)
        if sum(need[i] for i in chosen) <= servers
    ]
    most = max(total for total, _, _ in fits)
    return max((key, chosen) for total, key, chosen in fits if total == most)[1]


@tried(60, st.sampled_from([4, 6, 8]), st.data())
def test_divisors_of_the_servers_fill_them(servers: int, data: st.DataObject) -> None:
    divisors = [n for n in range(1, servers + 1) if servers % n == 0]
    need = data.draw(st.lists(st.sampled_from(divisors), min_size=1, max_size=servers + 3))
    jobs = Jobs.of(np.zeros(len(need)), need, np.ones(len(need)))
    served = divisor_filling(jobs, servers, list(range(len(need))), lambda _: 1.0)
    assert served == best_subset(need[:servers], servers)
    if len(need) >= servers:
        assert sum(need[i] for i in served) == servers


def test_where_it_does_not_apply() -> None:
    odd = queue_of(Jobs.of([0, 1], [3, 2], [4, 2]), 4)
    assert "powers of 2" in schedopt.evaluate(odd, "server-filling").message
    assert "divide" in schedopt.evaluate(odd, "divisor-filling").message
    assert schedopt.evaluate(odd, "preemptive-srpt").objective == pytest.approx((6 + 2) / 2)
