"""The command line, run as users run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from instances.errors import InputError
from schedopt.cli import app

ROOT = Path(__file__).parent.parent.parent
COMMAND = [sys.executable, "-m", "schedopt"]


def run(
    *words: object, status: int = 0, directory: Path = ROOT, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run a verb; it must end with this status, and never with a traceback."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        capture_output=True,
        text=True,
        cwd=directory,
        check=False,
        **more,
    )
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
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
