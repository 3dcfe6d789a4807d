"""The bundled dssp instances: each loads, keeps to the schema, and shows what it says."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import fsum
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from schedopt.instances import files, schema
from schedopt.instances.constraints import (
    Apart,
    AtLeast,
    AtMost,
    Constraint,
    FairShare,
    Forbid,
    Imply,
    Require,
    Resource,
    Seats,
    Together,
    label,
)
from schedopt.instances.dssp import Instance, jobtable, selected
from schedopt.instances.dssp.generators import GENERATORS

FOLDER = Path(files.__file__).parent / "dssp"
FILES = sorted(path for path in FOLDER.glob("*.json*") if path.name != "schema.json")


def bundled(name: str) -> Instance:
    instance: Instance = files.load(FOLDER / name)
    return instance


def kept(instance: Instance, chosen: frozenset[str], rule: Constraint) -> bool:
    """Tell whether a selection keeps a rule; the plain meaning, for these small files only."""
    match rule:
        case FairShare():
            good = all(shares_kept(instance, chosen, rule))
        case Require():
            good = chosen.issuperset(rule.jobs)
        case Forbid():
            good = chosen.isdisjoint(rule.jobs)
        case Imply():
            good = rule.if_ not in chosen or rule.then in chosen
        case Together():
            good = len(chosen.intersection(rule.jobs)) in (0, len(rule.jobs))
        case Apart():
            good = len(chosen.intersection(rule.jobs)) <= 1
        case AtMost() | AtLeast():
            members = rule.jobs or [
                instance.jobs[j].name for j in instance.groups[rule.by or ""][rule.group or ""]
            ]
            count = len(chosen.intersection(members))
            good = count <= rule.count if isinstance(rule, AtMost) else count >= rule.count
        case Resource():
            good = fsum(rule.use.get(name, 0) for name in chosen) <= rule.capacity
        case Seats():
            held = fsum(
                rule.use.get(name, 0) * instance.demands[instance.index[name]] for name in chosen
            )
            good = held <= rule.capacity * instance.deadline
        case _:
            raise NotImplementedError(rule)
    return good


def shares_kept(instance: Instance, chosen: frozenset[str], rule: FairShare) -> Iterator[bool]:
    """Tell for each bound of a fair share (of the capacity) whether it is kept."""
    assert rule.of == "capacity"
    for group, jobs in instance.groups[rule.by].items():
        got = fsum(instance.demands[j] for j in jobs if instance.jobs[j].name in chosen)
        whole = fsum(instance.demands[j] for j in jobs)
        yield got <= rule.at_most.get(group, 1) * instance.capacity()
        yield got >= min(rule.at_least.get(group, 0) * instance.capacity(), whole)


def selections(instance: Instance) -> list[frozenset[str]]:
    """List every selection that fits into the capacity and holds no hopeless job."""
    hopeful = [job for j, job in enumerate(instance.jobs) if instance.in_time[j]]
    return [
        frozenset(job.name for job in some)
        for size in range(len(hopeful) + 1)
        for some in combinations(hopeful, size)
        if fsum(job.planned_demand for job in some) <= instance.room()
    ]


def possible(
    instance: Instance, of: Sequence[frozenset[str]], rules: Iterable[Constraint]
) -> list[frozenset[str]]:
    rules = list(rules)
    return [chosen for chosen in of if all(kept(instance, chosen, rule) for rule in rules)]


def best(instance: Instance, of: Iterable[frozenset[str]]) -> float:
    return max(fsum(instance.jobs[instance.index[n]].reward for n in chosen) for chosen in of)


def test_the_files_are_those_expected() -> None:
    assert [path.name for path in FILES] == [
        "conflict.json", "constraints.json", "evening.json", "greedy-trap.json", "night.json.gz",
        "predictions.json", "two-shots.json",
    ]  # fmt: skip


def check_keys(value: Any, node: dict[str, Any], definitions: dict[str, Any]) -> None:
    """Check by hand that a value has only keys of the schema, and those that it requires."""
    if "$ref" in node:
        node = definitions[node["$ref"].removeprefix("#/$defs/")]
    if "discriminator" in node:
        mapping = node["discriminator"]["mapping"]
        node = definitions[mapping[value["kind"]].removeprefix("#/$defs/")]
    if isinstance(value, dict) and "properties" in node:
        assert value.keys() <= node["properties"].keys()
        assert value.keys() >= set(node["required"])
        for key, inner in value.items():
            check_keys(inner, node["properties"][key], definitions)
    elif isinstance(value, list) and "items" in node:
        for inner in value:
            check_keys(inner, node["items"], definitions)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_uses_only_keys_of_the_schema(path: Path) -> None:
    data = path.read_bytes()
    document = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    known = schema.schema("dssp")
    check_keys(document, {"$ref": known["$ref"]}, known["$defs"])


def test_two_shots_is_the_contract_s() -> None:
    instance = bundled("two-shots.json")
    assert best(instance, selections(instance)) == 9.0
    assert instance.demands.tolist() == [9.0, 9.0]


def test_greedy_falls_into_the_trap() -> None:
    instance = bundled("greedy-trap.json")
    density = instance.rewards / instance.demands
    assert density[0] > density[1]
    assert instance.demands.sum() > instance.capacity()
    assert best(instance, selections(instance)) == 1000.0


def test_the_conflict_is_of_three_constraints_among_thirteen() -> None:
    instance = bundled("conflict.json")
    fitting = selections(instance)
    guilty = {"lighting-floor", "fx-floor", "trailer-tonight"}
    rules = {label(rule, i): rule for i, rule in enumerate(instance.constraints)}
    assert len(rules) == 13
    assert all(rule.name for rule in instance.constraints)
    assert not possible(instance, fitting, (rules[name] for name in guilty))
    for innocent in guilty:  # without any one of the three, all the others hold together
        others = [rule for name, rule in rules.items() if name != innocent]
        assert possible(instance, fitting, others)


def test_every_kind_is_in_constraints_and_they_hold_together() -> None:
    instance = bundled("constraints.json")
    kinds = {rule.kind() for rule in instance.constraints}
    known = schema.schema("dssp")["$defs"]["Instance"]["properties"]["constraints"]["items"]
    assert kinds == set(known["discriminator"]["mapping"])
    fitting = selections(instance)
    allowed = possible(instance, fitting, instance.constraints)
    assert allowed
    assert best(instance, allowed) < best(instance, fitting)


def test_predictions_differ_from_what_happens() -> None:
    instance = bundled("predictions.json")
    planned = possible(instance, selections(instance), ())
    assert best(instance, planned) == 11.0  # steady and slipping; underrated looks hopeless
    real = {job.name: msgspec.structs.replace(job, critical_path=None) for job in instance.jobs}
    assert real["slipping"].planned_critical_path > instance.deadline
    assert real["underrated"].planned_critical_path < instance.deadline
    assert instance.jobs[instance.index["underrated"]].planned_critical_path > instance.deadline


def test_the_night_is_a_generated_one_with_a_ceiling_for_each_team() -> None:
    instance = bundled("night.json.gz")
    made = GENERATORS["render-night"](89)
    assert instance.jobs == made.jobs
    assert (instance.processors, instance.deadline) == (made.processors, made.deadline)
    (rule,) = instance.constraints
    assert isinstance(rule, FairShare)
    assert rule.at_most.keys() == instance.groups["team"].keys()


def best_mask(instance: Instance) -> NDArray[np.bool_]:
    """Return the best selection without side constraints: least demand for each whole reward."""
    jobs = np.flatnonzero(instance.in_time)
    most = int(instance.rewards[jobs].sum())
    least = np.full(most + 1, np.inf)
    least[0] = 0.0
    taken = np.zeros((len(jobs), most + 1), dtype=bool)
    for row, j in enumerate(jobs):
        reward = int(instance.rewards[j])
        with_it = np.full(most + 1, np.inf)
        with_it[reward:] = least[: most + 1 - reward] + instance.demands[j]
        taken[row] = with_it < least
        least = np.minimum(least, with_it)
    left = int(np.flatnonzero(least <= instance.room()).max())
    chosen = np.zeros(len(instance.jobs), dtype=bool)
    for row in range(len(jobs) - 1, -1, -1):
        if taken[row, left]:
            chosen[jobs[row]] = True
            left -= int(instance.rewards[jobs[row]])
    return chosen


def test_the_ceilings_of_the_night_bind() -> None:
    instance = bundled("night.json.gz")
    assert (instance.demands * instance.in_time).sum() > 1.2 * instance.capacity()
    alone = selected(instance, best_mask(instance))
    assert 0.95 * alone.capacity < alone.demand <= alone.capacity
    assert alone.shares["team"]["lighting"] == pytest.approx(0.40, abs=0.005)
    assert all(share < 0.2 for team, share in alone.shares["team"].items() if team != "lighting")


def test_the_table_of_jobs_reads() -> None:
    instance = jobtable.convert(FOLDER / "jobs.csv", processors=4, deadline=46800)
    assert len(instance.jobs) == 6
    assert instance.jobs[0].reward == 480.0
    assert instance.groups["team"]["lighting"] == [0, 4, 5]
    assert "sequence" not in instance.jobs[5].groups
