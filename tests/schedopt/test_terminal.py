"""What a terminal, a prompt and a notebook show, and that no name steers them."""

from collections.abc import Iterator
from io import StringIO
from math import inf
from typing import Any

import pytest
from rich.console import Console

from schedopt import solve
from schedopt.formats import count_of, duration, natural, number, percent
from schedopt.instances.constraints import FairShare
from schedopt.instances.dssp import Instance, Job
from schedopt.solvers.result import Result
from schedopt.terminal import console, listings, results

EVIL = (
    "[bold red]x[/]",
    "[/]",
    "[link=https://example.org]y[/link]",
    ":fire:",
    "\x1b[31mred\x1b]8;;x\x07",
    "two\nlines",
    "\u202eturned",
    "back\\",
)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[StringIO]:
    """Catch what is printed, as a colour terminal of 300 columns would get it."""
    text = StringIO()
    shown = Console(file=text, width=300, highlight=False, emoji=False, force_terminal=True)
    for module in (console, listings, results):
        monkeypatch.setattr(module, "out", shown)
    yield text
    assert "🔥" not in text.getvalue()
    assert not set("\u202e\x07") & set(text.getvalue())
    assert "\x1b]8" not in text.getvalue()


def seen(screen: StringIO) -> list[str]:
    """Return what stands on the screen, without the colours that we gave it."""
    from rich.text import Text

    return [line.rstrip() for line in Text.from_ansi(screen.getvalue()).plain.splitlines()]


def expected(name: str) -> str:
    return console.text(name).plain


def night(**more: Any) -> Instance:
    jobs = tuple(
        Job(name=f"{name}{i}", reward=1.0 + i, groups={"[i]team": name}, stages=((1.0, 1.0),))
        for i, name in enumerate(EVIL)
    )
    return Instance(name=EVIL[0], processors=2, deadline=4, jobs=jobs, **more)


def test_terminal_shows_shares_of_a_selection(screen: StringIO) -> None:
    rules = (
        FairShare(by="[i]team", at_most={EVIL[7]: 0.25, EVIL[6]: 0.5}, at_least={EVIL[0]: 0.2}),
    )
    mine = night(constraints=rules)
    results.result(mine, solve(mine))
    lines = seen(screen)
    assert "[bold red]x[/] (dssp)" in lines[0]
    assert any("4 of 8 selected; their demand is 100.0% of the capacity" in line for line in lines)
    table = {cells[1]: cells[2:] for line in lines if (cells := split(line))}
    for name in EVIL:
        assert table[expected(name)][0] == "1"
    assert table[EVIL[7]] == ["1", "1", "25.0%", "25.0%", "25.0%", "", "at its cap", ""]
    assert table[EVIL[0]] == ["1", "1", "25.0%", "25.0%", "", "20.0%", "", ""]


def split(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("│")] if line.startswith("│") else []


def test_terminal_shows_the_first_of_many_nights(screen: StringIO) -> None:
    job = Job(name="j", reward=1, demand=1, critical_path=1.0, groups={"user": "u"})
    mine = Instance(name="many", processors=1, deadline=2, jobs=(job,), nights=1000)
    results.result(mine, solve(mine))
    lines = seen(screen)
    nights = [cells[1] for line in lines if len(cells := split(line)) == 6]
    assert nights == [*map(str, range(1, results.MOST.table)), "all"]
    assert f"... and {1001 - results.MOST.table} more rows; --json has all" in lines


def blank(**more: Any) -> Result:
    told: dict[str, Any] = {
        "instance": "i",
        "problem": "dssp",
        "policy": "p",
        "termination": "completed",
        "solution_status": "feasible",
        "sense": "maximize",
    }
    return Result(**(told | more))


def test_terminal_cuts_thousands_of_violations(screen: StringIO) -> None:
    found = blank(violations=tuple(f"{name} {i}" for i in range(1000) for name in EVIL))
    results.result(night(), found)
    lines = seen(screen)
    assert len(screen.getvalue()) < 10_000
    assert f"... and {8000 - results.MOST.violations:,} violations more; --json has all" in lines
    assert f"violation: {expected(EVIL[4])} 0" in lines


def test_formats_of_numbers_percentages_and_durations() -> None:
    percents = "unknown 0.00% 0.00% 0.00% 0.0001% 0.0099% 0.01% 4.19% -50.00%"
    values = (None, 0.0, 6.2e-17, -6.2e-17, 1.2e-6, 9.9e-5, 0.0001, 0.04187, -0.5)
    assert [percent(value) for value in values] == percents.split()
    numbers = "unknown 0 0 12,345 0.3 1,234,567 1,234.57 0.000123457 1e+20 inf"
    told = (None, 0.0, -0.0, 12345.0, 0.1 + 0.2, 1234567.25, 1234.5678, 0.00012345678, 1e20, inf)
    assert [number(value) for value in told] == numbers.split()
    times = [duration(s) for s in (0, 2e-6, 0.00123, 1.5, 90, 1234, 9000)]
    assert times == ["0 s", "2 µs", "1.23 ms", "1.5 s", "90 s", "21 min", "2.5 h"]
    assert [count_of(n, "run") for n in (0, 1, 1200)] == ["0 runs", "1 run", "1,200 runs"]


def test_natural_order_of_numbered_names() -> None:
    names = ["", "9", "10", "9" * 5000, "a", "team", "team2", "team18b3", "team18b12", "team19"]
    assert sorted([*names[5:], *names[:5]], key=natural) == names
