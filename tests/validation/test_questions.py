"""A result answers the question that it states, or it is refused: forged answers to another."""

import json
from pathlib import Path
from typing import Any

import msgspec
from builders.cli import invoked, run

import schedopt
from schedopt.instances.protocol import identity
from schedopt.solvers.result import Document


def told(result: Any) -> dict[str, Any]:
    """Return a result as a file holds it."""
    made: dict[str, Any] = json.loads(msgspec.json.encode(result.document()))
    return made


def document(forged: dict[str, Any]) -> Document:
    return msgspec.convert(forged, Document)


def test_result_states_its_question() -> None:
    night = schedopt.example("two-shots")
    rule = schedopt.Forbid(jobs=("a",), name="not a")
    result = schedopt.solve(night, options={"fill": 2}, constraints=[rule])
    question = told(result)["question"]
    assert question["instance"] == {"name": night.name, "digest": identity(night).digest}
    assert (question["formulation"], question["options"]) == ("selection", {"fill": 2.0})
    assert question["constraints"] == [{"kind": "forbid", "jobs": ["a"], "name": "not a"}]
    policy = told(schedopt.evaluate(night, "greedy"))["question"]
    assert policy["formulation"] is None
    assert policy["instance"] == question["instance"]


def test_check_strict_refuses_differences_from_the_file(tmp_path: Path) -> None:
    night, rules, out = "example:two-shots", tmp_path / "rules.json", tmp_path / "out.json"
    rules.write_text('[{"kind": "forbid", "jobs": ["a"], "name": "not a"}]')
    words = ["solve", night, "--option", "fill=2", "--constraints", str(rules), "-o", str(out)]
    invoked(*words)
    said = invoked("check", night, str(out))
    assert "answers selection with fill=2.0 and an added forbid 'not a'" in said
    assert "not the file as it stands" in said
    run("check", "--strict", night, str(out), status=1)
    plain = tmp_path / "plain.json"
    invoked("solve", night, "-o", str(plain))
    assert "as the file stands" in invoked("check", "--strict", night, str(plain))


def test_check_refuses_a_bound_of_a_policy() -> None:
    packing = schedopt.example("fig8")
    hybrid = told(schedopt.evaluate(packing, "heuristic-epoch"))
    assert schedopt.check(packing, document(hybrid)).whole
    both = hybrid | {"formulation": "partition"}
    both["question"] = both["question"] | {"formulation": "partition"}
    assert "it can be of one" in schedopt.check(packing, document(both)).violations[0]
    bounded = hybrid | {"bound": hybrid["objective"], "gap": 0.0}
    assert "a policy proves none" in schedopt.check(packing, document(bounded)).violations[0]


def test_check_judges_claims_without_a_solution() -> None:
    forged = told(schedopt.solve("example:conflict"))
    for changes, says in (
        ({"conflict": ["lighting-ceiling", "nobody"]}, "'nobody', which is no side constraint"),
        ({"certificate": {"kind": "knapsack"}}, "a certificate, which cannot be re-proved"),
    ):
        report = schedopt.check("example:conflict", document(forged | changes))
        assert any(says in violation for violation in report.violations)
    late = told(schedopt.solve("example:night", certificate=True))
    late |= {"solution_status": "none", "termination": "time-limit", "solution": {}}
    late |= {"objective": None, "gap": None}
    assert schedopt.check("example:night", document(late)).bound == "re-proved"
    late["bound"] -= 1
    assert not schedopt.check("example:night", document(late)).ok
