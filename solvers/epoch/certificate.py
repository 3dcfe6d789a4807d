"""Certificates of bounds for epochs; `validation.epoch.bound` walks them, sharing no code."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from schedopt.formulations.epoch.partition import Partition
from schedopt.formulations.epoch.rectangles import Rectangles
from schedopt.instances.constraints import Apart
from schedopt.instances.epoch.widths import steps
from schedopt.solvers.epoch.bounding import blocks, leaders, least_width_overhead
from schedopt.solvers.epoch.items import Items, first_fit, items
from schedopt.solvers.result import Limits, Result

Certificate = dict[str, object]

LONGEST = 30.0
"""Seconds that multipliers may take where there is no time limit."""


def certificate(
    model: Partition | Rectangles,
    result: Result,
    limits: Limits,
    _holds: Callable[[Certificate], bool] = lambda _: True,
) -> Certificate | None:
    """Return data from which the bound of a result can be re-proved, None where none is found.

    The bound may come from a search, which leaves no certificate. ``_holds`` is not called: each
    kind is known to prove its bound.
    """
    if result.bound is None:
        return None
    if isinstance(model, Rectangles):
        if result.bound > least_width_overhead(model):
            return None
        instance = model.instance
        dropped = steps(instance.nodes, len(instance.jobs), int(instance.minima.min()))
        return {"kind": "widths", "steps": list(_proof_steps(dropped, model))}
    goal = -(-round(result.bound) // model.instance.nodes)
    packed = items(model.instance, model.rules.values())
    if packed is None:
        return None
    return _without_search(model, packed, goal) or _by_multipliers(packed, goal, model, limits)


def _without_search(model: Partition, packed: Items, goal: int) -> Certificate | None:
    """Return a certificate that takes no search."""
    instance = model.instance
    if -(-packed.forced // instance.nodes) >= goal:
        return {"kind": "nodes"}
    minima = instance.minima[instance.descending].tolist()
    led = leaders(minima, instance.nodes, instance.inequity)
    if len(led) >= goal:
        return {"kind": "leaders", "leaders": [list(pair) for pair in Counter(led).items()]}
    for name, rule in model.rules.items():
        if isinstance(rule, Apart) and len(set(rule.jobs)) >= goal:
            return {"kind": "apart", "constraint": name}
    if instance.inequity == 0:
        _, distances = blocks(minima, instance.nodes)
        if distances[-1] >= goal:
            return {"kind": "distances", "distances": distances}
    return None


def _by_multipliers(
    packed: Items, goal: int, model: Partition, limits: Limits
) -> Certificate | None:
    """Return multipliers that prove the bound, where some do."""
    from schedopt.solvers.epoch.multipliers import Multipliers

    if packed.inequity == 0 or packed.impossible():
        return None
    prices = Multipliers(packed, goal, first_fit(packed))
    prices.advance(LONGEST if limits.time_limit is None else limits.time_limit)
    best = prices.best
    if best is None or best.epochs < goal:
        return None
    jobs = model.instance.jobs
    sizes, told = [], []
    for kind, value in zip(packed.kinds, best.multipliers, strict=True):
        if kind.free:
            sizes.append([kind.top, value])
        else:  # the bundle's first job is worth what the bundle is
            first, *others = kind.items[0]
            told += [[jobs[first].name, value], *([jobs[j].name, 0] for j in others)]
    return {"kind": "multipliers", "sizes": sizes, "jobs": told, "most": best.most}


def _proof_steps(
    dropped: list[tuple[int, list[int]]], model: Rectangles
) -> Iterator[Mapping[str, object]]:
    """Yield the proof steps; the one by subset sums only for widths that some job could have."""
    spared = {
        w
        for minimum, width in zip(model.instance.minima.tolist(), model.narrowest, strict=True)
        for w in range(minimum, width)
    }
    for prime, widths in dropped:
        wanted = widths if prime else [w for w in widths if w in spared]
        if wanted:
            yield {"prime": prime, "widths": wanted}
