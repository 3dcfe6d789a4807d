"""Settings for all tests: time limits, signals, and no deadline for single examples."""

from __future__ import annotations

import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from builders.effort import ALL, examples
from hypothesis import HealthCheck, settings

SLOW = 3600
"""Seconds that a full-size run may take; what the others may is in pyproject.toml."""

settings.register_profile(
    "schedopt",
    deadline=None,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("schedopt")


def pytest_configure() -> None:
    """Take Ctrl-C also where it is ignored from the start, as in ``nohup make test &``.

    Processes that tests start would inherit that, and wait for ever for what tests send them.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what a wheel of the project installs."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=Path(__file__).parent.parent, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "installed")
    return folder / "installed"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow"):
            if not ALL:
                item.add_marker(pytest.mark.skip(reason="make test-all runs it in full"))
            elif not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(SLOW))
