"""Certificates of bounds for epochs; `validation.epoch.bound` walks them, sharing no code."""

from collections import Counter
from collections.abc import Callable

from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.constraints import Apart
from schedopt.instances.epoch.widths import steps
from schedopt.solvers.epoch.bounding import blocks, leaders, least_overhead
from schedopt.solvers.epoch.items import items
from schedopt.solvers.result import Limits, Result

Certificate = dict[str, object]


def certificate(
    model: Partition | Rectangles,
    result: Result,
    _limits: Limits,
    _holds: Callable[[Certificate], bool] = lambda _: True,
) -> Certificate | None:
    """Return data from which the bound of a result can be re-proved, None where none is found.

    The bound may come from a search, which leaves no certificate. Limits and ``_holds`` are not
    needed: nothing is searched, and each kind is known to prove its bound.
    """
    if result.bound is None:
        return None
    if isinstance(model, Partition):
        return _of_epochs(model, -(-round(result.bound) // model.instance.nodes))
    return _of_widths(model) if result.bound <= least_overhead(model) else None


def _of_epochs(model: Partition, goal: int) -> Certificate | None:
    """Return an argument that there are no fewer epochs than that."""
    instance = model.instance
    packed = items(instance, model.rules.values())
    if -(-packed.least_nodes // instance.nodes) >= goal:
        return {"kind": "nodes"}
    minima = instance.minima[instance.descending].tolist()
    led = leaders(minima, instance.nodes, instance.inequity)
    if len(led) >= goal:
        return {"kind": "leaders", "leaders": [list(pair) for pair in Counter(led).items()]}
    for name, rule in model.rules.items():
        if isinstance(rule, Apart) and len(set(rule.jobs)) >= goal:
            return {"kind": "apart", "constraint": name}
    distances = blocks(minima, instance.nodes)[1] if instance.inequity == 0 else [0]
    return {"kind": "distances", "distances": distances} if distances[-1] >= goal else None


def _of_widths(model: Rectangles) -> Certificate:
    """Return the widths that no schedule has; by subset sums only those that jobs would have."""
    minima: list[int] = model.instance.minima.tolist()
    spared = {
        w
        for minimum, width in zip(minima, model.narrowest, strict=True)
        for w in range(minimum, width)
    }
    dropped = [
        (prime, [w for w in widths if prime or w in spared])
        for prime, widths in steps(model.instance.nodes, len(minima), min(minima))
    ]
    return {
        "kind": "widths",
        "steps": [{"prime": p, "widths": some} for p, some in dropped if some],
    }
