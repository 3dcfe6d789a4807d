"""A browser for all tests that look at a page, and the page that most of them look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from builders.reports import EVIL, ROWS

if TYPE_CHECKING:
    from builders.browser import Browser


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    from builders.browser import started

    yield from started(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="session")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a report of 155 runs whose gaps are known, and of names that would do harm."""
    from schedopt.report import write

    target = tmp_path_factory.mktemp("report") / "report.html"
    write(ROWS, target, failures=EVIL)
    return target


@pytest.fixture
def page(chromium: Browser, invented: Path) -> Iterator[Browser]:
    from builders.browser import opened

    yield from opened(chromium, invented)
