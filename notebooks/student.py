"""Write copies of the notebooks without answers and outputs (``make notebooks-student``).

A cell with the tag ``answer`` is emptied: a code cell keeps a comment, a text cell keeps nothing.

``python notebooks/student.py FOLDER``
"""

import sys
from pathlib import Path

import nbformat

NOTEBOOKS = Path(__file__).parent
TAG = "answer"
PLACEHOLDER = "# Your answer"


def without_answers(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return the notebook with empty answers and no outputs. The notebook itself is changed."""
    for cell in notebook.cells:
        is_code = cell.cell_type == "code"
        if TAG in cell.metadata.get("tags", ()):
            cell.source = PLACEHOLDER if is_code else ""
        if is_code:
            cell.outputs, cell.execution_count = [], None
    return notebook


def main(folder: Path) -> None:
    """Write a copy of each notebook into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = without_answers(nbformat.read(path, as_version=4))
        nbformat.write(notebook, folder / path.name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
