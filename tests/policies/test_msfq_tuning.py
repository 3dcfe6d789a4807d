"""Tuning by simulation: it finds what the exact chain finds, and says how sure it is."""

import pytest
from builders.msfq import at_load

from schedopt.formulations.msfq import Threshold
from schedopt.instances.msfq.generators import GENERATORS
from schedopt.policies.msfq.tuning import tune_static, tune_two_threshold
from schedopt.solvers.msfq.threshold.enumeration import evaluate


def test_two_thresholds_beat_the_best_lazy_one() -> None:
    queue = at_load(4, 0.9, p1=0.7)
    tuned = tune_two_threshold(queue, arrivals=100_000)
    model = Threshold(queue, variant="lazy")
    evaluate(model)
    assert tuned.objective - tuned.confidence < float(model.curve.min())
    assert tuned.gain > tuned.gain_confidence > 0
    assert tuned.tried > 10


@pytest.mark.parametrize("handover", ["overlap", "drain"])
def test_static_thresholds_do_no_worse_than_the_default(handover: str) -> None:
    queue = GENERATORS["multi-class"](2, k=12, classes=3, load=0.7, objective="weighted")
    tuned = tune_static(queue, handover=handover, arrivals=30_000)
    assert tuned.gain >= -tuned.gain_confidence
    assert len(tuned.options["threshold"].split(",")) == 3
    assert tuned.options["handover"] == handover
