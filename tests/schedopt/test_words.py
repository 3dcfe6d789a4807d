"""The paragraph that a report begins with: every number in it is the summary's."""

from __future__ import annotations

import pytest
from builders.reports import row

from schedopt.analysis.pairs import paired
from schedopt.analysis.summary import summary
from schedopt.analysis.words import in_words
from schedopt.formats import percent
from schedopt.sweep.rows import Row


def said(rows: list[Row]) -> str:
    (words,) = in_words(rows).values()
    return " ".join(words)


def nights(policy: str, gaps: list[float | None], **more: object) -> list[Row]:
    return [
        row(
            instance=f"n{i}",
            policy=policy,
            gap=gap,
            objective=None if gap is None else 10 * (1 - gap),
            **more,
        )
        for i, gap in enumerate(gaps)
    ]


def test_a_policy_that_is_optimal_is_said_to_be() -> None:
    rows = nights("exact", [0.0] * 12) + nights("also", [0.0] * 12) + nights("rough", [0.1] * 12)
    text = said(rows)
    assert "The optimum is proven on all 12 instances." in text
    assert "exact and also are optimal in all 12 runs." in text
    assert "Next is rough: it loses 10.00% of the optimum on average" in text
    assert "in reward, 9 against 10." in text
    assert "exact is better on 12, equal on 0 and worse on 0 of 12 instances" in text
    assert "Last is" not in text


def test_intervals_are_the_summarys_and_the_pairs() -> None:
    rows = nights("a", [i / 100 for i in range(20)]) + nights("b", [i / 50 for i in range(20)])
    (a, b), (pair,) = summary(rows), paired(rows, "a", "b")
    text = said(rows)
    for standing in (a, b):
        assert f"{percent(standing.mean)} of the optimum on average" in text
        assert f"{percent(standing.low)[:-1]} to {percent(standing.high)}" in text
        assert f"{percent(standing.worst)} at worst (on n19)" in text
    assert f"by {percent(pair.mean)} on average" in text
    assert f"{percent(pair.low)[:-1]} to {percent(pair.high)}" in text
    assert "The proven optimum is met in 1 of 20 runs." in text


def test_what_is_not_settled_is_said() -> None:
    gaps = [0.1, 0.0] * 10
    text = said(nights("a", list(gaps)) + nights("b", [0.1 - g for g in gaps]))
    assert "these instances do not settle which is better on average" in text


def test_few_instances_and_runs_without_a_gap_are_a_caution() -> None:
    text = said(nights("a", [0.0, 0.1]) + nights("b", [0.2, None]))
    assert "2 instances say little about others: no interval is given for fewer than 10." in text
    assert "1 run without a gap is left out of all means." in text
    assert "interval 0" not in text


def test_less_is_better_where_it_is_and_the_unproven_is_not_called_the_optimum() -> None:
    rows = nights("a", [0.2] * 3, problem="epoch", reference_proven=False)
    text = said(rows)
    assert "The optimum is proven on none of 3 instances." in text
    assert "a comes closest: it is 20.00% above the best solution known on average" in text
    better = nights("a", [-0.1] * 3, reference_proven=False)
    assert "on average 10.00% better than the best solution known" in said(better)


@pytest.mark.parametrize("policies", [1, 2, 4, 9])
def test_of_many_that_are_equal_a_few_are_named(policies: int) -> None:
    rows = [r for i in range(policies) for r in nights(f"p{i}", [0.0])]
    heads = {1: "p0 is", 2: "p0 and p1 are", 4: "p0, p1, p2 and p3 are", 9: "p2 and 6 others are"}
    assert f"{heads[policies]} optimal in the only run" in said(rows)


def test_without_references_the_wins_decide() -> None:
    blank = {"reference": None, "reference_proven": False}
    rows = [
        row(policy=p, objective=v, **{"gap": None, **blank}) for p, v in (("a", 4.0), ("b", 2.0))
    ]
    assert "a is best on 1 of 1 instance." in said(rows)
    assert "No policy has a result that counts." in said([row(objective=None)])


def test_choosing_is_not_taken_for_running() -> None:
    rows = [*nights("greedy", [0.0] * 12), *nights("core+lcpf", [0.1] * 12)]
    assert "greedy only chooses what to run" in said(rows)
    assert "core+lcpf runs it as well." in said(rows)
    assert "only chooses" not in said(nights("greedy", [0.0] * 12) + nights("core", [0.1] * 12))
