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


def test_check_selection_judges_constraints_of_the_document() -> None:
    result = solve(INSTANCE, constraints=[kinds.Forbid(jobs=("j0",), name="no j0")]).document()
    assert result.constraints[0]["kind"] == "forbid"
    tampered = msgspec.structs.replace(choosing(INSTANCE, "j0"), constraints=result.constraints)
    assert check(INSTANCE, tampered).violations == ["no j0: j0 is selected"]


def test_check_selection_ignores_jobs_without_group() -> None:
    jobs = (*INSTANCE.jobs, Job(name="own", reward=1, demand=9, critical_path=1))
    instance = msgspec.structs.replace(INSTANCE, jobs=jobs)
    assert check(instance, choosing(instance, "own"), [kinds.FairShare(by="team", each=HALF)]).ok


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
