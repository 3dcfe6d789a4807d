"""Bounds on epochs and rectangles are re-proved where they hold, and never where they do not."""

import copy
from collections.abc import Mapping

import msgspec
from builders.effort import examples
from builders.epoch import fewest, packing, some_packing
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.constraints import Apart, Together
from schedopt.instances.epoch import Instance
from schedopt.solvers import door
from schedopt.solvers.epoch.certificate import certificate
from schedopt.solvers.epoch.items import first_fit, items
from schedopt.solvers.epoch.multipliers import Multipliers
from schedopt.solvers.result import Document, Limits
from schedopt.validation.epoch.bound import reproved


def judged(
    instance: Instance, given: Mapping[str, object], bound: float, **claimed: object
) -> str | None:
    """Judge a certificate of a bound, as a document of the instance would claim it."""
    fields = {
        "instance": instance.name,
        "problem": "epoch",
        "formulation": "partition",
        "termination": "time-limit",
        "solution_status": "none",
        "sense": "minimize",
        "bound": bound,
    }
    claim = msgspec.convert({**fields, **claimed}, Document)
    return reproved(instance, instance.constraints, given, claim)


@settings(max_examples=examples(100))
@given(some_packing(most=6, rules=True))
def test_what_is_re_proved_holds_and_no_more(instance: Instance) -> None:
    best = fewest(instance)
    assume(best is not None)
    assert best is not None
    model = Partition(instance)
    result = door.solve(model, Limits(threads=1))
    given = certificate(model, result, Limits(time_limit=5.0))
    if given is None:
        return
    assert result.bound is not None
    assert judged(instance, given, result.bound) is None
    assert judged(instance, given, (best + 1) * instance.nodes)
    assert judged(instance, given, result.bound + 0.5)


def numbers(most: int, least: int = 0) -> st.SearchStrategy[int]:
    """Draw mostly what a certificate could hold."""
    return st.integers(least, most) | st.integers(-3, 40)


@st.composite
def forged(draw: st.DrawFn, instance: Instance) -> dict[str, object]:
    """Draw a certificate: strong ones most of the time, of which few are true."""
    minima = sorted({job.minimum for job in instance.jobs}, reverse=True)
    falling = st.lists(st.sampled_from(minima) | numbers(17), unique=True, max_size=4).map(
        lambda sizes: sorted(sizes, reverse=draw(st.integers(0, 9)) > 0)
    )
    kind = draw(st.sampled_from(["leaders", "leaders", "distances", "multipliers", "apart", ""]))
    if kind == "leaders":
        return {"kind": kind, "leaders": [[size, draw(numbers(3, 1))] for size in draw(falling)]}
    if kind == "distances":
        jobs = len(instance.jobs)
        steps = draw(st.lists(st.sampled_from([0, 0, 1, 1, 2]), min_size=jobs, max_size=jobs))
        start = draw(st.sampled_from([0, 0, 0, 0, 1, -1]))
        path = [start, *(start + sum(steps[: i + 1]) for i in range(jobs))]
        return {"kind": kind, "distances": path[: draw(st.sampled_from([99, 99, jobs]))]}
    if kind == "multipliers":
        named = st.sampled_from([*(job.name for job in instance.jobs), "j9"])
        sizes = [[size, draw(numbers(6))] for size in minima]
        jobs_too = draw(st.lists(st.tuples(named, numbers(6)), max_size=2))
        return {"kind": kind, "sizes": sizes, "jobs": jobs_too, "most": draw(numbers(12, 1))}
    if kind == "apart":
        names = ["apart[0]", "apart[1]", "together[0]", "together[1]", "x"]
        return {"kind": kind, "constraint": draw(st.sampled_from(names))}
    return draw(st.sampled_from([{}, {"kind": "nodes"}, {"kind": "nodes", "x": 1}, {"kind": "x"}]))


@settings(max_examples=examples(600))
@given(some_packing(most=5, rules=True).flatmap(lambda of: st.tuples(st.just(of), forged(of))))
def test_no_forged_certificate_proves_too_much(made: tuple[Instance, dict[str, object]]) -> None:
    instance, given = made
    best = fewest(instance)
    assume(best is not None)
    assert best is not None
    assert judged(instance, given, (best + 1) * instance.nodes)


