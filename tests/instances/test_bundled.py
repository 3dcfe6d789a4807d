"""Bundled instances: names that work from any folder and from a wheel, and what their files are."""

import sys
from pathlib import Path

import msgspec
import pytest
from builders.cli import invoked, process, refused
from builders.dssp_delicate import best_exactly
from builders.refusals import refusal

import schedopt
from schedopt.instances import files, schema
from schedopt.instances.constraints import FairShare
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.generators import GENERATORS
from schedopt.instances.examples import examples, find, located
from schedopt.instances.files import PROBLEMS
from schedopt.instances.protocol import problem_name
from schedopt.sweep.sources import instance_files

HOME = Path(files.__file__).parent
BUNDLED = sorted(
    path
    for path in [*HOME.glob("*/*.json"), *HOME.glob("*/*.json.gz")]
    if path.name != "schema.json"
)


def test_every_bundled_instance_has_a_name_of_its_own() -> None:
    assert sorted(example.path for example in examples().values()) == BUNDLED
    assert {example.problem for example in examples().values()} == set(PROBLEMS)


@pytest.mark.parametrize("name", examples())
def test_each_is_what_its_name_says(name: str) -> None:
    instance, example = schedopt.example(name), find(name)
    assert instance.name == name
    assert problem_name(instance) == example.problem
    assert instance.description == example.summary
    assert len(example.summary) > 40
    assert example.path.stat().st_size < 200_000
    assert example.problem != "msfq" or instance.load < 1
    assert schedopt.load(f"example:{name}") == files.load(example.path) == instance


def test_a_name_that_there_is_not() -> None:
    assert "did you mean 'night'" in str(refusal(schedopt.example, "nihgt"))
    assert "an example" in str(refusal(schedopt.load, "example:../../etc/passwd"))
    assert located("examples/night.json") == Path("examples/night.json")


def test_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    invoked("solve", "example:two-shots", "-o", "r.json")
    assert "holds" in invoked("check", "example:two-shots", "r.json")
    (row,) = schedopt.bench("example:two-shots", policies=["greedy"], output="rows.jsonl")
    assert (row.file, row.gap) == ("example:two-shots", 0)
    assert schedopt.bench("example:two-shots", policies=["greedy"], output="rows.jsonl") == [row]
    assert instance_files(["example:night"]) == [Path("example:night")]
    assert "an example" in str(refusal(instance_files, ["example:nobody"]))
    invoked("plot", "example:two-shots")
    assert (tmp_path / "two-shots.png").exists()
    (tmp_path / "link.json").symlink_to(find("two-shots").path)
    assert "another file" in refused("solve", "example:two-shots", "-o", "link.json")


def test_a_wheel_has_them(installed: Path, tmp_path: Path) -> None:
    code = (
        "import schedopt; from schedopt import instances;"
        "from schedopt.instances.examples import examples;"
        "print(instances.__file__, len(examples()), schedopt.example('night').name)"
    )
    found = {"PYTHONPATH": str(installed)}
    done = process(sys.executable, "-c", code, directory=tmp_path, env=found)
    where, count, name = done.stdout.split()
    assert Path(where).is_relative_to(installed)
    assert (int(count), name) == (len(BUNDLED), "night")


FOLDER = Path(files.__file__).parent / "dssp"


def bundled(name: str) -> Instance:
    instance: Instance = files.load(FOLDER / name)
    return instance


def bare(instance: Instance) -> Instance:
    return msgspec.structs.replace(instance, constraints=())


def test_every_kind_is_in_constraints_and_they_hold_together() -> None:
    instance = bundled("constraints.json")
    kinds = {rule.kind() for rule in instance.constraints}
    known = schema.schema("dssp")["$defs"]["Instance"]["properties"]["constraints"]["items"]
    assert kinds == set(known["discriminator"]["mapping"])
    allowed = best_exactly(instance)
    assert allowed < (best_exactly(bare(instance)) or 0)


def test_the_night_is_a_generated_one_with_a_ceiling_for_each_team() -> None:
    instance = bundled("night.json.gz")
    made = GENERATORS["render-night"](89)
    assert instance.jobs == made.jobs
    assert (instance.processors, instance.deadline) == (made.processors, made.deadline)
    (rule,) = instance.constraints
    assert isinstance(rule, FairShare)
    assert rule.at_most.keys() == instance.groups["team"].keys()
