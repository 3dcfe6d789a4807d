"""Settings for all tests: time limits, signals, and no deadline for single examples."""

import gc
import signal
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from builders.cli import ROOT
from builders.effort import ALL, examples
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture.providers import Constants, HypothesisProvider

SLOW = 3600
"""Seconds that a full-size run may take; what the others may is in pyproject.toml."""

for profile, fixed in (("fixed", True), ("explore", False)):
    settings.register_profile(
        profile,
        derandomize=fixed,
        database=None,
        deadline=None,
        max_examples=examples(100),
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
    )
settings.load_profile("fixed")

# Hypothesis also draws constants that it finds in the modules imported so far. Then the examples of
# a test would depend on the tests before it.
HypothesisProvider._local_constants = Constants()  # type: ignore[assignment]


def pytest_configure() -> None:
    """Take Ctrl-C also where it is ignored from the start, as in ``nohup make test &``.

    Processes that tests start would inherit that, and wait for ever for what tests send them.
    """
    gc.set_threshold(100_000, 20, 20)  # looking for garbage among all that is loaded takes 4%
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack a wheel that is made from the sdist."""
    made = tmp_path_factory.mktemp("made")

    def build(kind: str, source: Path) -> None:
        command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(made)]
        subprocess.run(command, cwd=source, check=True, capture_output=True)

    build("sdist", ROOT)
    (sdist,) = made.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(made, filter="data")
    build("wheel", made / sdist.name.removesuffix(".tar.gz"))
    (wheel,) = made.glob("*.whl")
    target = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(target)  # noqa: S202  our own
    return target


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: "notebooks_run" not in item.name)  # the longest goes first
    for item in items:
        if item.get_closest_marker("slow"):
            if not ALL:
                item.add_marker(pytest.mark.skip(reason="make test-all runs it in full"))
            elif not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(SLOW))
