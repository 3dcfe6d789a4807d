"""WfFormat workflows as dssp jobs: levels, runtimes, versions, and what is refused."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders.effort import examples
from builders.refusals import refusal
from hypothesis import given, settings
from hypothesis import strategies as st

from schedopt.instances import files
from schedopt.instances.dssp import wfformat
from schedopt.instances.errors import InputError

REPOSITORY = Path(files.__file__).resolve().parents[1]
REAL = sorted((REPOSITORY.parent / "shared" / "data" / "wfcommons").glob("*.json.gz"))

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


def test_wfformat_diamond_has_three_stages(tmp_path: Path) -> None:
    path = saved(tmp_path, document(DIAMOND, runtimeSystem={"name": "Pegasus", "version": "5"}))
    instance = wfformat.convert(path, processors=4, deadline=60)
    (job,) = instance.jobs
    assert job.stages == ((2.0,), (3.0, 5.0), (1.0,))
    assert (job.name, job.reward, job.priority) == ("flow", 11.0, 0.0)
    assert job.groups == {"workflow": "w", "system": "Pegasus"}
    assert (instance.name, instance.processors, instance.deadline) == ("flow", 4, 60.0)
    assert "1 workflow with 4 tasks" in (instance.description or "")


def test_wfformat_unites_parents_and_children(tmp_path: Path) -> None:
    content = document({"a": (1.0, ["b"]), "b": (1.0, []), "c": (1.0, [])})
    content["workflow"]["specification"]["tasks"][2]["parents"] = ["b", "a"]
    flow = wfformat.load(saved(tmp_path, content))
    assert wfformat.stages_by_level(flow) == ((1.0,), (1.0,), (1.0,))
    assert flow.parents == ((), (0,), (1, 0))


def test_wfformat_files_become_one_instance(tmp_path: Path) -> None:
    paths = [
        saved(tmp_path / str(k), document(DIAMOND), name)
        for k, name in enumerate(["a.json", "a.json.gz", "a-2.json", "b.json"])
    ]
    instance = wfformat.convert(paths, name="night", processors=1, deadline=1, reward="linear")
    assert [job.name for job in instance.jobs] == ["a", "a-3", "a-2", "b"]
    assert [job.priority for job in instance.jobs] == [0.0, 1.0, 2.0, 3.0]
    assert instance.rewards.tolist() == [500.0, 499.0, 498.0, 497.0]
    assert instance.groups["workflow"] == {"w": [0, 1, 2, 3]}
    assert files.parse(files.encode(instance)) == instance


SPEC, RAN = "workflow.specification.tasks", "workflow.execution.tasks"
Change = Callable[[Any, Any], object]
WRONG: list[tuple[dict[str, Any], Change | None, str]] = [  # tasks more, what is done to both lists
    ({"b": (1.0, ["x"]), "x": (1.0, ["b"])}, None, f"{SPEC}[1]: found one through 'b'; expected"),
    ({"x": (1.0, ["a", "aa"])}, None, f"{SPEC}[4].children[1]: found 'aa'; expected the id of a"),
    ({"x": (-1, [])}, None, f"{RAN}[4].runtimeInSeconds: Expected"),
    ({}, lambda spec, _: spec[1].update(parents=["zz"]), f"{SPEC}[1].parents[0]: found 'zz';"),
    ({}, lambda _, ran: ran.pop(3), f"{SPEC}[3]: found none for 'd'; expected a runtime"),
    ({}, lambda _, ran: ran.append({"id": "zz", "runtimeInSeconds": 1}), f"{RAN}[4].id: found"),
    ({}, lambda _, ran: ran.append({"id": "a", "runtimeInSeconds": 1}), "an id of its own"),
    ({}, lambda spec, _: spec.append({"id": "a"}), f"{SPEC}[4]: found 'a'; expected an id of its"),
    ({}, lambda spec, _: spec.clear(), f"{SPEC}: Expected"),
]


@pytest.mark.parametrize(("tasks", "change", "says"), WRONG, ids=range(len(WRONG)))
def test_wfformat_refuses_bad_documents(
    tasks: dict[str, Any], change: Change | None, says: str, tmp_path: Path
) -> None:
    content = document({**DIAMOND, **tasks})
    workflow: Any = content["workflow"]
    if change:
        change(workflow["specification"]["tasks"], workflow["execution"]["tasks"])
    path = saved(tmp_path, content)
    assert f"{path}: " in str(error := refusal(wfformat.convert, path, processors=1, deadline=1))
    assert says in str(error)


@pytest.mark.parametrize(
    ("options", "place", "words"),
    [
        ({"processors": None}, "option", "option 'processors'"),
        ({"deadline": None}, "option", "option 'deadline'"),
        ({"reward": "best"}, "option reward", "one of linear, size, banded"),
    ],
)
def test_wfformat_refuses_wrong_options(
    tmp_path: Path, options: dict[str, Any], place: str, words: str
) -> None:
    path = saved(tmp_path, document(DIAMOND))
    with pytest.raises(InputError, match=words) as caught:
        wfformat.convert(path, **{"processors": 1, "deadline": 1, **options})
    assert caught.value.place == place


@given(st.data())
@settings(max_examples=examples(80), deadline=None)
def test_wfformat_levels_keep_every_dependency(data: st.DataObject) -> None:
    """A random graph: no edge inside a level or back."""
    count = data.draw(st.integers(1, 12))
    edges = data.draw(st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))))
    parents = tuple(tuple(a for a, b in edges if a < b == j) for j in range(count))
    numbers = tuple(map(float, range(count)))
    flow = wfformat.Workflow({}, numbers, parents, tuple(range(count)))
    level = {int(t): g for g, stage in enumerate(wfformat.stages_by_level(flow)) for t in stage}
    assert sorted(level) == list(range(count))
    assert all(level[a] < level[j] for j in range(count) for a in parents[j])


@pytest.mark.skipif(not REAL, reason="the real traces are not here")
def test_wfformat_keeps_tasks_and_demand_of_real_workflows() -> None:
    instance = wfformat.convert(REAL, name="real", processors=100, deadline=3600)
    assert len(instance.jobs) == len(REAL)
    flows = [wfformat.load(path) for path in REAL]
    for job, flow in zip(instance.jobs, flows, strict=True):
        assert sum(map(len, job.stages or ())) == len(flow.runtimes)
        assert job.planned_demand == pytest.approx(sum(flow.runtimes))
    assert instance.groups["system"].keys() == {"Pegasus", "Makeflow", "Nextflow"}
    assert files.parse(files.encode(instance)) == instance
