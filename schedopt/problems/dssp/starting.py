"""A quick selection that breaks nothing, to start a search from."""

from schedopt.formulations.protocol import Formulation
from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Selected, SelectedNights
from schedopt.policies.registry import registered

STARTS = ("greedy", "greedy-half")  # policies quick enough to start a solver from

STARTS_FROM = 500
"""Jobs from which on a start pays: loading compiled heuristics takes a second by itself."""


def start(model: Formulation, seconds: float | None = None) -> Selected | None:
    """Return the best quick selection that breaks nothing, where there are many jobs, and time."""
    instance = model.instance
    if (
        model.name != "selection"
        or "risk" in model.options
        or instance.beyond
        or len(instance.index) < STARTS_FROM
        or seconds == 0
    ):
        return None
    fill = float(model.options["fill"])
    found = [registered("dssp")[name].run(instance, fill=fill) for name in STARTS]
    return max(
        (one for one in found if _sound(model, one, fill)), key=instance.objective_of, default=None
    )


def at_once(model: Formulation) -> tuple[Selected | SelectedNights | None, float | None]:
    """Return jobs by reward for their demand, as far as the rules allow, and a weak bound."""
    from schedopt.formulations.dssp import Season, Selection
    from schedopt.solvers.dssp import at_once

    if not isinstance(model, Selection | Season) or model.sample:
        return None, None
    return at_once.at_once(model)


def _sound(model: Formulation, found: Selected, fill: float) -> bool:
    """Tell whether a selection fits, and keeps all side constraints."""
    from schedopt.validation.dssp.constraints import broken, unseated
    from schedopt.validation.dssp.facts import Facts

    facts, names = Facts(model.instance, fill), frozenset(found.selected)
    rules = [*model.instance.constraints, *model.added]
    full = any(facts.overfull({name: facts.demand[name] for name in names}, facts.rate))
    seats = any(unseated(rule, facts, names) for rule in rules if isinstance(rule, Seats))
    planned = Facts(model.instance, 1.0)
    return not (full or seats or any(broken(rule, planned, names) for rule in rules))
