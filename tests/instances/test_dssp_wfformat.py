"""WfFormat workflows as dssp jobs: levels, run times, and what is refused."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from builders.refusals import refusal

from schedopt.instances.dssp import wfformat

DIAMOND = {"a": (2.0, ["b", "c"]), "b": (3.0, ["d"]), "c": (5.0, ["d"]), "d": (1.0, [])}


def document(tasks: dict[str, tuple[float, list[str]]], **more: Any) -> dict[str, Any]:
    """Make a 1.5 document of tasks given as id: (runtime, children)."""
    listed = [{"name": f"n-{i}", "id": i, "children": c} for i, (_, c) in tasks.items()]
    ran = [{"id": i, "runtimeInSeconds": t, "coreCount": 1} for i, (t, _) in tasks.items()]
    workflow = {"specification": {"tasks": listed}, "execution": {"tasks": ran}}
    return {"name": "w", "schemaVersion": "1.5", "workflow": workflow, **more}


def saved(tmp_path: Path, content: dict[str, Any], name: str = "flow.json") -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps(content).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def test_wfformat_files_become_jobs_of_levels(tmp_path: Path) -> None:
    first = saved(tmp_path, document(DIAMOND, runtimeSystem={"name": "Pegasus", "version": "5"}))
    chain = document({"a": (1.0, ["b"]), "b": (1.0, []), "c": (1.0, [])})
    chain["workflow"]["specification"]["tasks"][2]["parents"] = ["b", "a"]
    second = saved(tmp_path, chain, "chain.json.gz")
    instance = wfformat.convert([first, second], processors=4, deadline=60)
    a, b = instance.jobs
    assert a.stages == ((2.0,), (3.0, 5.0), (1.0,))
    assert b.stages == ((1.0,), (1.0,), (1.0,))
    assert (a.name, a.reward, a.priority) == ("flow", 11.0, 0.0)
    assert (b.name, b.reward, b.priority) == ("chain", 3.0, 1.0)
    assert (a.groups, b.groups) == ({"workflow": "w", "system": "Pegasus"}, {"workflow": "w"})
    assert (instance.name, instance.processors, instance.deadline) == ("flow and 1 more", 4, 60.0)
    assert "2 workflows with 7 tasks" in (instance.description or "")


SPEC, RAN = "workflow.specification.tasks", "workflow.execution.tasks"


@pytest.mark.parametrize(
    ("tasks", "says"),
    [
        ({"b": (1.0, ["x"]), "x": (1.0, ["b"])}, f"{SPEC}: found one through "),
        ({"x": (1.0, ["a", "aa"])}, f"{SPEC}[4]: found 'aa'; expected the id of a"),
        ({"x": (-1, [])}, f"{RAN}[4].runtimeInSeconds: Expected"),
        ({"x": (None, [])}, f"{RAN}[4].runtimeInSeconds: Expected"),
    ],
)
def test_wfformat_refuses_bad_documents(tasks: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = saved(tmp_path, document({**DIAMOND, **tasks}))
    error = str(refusal(wfformat.convert, path, processors=1, deadline=1))
    assert error.startswith(f"{path}: ")
    assert says in error


def test_wfformat_refuses_a_task_without_a_run_time(tmp_path: Path) -> None:
    content = document(DIAMOND)
    content["workflow"]["execution"]["tasks"].pop()
    path = saved(tmp_path, content)
    assert "found none for 'd'" in str(refusal(wfformat.convert, path, processors=1, deadline=1))
    assert "option 'deadline'" in str(refusal(wfformat.convert, path, processors=1))
