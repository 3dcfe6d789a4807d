"""The notebooks run from top to bottom, and say and show what they are stored with."""

import re
from pathlib import Path

import nbformat
import pytest
from builders.cli import ROOT
from nbclient import NotebookClient

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
    """Return how many pictures a notebook shows."""
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    return sum("image/png" in out.get("data", {}) for out in outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_says_what_it_is_stored_with(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell["outputs"] = []
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": ROOT}}).execute()
    assert said(notebook) == said(stored)
    assert pictures(notebook) == pictures(stored) >= 3
    assert all(len(text) < 4000 for text in said(stored))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_asks_and_has_exercises_with_answers(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    assert re.match(r"# .*\?", cells[0].source)
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    exercises = text.split("## Exercises")[1].split("### Answers")[0]
    assert re.findall(r"^(\d)\. ", exercises, re.MULTILINE) == ["1", "2", "3"]
    assert "try next" in cells[-1].source
    answers = next(i for i, cell in enumerate(cells) if "### Answers" in cell.source)
    assert cells[answers + 1].cell_type == "code"
