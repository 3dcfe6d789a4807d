"""Thresholds by class: the twin, Adaptive Quickswap as the default, and what tuning them gains."""

import numpy as np
import pytest
from builders.msfq import at_load, of_classes

from schedopt import evaluate
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Instance
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.simulation import play
from schedopt.policies.msfq.tuning import tune, tune_class_thresholds


def three(k: int = 6, load: float = 0.7) -> Instance:
    rate = load * k / (0.6 + 0.3 * 2 + 0.1 * k)
    return of_classes(k, (1, 0.6 * rate), (2, 0.3 * rate), (k, 0.1 * rate))


@pytest.mark.parametrize("queue", [three(), three(12, 0.9), at_load(4, 0.8)])
def test_the_default_is_adaptive_quickswap(queue: Instance) -> None:
    ours, theirs = (
        play(queue, plan(queue, name), arrivals=1500, seed=3, common=True, each=True)
        for name in ("class-thresholds", "adaptive-quickswap")
    )
    np.testing.assert_array_equal(ours.responses, theirs.responses)


def test_tuned_thresholds_beat_the_papers_policies() -> None:
    queue = three()
    tuned = tune_class_thresholds(queue, arrivals=20_000)
    assert tuned.gain > tuned.gain_confidence > 0
    for name in ("msf", "adaptive-quickswap", "first-fit"):
        other = evaluate(queue, name, options={"arrivals": 400_000})
        assert tuned.objective < other.objective


def test_a_policy_tunes_its_own_thresholds_and_says_which() -> None:
    options = {"tuned": 10_000, "arrivals": 50_000, "leave": "0,0,1", "first": "least"}
    found = evaluate(three(), "class-thresholds", options=options)
    assert found.checked
    assert "leave=0,0,1 rest=" in str(found.message)
    assert "first=least" in str(found.message)
    default = evaluate(three(), "class-thresholds", options={"arrivals": 50_000})
    assert found.objective < default.objective


def test_options_under_which_work_piles_up_are_not_chosen() -> None:
    never = {"first": "least", "call": "1,1,1000000"}
    good = {"first": "most", "call": "1,1,1"}
    tuned = tune(three(), "class-thresholds", good, lambda _: iter([never]), arrivals=5000)
    assert tuned.options == good


@pytest.mark.parametrize("value", ["1,2", "a", "1,-2,3", "1,2,99999999999"])
def test_thresholds_that_are_none_are_refused(value: str) -> None:
    with pytest.raises(InputError, match="option rest"):
        plan(three(), "class-thresholds", rest=value)
