"""Mutated files through the verbs, some of what ``python -m benchmarks.fuzzing`` tries."""

import pytest

from benchmarks.fuzzing import STATUSES, attempt


@pytest.mark.parametrize("part", range(8))
def test_mutated_files_end_as_the_contract_says(part: int) -> None:
    tries = [("instance", 8 * i + part) for i in range(10)] + [("result", part)]
    for kind, seed in tries:
        verb, ended, text = attempt(kind, 10_000_000 + seed)
        assert ended in STATUSES[verb], (verb, ended, text)
