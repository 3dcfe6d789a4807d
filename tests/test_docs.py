"""README, pages and notebooks: every command and every line of code runs as it stands."""

import json
import os
import re
import sys
import warnings
from contextlib import chdir, redirect_stdout
from copy import deepcopy
from io import StringIO
from pathlib import Path

import nbformat
import pytest
from builders.cli import ROOT, Ran, process, scripted
from nbclient import NotebookClient

DOCS = ROOT / "docs"
PAGES = sorted(  # those that are written by hand
    path for path in DOCS.rglob("*.md") if not any(part.startswith("_") for part in path.parts)
)
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LASTING = re.compile(r"^\s*(class |@)|jobs=|cluster", re.MULTILINE)
"""What stays in a process, or starts others."""
RECIPE = DOCS / "howto" / "problem.md"
"""Its code is files, which tests/test_contributing.py writes and runs."""
WITH_SNIPPETS = [
    page for page in PAGES if page != RECIPE and BLOCK.search(page.read_text(encoding="utf-8"))
]


def run(*command: str, directory: Path) -> Ran:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = {"PATH": path, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    return process(*command, directory=directory, env=found)


TARGET = re.compile(r"\]\(([^)#\s:]+)(?:#[^)\s]*)?\)")


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.stem)
def test_links_of_a_page_work_in_a_clone(page: Path) -> None:
    targets = TARGET.findall(page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=lambda page: page.stem)
def test_every_snippet_of_a_page_works(page: Path, tmp_path: Path) -> None:
    """Shell lines first and then Python, each in the page's order, as one script each."""
    (tmp_path / "instances").symlink_to(ROOT / "instances")
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    shell = "".join(code for language, code in blocks if language == "sh")
    python = "".join(code for language, code in blocks if language == "python")
    scripted(shell, tmp_path)
    if LASTING.search(python):
        run(sys.executable, "-c", python, directory=tmp_path)
    elif python:  # in this very process: starting another one takes longer than what most do
        with chdir(tmp_path), redirect_stdout(StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(python, {"__name__": "__main__"})  # noqa: S102  ours


def test_the_site_is_built_without_a_warning_and_asks_for_no_network(tmp_path: Path) -> None:
    words = ["-m", "sphinx", "-W", "-q", "-b", "html", str(DOCS), str(tmp_path)]
    words += ["-D", "toc_object_entries=0"]  # in the margins of pages, which take a fifth of all
    run(sys.executable, *words, directory=ROOT)
    pages = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.html")]
    for text in pages:
        for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", text):
            assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", tag), tag
    for style in tmp_path.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", style.read_text("utf-8"))
    mathematics = (tmp_path / "problems" / "hesrpt.html").read_text(encoding="utf-8")
    assert "<math" in mathematics
    assert str(ROOT) not in "".join(pages)
    index = (tmp_path / "searchindex.js").read_text(encoding="utf-8")
    for word in ("backfil", "licenc", "gap", "deadlin"):  # stemmed
        assert re.search(rf'\b"?{word}"?:', index), word


PRINTED = """
import sys
sys.path.insert(0, "docs")
import json, reference
print(json.dumps({name: page() for name, page in reference.PAGES.items()}))
"""


def test_reference_is_what_make_docs_writes() -> None:
    pages = json.loads(run(sys.executable, "-c", PRINTED, directory=ROOT).stdout)
    for name, text in pages.items():
        written = (DOCS / "_reference" / f"{name}.md").read_text(encoding="utf-8")
        assert text == written, f"docs/_reference/{name}.md: run make docs"


TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_command_and_snippet_works(tmp_path: Path) -> None:
    (tmp_path / "instances").symlink_to(ROOT / "instances")
    scripts = "".join(re.findall(r"```sh\n(.*?)```", TEXT, flags=re.DOTALL))
    lines = [line for line in scripts.splitlines() if not line.startswith(("make", "source"))]
    (tmp_path / "snippet.py").write_text("".join(re.findall(r"```python\n(.*?)```", TEXT, re.S)))
    printed = scripted("\n".join([*lines, f"{sys.executable} snippet.py"]), tmp_path)
    assert "optimal" in printed


NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def said(notebook: nbformat.NotebookNode) -> list[str]:
    """Return what each code cell prints and returns, pictures apart."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            texts = [
                out.get("text") or out.get("data", {}).get("text/plain") for out in cell.outputs
            ]
            found.append("".join(text for text in texts if text and "<Figure" not in text))
    return found


def pictures(notebook: nbformat.NotebookNode) -> int:
    """Return the number of pictures that a notebook shows."""
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    return sum("image/png" in out.get("data", {}) for out in outputs)


def run_anew(stored: list[nbformat.NotebookNode], folder: Path) -> list[nbformat.NotebookNode]:
    """Run notebooks in a folder, one after the other in one kernel.

    The kernel forgets all names between them.
    """
    fresh = deepcopy(stored)
    whole = nbformat.v4.new_notebook()
    for notebook in fresh:
        whole.cells += [nbformat.v4.new_code_cell("%reset -f"), *notebook.cells]
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell["outputs"] = []
    client = NotebookClient(whole, timeout=300, resources={"metadata": {"path": folder}})
    client.execute(env=os.environ | {"PYTHONPATH": str(ROOT)})
    return fresh


def test_notebooks_run_and_say_what_they_are_stored_with(tmp_path: Path) -> None:
    """An empty folder is all that they need."""
    every = [nbformat.read(path, as_version=4) for path in NOTEBOOKS]
    fresh = run_anew(every, tmp_path)
    assert not [*tmp_path.iterdir()]
    for path, stored, notebook in zip(NOTEBOOKS, every, fresh, strict=True):
        assert said(notebook) == said(stored), path
        assert pictures(notebook) == pictures(stored) >= 3, path


def test_student_notebooks_have_no_answers(tmp_path: Path) -> None:
    run(sys.executable, str(ROOT / "notebooks" / "student.py"), str(tmp_path), directory=ROOT)
    for path in NOTEBOOKS:
        whole = nbformat.read(path, as_version=4)
        student = nbformat.read(tmp_path / path.name, as_version=4)
        pairs = list(zip(whole.cells, student.cells, strict=True))
        answers = [pair for pair in pairs if "answer" in pair[0].metadata.get("tags", ())]
        assert answers, path
        assert {kept.source for _, kept in answers} <= {"", "# Your answer"}
        assert all(
            cell.source == kept.source for cell, kept in pairs if (cell, kept) not in answers
        )
        assert not any(kept.get("outputs") for _, kept in pairs)
