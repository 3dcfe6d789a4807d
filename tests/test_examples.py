"""The random examples of `make test` are the same each time, in any order of tests."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def draw_examples() -> list[Any]:
    """Return what the default profile draws for a test."""
    drawn = []

    @settings(settings.get_profile("fixed"), max_examples=200)
    @given(st.integers() | st.text(), st.floats())
    def test(whole_or_text: int | str, number: float) -> None:
        drawn.append((whole_or_text, repr(number)))

    test()
    return drawn


def test_examples_do_not_depend_on_the_modules_imported_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = draw_examples()
    constants = [*range(10**9, 10**9 + 500), *(f"text {i}" for i in range(500))]
    (tmp_path / "full_of_constants.py").write_text(f"CONSTANTS = {constants}", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import_module("full_of_constants")
    assert draw_examples() == before
