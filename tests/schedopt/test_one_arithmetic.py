"""Terminal, page and chart say the same of the same rows, and it is what counting by hand says."""

import re
from html import unescape
from io import StringIO
from math import inf
from statistics import fmean, median
from typing import Any

import pytest
from builders.effort import examples
from builders.reports import row
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from schedopt.analysis.contenders import contenders, grouped
from schedopt.analysis.profiles import profiles
from schedopt.analysis.summary import summary
from schedopt.problems.shown import ShownTable
from schedopt.report.data import problems
from schedopt.report.writing import by_contender, page
from schedopt.sweep.rows import Row
from schedopt.terminal import bench_tables, console

CONTENDERS = (("a", {}), ("b", {}), ("c", {"fill": 0.5}), ("c", {"fill": 1.0}))
OBJECTIVES = (None, 0.0, 2.0, 2.0 + 1e-12, 3.0, 8.0)
"""Missing, nothing at all, two that only rounding tells apart, and others."""


@st.composite
def random_rows(draw: st.DrawFn) -> list[Row]:
    """Draw rows of one problem: ties, gaps in the table, violations, unproven references."""
    problem = draw(st.sampled_from(["dssp", "epoch"]))
    sign = 1 if problem == "dssp" else -1
    rows = []
    for i in range(draw(st.integers(1, 4))):
        reference = draw(st.sampled_from([None, 2.0, 3.0, 8.0]))
        proven = reference is not None and draw(st.booleans())
        for policy, options in draw(st.lists(st.sampled_from(CONTENDERS), unique_by=str)):
            for seed in range(draw(st.integers(1, 2))):
                objective = draw(st.sampled_from(OBJECTIVES))
                broken = objective is not None and draw(st.integers(0, 4)) == 0
                gap = None
                if None not in (objective, reference) and not broken and draw(st.integers(0, 4)):
                    gap = sign * (reference - objective) / reference
                    gap = max(0.0, gap) if proven else gap
                rows.append(
                    row(
                        instance=f"i{i}",
                        problem=problem,
                        policy=policy,
                        options=options,
                        seed=seed,
                        objective=objective,
                        reference=reference,
                        reference_proven=proven,
                        gap=gap,
                        violations=("cap",) if broken else (),
                        seconds=draw(st.sampled_from([0.001, 0.25])),
                    )
                )
    return [
        Row(**({f: getattr(r, f) for f in Row.__struct_fields__} | {"key": str(k)}))
        for k, r in enumerate(draw(st.permutations(rows)))
    ]


def at_the_terminal(rows: list[Row]) -> dict[str, list[str]]:
    """Return the cells of the terminal's table, by contender."""
    text = StringIO()
    shown = Console(file=text, width=400, highlight=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console, "out", shown)
        patch.setattr(ShownTable, "filled", lambda table: table)  # the page keeps empty columns
        bench_tables.summary(rows)
    lines = [line for line in text.getvalue().splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    return {mine[0]: mine[1:] for mine in cells}


def on_the_page(rows: list[Row]) -> dict[str, list[str]]:
    """Return the cells of the page's table, by contender."""
    body = page(rows, {}).split('<table class="summary sortable">')[1].split("</table>")[0]
    lines = [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in body.split("</tr>")]
    cells = [[unescape(re.sub(r"<[^>]*>", "", cell)) for cell in line] for line in lines if line]
    return {mine[0]: mine[1:] for mine in cells}


def by_hand(rows: list[Row]) -> dict[str, dict[str, Any]]:
    """Count what the summary claims, in the plainest way there is."""
    who = contenders(rows)
    more = rows[0].problem == "dssp"
    scores: dict[tuple[str, str], float] = {}
    for name in who.values():
        for file in {r.file for r in rows}:
            runs = [r for r in rows if who[r.key] == name and r.file == file]
            fine = [
                r.objective
                for r in runs
                if r.objective is not None
                and not r.violations
                and (r.gap is not None or r.reference is None)
            ]
            if runs and len(fine) == len(runs):
                scores[name, file] = fmean(fine)
    files = {file for _, file in scores}
    found = {}
    for name in dict.fromkeys(who.values()):
        wins = 0
        for file in files:
            others = [value for (_, f), value in scores.items() if f == file]
            mine = scores.get((name, file))
            top = (max if more else min)(others)
            wins += mine is not None and abs(mine - top) <= 1e-9 * max(abs(mine), abs(top))
        gaps = [r.gap for r in rows if who[r.key] == name and r.gap is not None]
        found[name] = {
            "wins": f"{wins} of {len(files)}",
            "optimal": sum(
                r.gap <= 1e-9 and r.reference_proven
                for r in rows
                if who[r.key] == name and r.gap is not None
            ),
            "gaps": gaps,
        }
    return found


@settings(deadline=None, max_examples=examples(60))
@given(random_rows().filter(bool))
def test_the_terminal_and_the_page_say_the_same(rows: list[Row]) -> None:
    terminal, web, counted = at_the_terminal(rows), on_the_page(rows), by_hand(rows)
    assert set(terminal) == set(web) == set(counted)
    standings = {standing.contender: standing for standing in summary(rows)}
    for name, mine in counted.items():
        _, _, _, _, _, wins, optimal, *_ = terminal[name]
        assert web[name] == terminal[name]
        assert wins == mine["wins"]
        of = len(mine["gaps"])
        assert optimal == (f"{mine['optimal']} of {of}" if of else "–")
        if of:
            assert standings[name].mean == pytest.approx(fmean(mine["gaps"]))
            assert standings[name].median == pytest.approx(median(mine["gaps"]))
            assert standings[name].worst == max(mine["gaps"])


@settings(deadline=None, max_examples=examples(60))
@given(random_rows().filter(bool))
def test_the_profile_begins_with_the_wins_and_the_page_has_its_ratios(rows: list[Row]) -> None:
    named, found = by_contender(rows), profiles(rows)
    standings = {standing.contender: standing for standing in summary(rows)}
    place = {file: i for i, file in enumerate(grouped(named, "file"))}
    told = problems(named, list(standings.values()), place)
    for profile in found:
        standing = standings[profile.contender]
        steps, shares = profile.steps()
        assert steps[0] == 1.0
        assert shares[0] == pytest.approx(standing.wins / standing.instances)
        assert [profile.at(ratio) for ratio in steps] == pytest.approx(shares)
        page = told[profile.problem]
        assert len(page["instances"]) == profile.instances
        ratios = page["policies"][profile.contender]["ratios"]
        assert set(ratios) <= set(page["instances"])
        assert sorted(inf if r is None else r for r in ratios.values()) == list(profile.ratios)


def test_the_rows_that_once_were_counted_differently() -> None:
    """What nobody solved is no instance, seeds are no cases, and unproven is not optimal."""
    rows = [
        row(instance="one", policy=p, seed=s, objective=v, gap=g, reference_proven=False)
        for p, s, v, g in (("a", 0, 10.0, 0.0), ("a", 1, 10.0, 0.0), ("b", 0, 8.0, 0.2))
    ]
    rows += [row(instance="two", policy=p, objective=10.0, gap=0.0) for p in "ab"]
    rows += [row(instance="three", policy=p, objective=None) for p in "ab"]
    assert at_the_terminal(rows)["a"][5:7] == on_the_page(rows)["a"][5:7] == ["2 of 2", "1 of 3"]
    assert at_the_terminal(rows)["b"][5:7] == on_the_page(rows)["b"][5:7] == ["1 of 2", "1 of 2"]
