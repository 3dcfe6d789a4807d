"""Values on the command line are what typer makes of them, mostly without asking it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from schedopt.cli.values import Application

SHOWN: list[Any] = []


def verb(
    *,
    number: Annotated[int, typer.Option()] = 3,
    share: Annotated[float | None, typer.Option()] = None,
    text: Annotated[str | None, typer.Option()] = None,
    path: Annotated[Path | None, typer.Option()] = None,
    seed: Annotated[list[int] | None, typer.Option()] = None,
    option: Annotated[list[str] | None, typer.Option()] = None,
    file: Annotated[list[Path] | None, typer.Option()] = None,
    loud: Annotated[bool, typer.Option("--loud")] = False,
) -> None:
    SHOWN.append((number, share, text, path, seed, option, file, loud))


def given_to(application: typer.Typer, words: list[str]) -> tuple[int, list[Any], str]:
    application.command()(verb)
    SHOWN.clear()
    done = CliRunner().invoke(application, words)
    return done.exit_code, list(SHOWN), done.stderr


NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats(allow_nan=False).map(str),
    st.sampled_from(
        ["1_0", " 7", "+4", "1.", ".5", "1e3", "0x1", "nan", "\u0663", "007", "-0", ""]
    ),
)
TEXTS = st.one_of(st.text("ab\u00e9 =-.", max_size=4), NUMBERS)
PATHS = st.one_of(TEXTS, st.sampled_from(["/", ".", "pyproject.toml", "-", "/root/none", "a/../b"]))


@given(number=NUMBERS, share=NUMBERS, text=TEXTS, path=PATHS, several=st.lists(NUMBERS, max_size=2))
@example(number="3", share="0.5", text="x", path="pyproject.toml", several=["1", "2"])
def test_they_are_what_typer_makes_of_them(
    number: str, share: str, text: str, path: str, several: list[str]
) -> None:
    words = [f"--number={number}", f"--share={share}", f"--text={text}", f"--path={path}"]
    for flag in ("seed", "option", "file"):
        words += [f"--{flag}={one}" for one in several]
    for part in (words, words[:1], words[1:4], words[4:], ["--loud"], []):
        assert repr(given_to(Application(), part)) == repr(given_to(typer.Typer(), part))


@pytest.mark.parametrize("words", [["list", "problems"], ["solve", "example:two-shots"]])
def test_a_verb_does_without_pydantic(words: list[str]) -> None:
    script = (
        "import sys\nfrom schedopt.cli import app\n"
        f"app({words!r}, standalone_mode=False)\nassert 'pydantic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
