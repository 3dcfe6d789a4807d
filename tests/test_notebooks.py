"""The notebooks run from top to bottom, and say and show what they are stored with."""

import re
from base64 import b64decode
from copy import deepcopy
from io import BytesIO
from pathlib import Path

import nbformat
import numpy as np
import pytest
from builders.cli import ROOT
from matplotlib.image import imread
from nbclient import NotebookClient

SAME = 0.02
"""How far, on the average, colours of a picture drawn anew may be from those of the stored one."""
EMPTY = 0.005
"""Which part of a picture holds more than the white of a page; empty axes have less."""
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


def pictures(notebook: nbformat.NotebookNode) -> list[np.ndarray]:
    """Return the pictures that a notebook shows, as colours between 0 and 1."""
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    data = [out.get("data", {}).get("image/png") for out in outputs]
    return [imread(BytesIO(b64decode(picture)))[..., :3] for picture in data if picture]


def run_anew(stored: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Run notebooks, one after the other in one kernel, which forgets all names between them."""
    fresh = deepcopy(stored)
    whole = nbformat.v4.new_notebook()
    for notebook in fresh:
        whole.cells += [nbformat.v4.new_code_cell("%reset -f"), *notebook.cells]
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell["outputs"] = []
    NotebookClient(whole, timeout=300, resources={"metadata": {"path": ROOT}}).execute()
    return fresh


def test_notebooks_run_and_say_what_they_are_stored_with() -> None:
    every = [nbformat.read(path, as_version=4) for path in NOTEBOOKS]
    for path, stored, notebook in zip(NOTEBOOKS, every, run_anew(every), strict=True):
        assert said(notebook) == said(stored), path
        drawn, kept = pictures(notebook), pictures(stored)
        assert len(drawn) == len(kept) >= 3, path
        for fresh, old in zip(drawn, kept, strict=True):
            # What changed with fonts and edges is little; half an inch: a longer number.
            assert np.abs(np.subtract(fresh.shape, old.shape)).max() <= 60, path
            high, wide = np.minimum(fresh.shape, old.shape)[:2]
            assert np.abs(fresh[:high, :wide] - old[:high, :wide]).mean() < SAME, path
            assert (fresh < 0.9).mean() > EMPTY, path
        assert all(len(text) < 4000 for text in said(stored)), path


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
