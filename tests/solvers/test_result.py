"""Results and their documents."""

from pathlib import Path

import schedopt
from schedopt.solvers.result import Details, Document


def test_document_holds_the_conflict_and_is_loaded_again(tmp_path: Path) -> None:
    result = schedopt.solve(schedopt.example("conflict"))
    assert result.termination == "infeasible" and result.conflict
    assert result.document().conflict == result.details.conflict == result.conflict
    schedopt.dump(result, tmp_path / "result.json")
    assert schedopt.load(tmp_path / "result.json").details == result.details


def test_fields_of_details_are_keys_of_documents() -> None:
    assert set(Details.__struct_fields__) <= set(Document.__struct_fields__)
