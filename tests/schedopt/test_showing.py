"""What instances and results look like at a prompt and in a notebook."""

from __future__ import annotations

import msgspec
import pytest

import schedopt
from schedopt.problems import problems


@pytest.mark.parametrize("name", [record.name for record in problems()])
def test_an_instance_is_shown_in_a_line_however_large_it_is(name: str) -> None:
    instance = schedopt.generate(name, seed=1)
    text = repr(instance)
    assert len(text) < 300
    assert f"<{name} {instance.name!r}: " in text
    assert "<table>" in instance._repr_html_()


def test_counts_and_numbers_are_those_of_the_instance() -> None:
    assert repr(schedopt.example("fig8")) == "<epoch 'fig8': nodes 16, inequity 0, 5 jobs>"


def test_a_result_says_what_came_of_it_and_is_escaped() -> None:
    night = msgspec.structs.replace(schedopt.example("two-shots"), name="<b>&")
    result = schedopt.solve(night)
    assert "optimal" in repr(result)
    assert "objective 9" in repr(result)
    assert len(repr(schedopt.evaluate(schedopt.example("night"), "greedy"))) < 300
    page = result._repr_html_()
    assert "&lt;b&gt;&amp;" in page
    assert "<b>" not in page
