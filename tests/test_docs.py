"""The documentation site: every snippet runs, it builds without warnings, and needs no network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(  # those that are written by hand
    path for path in DOCS.rglob("*.md") if not any(part.startswith("_") for part in path.parts)
)
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WITH_SNIPPETS = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=lambda page: page.stem)
def test_every_snippet_of_a_page_works(page: Path, tmp_path: Path) -> None:
    """Shell lines first and then Python, each in the page's order, as one script each."""
    (tmp_path / "instances").symlink_to(ROOT / "instances")
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    shell = "".join(code for language, code in blocks if language == "sh")
    python = "".join(code for language, code in blocks if language == "python")
    for command in (["bash", "-euc", shell], [sys.executable, "-c", python]):
        done = run(command, tmp_path)
        assert done.returncode == 0, done.stderr


def test_there_are_snippets_to_run() -> None:
    stems = {page.stem for page in WITH_SNIPPETS}
    assert stems >= {"index", "dssp", "hesrpt", "epoch", "msfq", "traces", "cluster", "constraint"}


ORDER = ["words", "mathematics", "example", "result", "constraints", "speed", "sources"]


@pytest.mark.parametrize("problem", ["dssp", "hesrpt", "epoch", "msfq"])
def test_a_problem_s_page_keeps_the_order(problem: str) -> None:
    text = (DOCS / "problems" / f"{problem}.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    rest = iter(headings)  # further headings may stand between these
    assert all(any(word in heading.lower() for heading in rest) for word in ORDER), headings


def test_the_site_is_built_without_a_warning_and_asks_for_no_network(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(DOCS), str(tmp_path)]
    done = run(command, ROOT)
    assert done.returncode == 0, done.stderr
    pages = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.html")]
    assert len(pages) >= len(PAGES)
    for text in pages:
        for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", text):
            assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", tag), tag
    for style in tmp_path.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", style.read_text("utf-8"))
    mathematics = (tmp_path / "problems" / "hesrpt.html").read_text(encoding="utf-8")
    assert mathematics.count("<math") > 5
    assert str(ROOT) not in "".join(pages)


def test_make_docs_is_the_same_command() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "-m sphinx -W --keep-going -q -b html docs build/docs" in makefile