@settings(max_examples=examples(100))
@given(some_packing(most=6), st.data())
def test_tampered_multipliers_prove_no_more_than_there_is(
    instance: Instance, data: st.DataObject
) -> None:
    """Real multipliers with one number changed: what they still prove holds."""
    packed = items(instance, ())
    assume(instance.inequity > 0)
    assert packed is not None
    best = fewest(instance)
    assert best is not None
    prices = Multipliers(packed, best, first_fit(packed))
    prices.advance(5.0)
    assert prices.best is not None
    rows = zip(packed.kinds, prices.best.multipliers, strict=True)
    sizes = [[kind.top, value] for kind, value in rows]
    real = {"kind": "multipliers", "sizes": sizes, "jobs": [], "most": prices.best.most}
    assert judged(instance, real, float(prices.best.epochs * instance.nodes)) is None
    tampered = copy.deepcopy(real)
    at = data.draw(st.integers(0, len(sizes)))
    change = data.draw(st.sampled_from([-1, 1, 10**6, 10**7, -(10**7)]))
    if at == len(sizes):
        tampered["most"] = prices.best.most - abs(change)
    else:
        tampered["sizes"][at][1] += change
    assert judged(instance, tampered, float((best + 1) * instance.nodes))


def test_a_claim_of_another_sense_or_formulation_is_not_re_proved() -> None:
    instance = packing([5, 5, 5], 8, 1)
    given = {"kind": "nodes"}
    assert judged(instance, given, 16.0) is None
    assert "minimized" in str(judged(instance, given, 16.0, sense="maximize"))
    assert "says nothing" in str(judged(instance, given, 16.0, formulation="rectangles"))
    assert "cannot be read" in str(judged(instance, {"kind": "nodes", "x": 1}, 16.0))
    assert "shows 16" in str(judged(instance, given, 24.0))


def test_multipliers_may_be_nothing_and_sums_too_many() -> None:
    three = packing([5, 5, 5, 1], 8, 1)
    given = {"kind": "multipliers", "sizes": [[5, 1], [1, 0]], "jobs": [["j4", 0]], "most": 1}
    assert judged(three, given, 24.0) is None
    assert judged(three, given | {"most": 0, "sizes": [], "jobs": []}, 24.0)
    many = {"kind": "widths", "steps": [{"prime": 0, "widths": [12]}]}
    wide = packing([1] * 4, 47, 1)
    assert "too many sums" in str(judged(wide, many, 47.0, formulation="rectangles"))


def test_bundles_and_jobs_apart_count() -> None:
    bundled = packing([8, 1, 1, 1], 8, 1, [Together(jobs=("j2", "j3"))])
    assert judged(bundled, {"kind": "nodes"}, 16.0) is None
    apart = packing([1, 1, 1], 8, 1, [Apart(name="one disk", jobs=("j1", "j2", "j3"))])
    given = {"kind": "apart", "constraint": "one disk"}
    assert judged(apart, given, 24.0) is None
    assert judged(apart, given, 32.0)
    assert judged(packing([1, 1, 1], 8, 1), given, 16.0)


@settings(max_examples=examples(60))
@given(some_packing(most=4).filter(lambda instance: instance.nodes <= 8))
def test_rectangles_are_re_proved_where_narrow_widths_are_met(instance: Instance) -> None:
    model = Rectangles(instance)
    result = door.solve(model, Limits(threads=1))
    given = certificate(model, result, Limits())
    assert result.bound is not None
    if given is not None:
        assert judged(instance, given, result.bound, formulation="rectangles") is None
        assert judged(instance, given, result.bound + 1, formulation="rectangles")
    every = list(range(1, instance.nodes + 1))
    for prime in (0, 2, 3, 4, 5, 7):
        for widths in (every, *([w] for w in every)):
            step = {"prime": prime, "widths": widths}
            for steps in ([step], [{"prime": 0, "widths": widths[:1]}, step]):
                wrong = {"kind": "widths", "steps": steps}
                assert judged(instance, wrong, result.bound + 1, formulation="rectangles")


def test_widths_that_drop_out_by_a_prime_and_by_all_sums() -> None:
    instance = packing([11, 11, 1, 1, 1, 1, 1, 1], 16, 0)
    model = Rectangles(instance)
    result = door.solve(model, Limits(threads=1, time_limit=2.0))
    assert result.bound is not None
    steps = certificate(model, msgspec.structs.replace(result, bound=0.0), Limits())
    assert steps is not None
    least = float(max(sum(model.narrowest), 16))
    assert judged(instance, steps, least, formulation="rectangles") is None
    assert judged(instance, {"kind": "widths", "steps": []}, least, formulation="rectangles")
