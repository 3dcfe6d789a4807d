"""The command line, run as users run it."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from pytest import MonkeyPatch
from typer.testing import CliRunner

from schedopt import terminal
from schedopt.__main__ import main
from schedopt.cli import app
from schedopt.instances.errors import InputError
from schedopt.policies.from_file import load_only

ROOT = Path(__file__).parent.parent.parent
COMMAND = [sys.executable, "-m", "schedopt"]


class Ran(NamedTuple):
    """What a verb printed."""

    stdout: str
    stderr: str


def run(*words: object, status: int | None = 0, directory: Path = ROOT) -> Ran:
    """Run a verb by `main`, in this very process; it must end with this status, or with any.

    Starting another process for each would take longer than what most of them do.
    """
    out, err = (TextIOWrapper(BytesIO(), encoding="utf-8") for _ in range(2))
    ended: object = None
    with chdir(directory), redirect_stdout(out), redirect_stderr(err), MonkeyPatch.context() as on:
        on.setattr(sys, "argv", ["schedopt", *map(str, words)])
        on.setattr(terminal.out, "width", 120)  # as on a pipe, whoever made the console
        try:
            main()
        except SystemExit as stopped:
            ended = stopped.code
    said = Ran(*(_written(each) for each in (out, err)))
    assert status is None or ended == status, (ended, said)
    return said


def _written(stream: TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def process(
    *words: object, status: int = 0, directory: Path = ROOT, env: Any = None, **more: Any
) -> Ran:
    """Run a command, with more in its environment if so told; it must end with this status."""
    more |= {"cwd": directory, "env": {**os.environ, **(env or {})}}
    command = [*map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert done.returncode == status, (done.returncode, words, done.stdout, done.stderr)
    return Ran(done.stdout, done.stderr)


def started(*words: object, **more: Any) -> Ran:
    """Run a verb as users do; it must end as it should, and never with a traceback."""
    done = process(*COMMAND, *words, **more)
    assert "Traceback" not in done.stderr
    return done


def invoked(*words: object) -> str:
    """Run a verb in this very process, which must succeed; return what it prints."""
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, (done.exception, done.output)
    return done.stdout


def refused(*words: object) -> str:
    """Run a verb in this very process, which must refuse its input; return what it says."""
    done = CliRunner().invoke(app, [*map(str, words)])
    assert isinstance(done.exception, InputError), (done.exception, done.output)
    assert done.stdout == ""
    return str(done.exception)


SHELL = re.compile(r"[|&;<>$`*?~(){}\\#]")
"""What a line needs a shell for."""

KEEPS = re.compile(r"^\s*(?:(?:cd|export|source|set|for|while|if)\b|\w+=)", re.MULTILINE)
"""What the lines after it depend on."""


def scripted(text: str, folder: Path) -> str:
    """Run a script in a folder, line by line, and return what it prints; all must succeed.

    Lines that need no shell are run in this very process: starting another one for each of them
    would take longer than what they do.
    """
    lines = _lines(text)
    if KEEPS.search(text):
        return _shell(lines, folder)
    printed = []
    for ours, group in groupby(lines, lambda line: line.startswith("schedopt ") and not _odd(line)):
        if not ours:
            printed.append(_shell(list(group), folder))
            continue
        with chdir(folder):
            for line in group:
                printed.append(invoked(*shlex.split(line, comments=True)[1:]))
                load_only(())  # policies of a file would stay registered in this process
    return "".join(printed)


def _lines(text: str) -> list[str]:
    """Return the lines of a script, each with those that continue it, or that it reads itself."""
    lines: list[str] = []
    end = None
    for line in text.replace("\\\n", " ").splitlines():
        if end is not None:
            lines[-1] += f"\n{line}"
            end = None if line == end else end
        elif line.strip():
            lines.append(line)
            here = re.search(r"<<-?\s*['\"]?(\w+)", line)
            end = here and here[1]
    return lines


def _odd(line: str) -> bool:
    bare = re.sub(r"'[^']*'|\"[^\"$`]*\"", "", line.partition("  #")[0])
    return bool(SHELL.search(bare))


def _shell(lines: list[str], folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = {"PATH": path, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    return process("bash", "-euc", "\n".join(lines), directory=folder, env=found).stdout
