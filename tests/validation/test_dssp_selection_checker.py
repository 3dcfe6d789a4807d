"""The checker against broken solutions of every sort."""

from typing import Any

import msgspec
import pytest
from builders.dssp import night

from schedopt.formulations import constraints as kinds
from schedopt.instances.dssp import Instance, Job, placing
from schedopt.instances.errors import InputError
from schedopt.instances.fair_share import Each
from schedopt.solvers.result import Document
from schedopt.validation.documents import check
from schedopt.verbs.solve import solve

INSTANCE = night([(5, 5), (4, 3), (3, 2), (2, 4)])
USE = {"j0": 1, "j1": 1}
HALF = Each(at_most=0.5)


def document(**changes: Any) -> Document:
    """Return the optimum of INSTANCE (j0, j1, j2; 12) with changes to the document."""
    return msgspec.structs.replace(solve(INSTANCE).document(), question=msgspec.UNSET, **changes)


def choosing(instance: Instance, *names: str) -> Document:
    """Return a document that chooses these jobs and is right about all the rest."""
    positions = [instance.index[name] for name in names]
    solution = placing.selected(instance, positions)
    reward = instance.objective_of(solution)
    return document(
        objective=reward,
        bound=reward,
        instance=instance.name,
        solution=msgspec.to_builtins(solution),
    )


@pytest.mark.parametrize(
    ("selected", "says"),
    [
        (["j0", "j1", "nobody"], "no job is called 'nobody'"),
        (["j0", "j1", "j1"], "j1 is listed twice"),
        (["j0", "j1", "j3"], "the selected jobs need 12 of 10"),
        (["j0", "j1"], "the selected jobs earn 9, not 12"),
    ],
)
def test_check_selection_refuses_wrong_jobs(selected: list[str], says: str) -> None:
    wrong = document(solution={**document().solution, "selected": selected})
    violations = check(INSTANCE, wrong).violations
    assert any(says in violation for violation in violations), violations


SOLD = kinds.FairShare(by="team", at_most={"fx": 0.5}, of="selected")
FLOOR = kinds.FairShare(by="team", at_least={"anim": 0.3}, of="selected")
PAST = kinds.FairShare(by="team", at_most={"fx": 0.5}, past={"fx": 4.0}, past_total=4.0)
DISK = kinds.Resource(name="disk", capacity=3, use={"j0": 2, "j1": 2})
RULES: list[tuple[kinds.Constraint, str, str, str]] = [
    (kinds.FairShare(by="team", at_most={"fx": 0.5}), "j0", "j0 j3", "fx gets 0.9, at most"),
    (kinds.FairShare(by="team", at_least={"fx": 0.5}), "j0", "j3", "fx gets 0.4, at least"),
    (SOLD, "j0 j1 j2", "j0 j1", "fx gets 0.625"),
    (FLOOR, "j0 j2", "j0", "anim gets 0, at least 0.3"),
    (PAST, "j1", "j3", "fx gets 0.571429, at most"),
    (kinds.Require(jobs=("j1", "j2")), "j1 j2", "j1", "j2 is not selected"),
    (kinds.Forbid(jobs=("j1",)), "j2", "j1", "j1 is selected"),
    (kinds.Imply(if_="j0", then="j1"), "j0 j1", "j0", "j0 is selected, j1 is not"),
    (kinds.Together(jobs=("j0", "j1")), "j0 j1", "j1", "but not j0"),
    (kinds.Apart(jobs=("j0", "j1")), "j0", "j0 j1", "j0, j1 are all selected"),
    (kinds.AtMost(jobs=("j0", "j1"), count=1), "j1", "j0 j1", "2 selected, at most 1"),
    (kinds.AtLeast(by="team", group="fx", count=2), "j0 j3", "j0", "1 selected, at least 2"),
    (kinds.Seats(capacity=2, use={"j0": 2, "j1": 3}), "j0", "j1", "j1 holds more than"),
    (kinds.FairShare(by="team", each=HALF), "j0", "j0 j3", "fx gets 0.9, at most"),
    (DISK, "j0", "j0 j1", "disk: 4 of 3 used"),
]


@pytest.mark.parametrize(("rule", "keeps", "breaks", "says"), RULES)
def test_check_selection_judges_every_constraint_kind(
    rule: kinds.Constraint, keeps: str, breaks: str, says: str
) -> None:
    assert check(INSTANCE, choosing(INSTANCE, *keeps.split()), [rule]).ok
    report = check(INSTANCE, choosing(INSTANCE, *breaks.split()), [rule])
    assert any(says in violation for violation in report.violations), report.violations
    ruled = night([(5, 5), (4, 3), (3, 2), (2, 4)], constraints=[rule])
    assert not check(ruled, choosing(ruled, *breaks.split())).ok


def test_check_selection_judges_constraints_of_the_document() -> None:
    result = solve(INSTANCE, constraints=[kinds.Forbid(jobs=("j0",), name="no j0")]).document()
    assert result.constraints[0]["kind"] == "forbid"
    tampered = msgspec.structs.replace(choosing(INSTANCE, "j0"), constraints=result.constraints)
    assert check(INSTANCE, tampered).violations == ["no j0: j0 is selected"]


def test_check_selection_seats_of_wide_tasks() -> None:
    for wide, right in ((1, False), (2, True)):
        jobs = tuple(
            Job(name=f"j{i}", reward=1, stages=((8.0 / wide,),), processors=wide) for i in range(2)
        )
        instance = Instance(name="n", processors=2, deadline=10, jobs=jobs)
        report = check(instance, choosing(instance, "j0", "j1"), [kinds.Seats(capacity=1, use=USE)])
        assert right == report.ok
        assert right or "16 held from 0 to 10, at most 10 asked" in report.violations[0]


def test_check_selection_ignores_jobs_without_group() -> None:
    jobs = (*INSTANCE.jobs, Job(name="own", reward=1, demand=9, critical_path=1))
    instance = msgspec.structs.replace(INSTANCE, jobs=jobs)
    assert check(instance, choosing(instance, "own"), [kinds.FairShare(by="team", each=HALF)]).ok


def test_check_selection_judges_critical_paths() -> None:
    late = Job(name="late", reward=1, stages=((6.0,), (5.0,)))
    instance = Instance(name="n", processors=4, deadline=10, jobs=(late,))
    violations = check(instance, choosing(instance, "late")).violations
    assert violations == ["deadline: late has a critical path of 11, over 10"]


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"instance": "other"}, "instance"),
        ({"problem": "epoch"}, "problem"),
        ({"options": {"fill": "much"}}, "options.fill"),
        ({"options": {"fill": -1}}, "options.fill"),
        ({"options": {"fill": 1e308}}, "options.fill"),
        ({"solution": {"selected": "j0"}}, "solution.selected"),
        ({"solution": {"selectd": []}}, "solution"),
        ({"constraints": ({"kind": "no-such"},)}, "constraints[0].kind"),
        ({"constraints": ({"kind": "forbid", "jobs": ["q"]},)}, "constraints[0].jobs[0]"),
    ],
)
def test_check_selection_refuses_unreadable_documents(changes: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError) as caught:
        check(INSTANCE, document(**changes))
    assert caught.value.place == place
