"""What instances, results and numbers look like: at a prompt, in a notebook, in words."""

import re
from math import inf

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import schedopt
from schedopt.formats import counted, duration, natural, number, percent, signed
from schedopt.problems import problems


@pytest.mark.parametrize("name", [record.name for record in problems()])
def test_an_instance_is_shown_in_a_line_however_large_it_is(name: str) -> None:
    instance = schedopt.generate(name, seed=1)
    text = repr(instance)
    assert len(text) < 300
    assert f"<{name} {instance.name!r}: " in text
    assert "<table>" in instance._repr_html_()


def test_a_result_says_what_came_of_it_and_is_escaped() -> None:
    night = msgspec.structs.replace(schedopt.example("two-shots"), name="<b>&")
    result = schedopt.solve(night)
    assert "optimal" in repr(result)
    assert "objective 9" in repr(result)
    assert len(repr(schedopt.evaluate(schedopt.example("night"), "greedy"))) < 300
    page = result._repr_html_()
    assert "&lt;b&gt;&amp;" in page
    assert "<b>" not in page


def test_numbers_percentages_durations_and_counts() -> None:
    percents = "unknown 0.00% 0.00% 0.00% <0.0001% >-0.0001% 0.0001% 0.0099% 0.01% 4.19% -50.00%"
    values = (None, 0.0, 6.2e-17, -6.2e-17, 2e-9, -2e-9, 1.2e-6, 9.9e-5, 0.0001, 0.04187, -0.5)
    assert [percent(value) for value in values] == percents.split()
    numbers = "unknown 0 0 12,345 0.3 1,234,567 1,234.57 0.000123457 1e+20 inf"
    told = (None, 0.0, -0.0, 12345.0, 0.1 + 0.2, 1234567.25, 1234.5678, 0.00012345678, 1e20, inf)
    assert [number(value) for value in told] == numbers.split()
    times = [duration(s) for s in (0, 2e-6, 0.00123, 1.5, 90, 1234, 9000)]
    assert times == ["0 s", "2 µs", "1.23 ms", "1.5 s", "90 s", "21 min", "2.5 h"]
    assert [counted(n, "run") for n in (0, 1, 1200)] == ["0 runs", "1 run", "1,200 runs"]


@given(st.floats(-1e6, 1e6))
def test_a_percentage_never_has_an_exponent_and_is_near_the_number(value: float) -> None:
    text = percent(value)
    assert re.fullmatch(r"-?\d+\.\d\d(\d\d)?%|<0\.0001%|>-0\.0001%", text)
    if text[0] not in "<>":
        assert float(text[:-1]) == pytest.approx(100 * value, abs=0.5000001e-2, rel=1e-12)
    assert signed(value).startswith("+") == (value > 1e-9)


def test_names_are_sorted_as_people_number_them() -> None:
    names = ["", "9", "10", "9" * 5000, "a", "team", "team2", "team18b3", "team18b12", "team19"]
    assert sorted([*names[5:], *names[:5]], key=natural) == names
