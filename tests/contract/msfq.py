"""Small random queues and logs, in units far apart: thresholds with targets, policies."""

from random import Random

from builders.msfq import of_classes, queue_of

from schedopt.formulations.msfq import LogBound, OptimalPolicy, Threshold
from schedopt.instances.constraints import ResponseTime
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Jobs

UNITS = (1.0, 1e-3, 1e6)
"""Of time: how long jobs of a rate of 1 take."""
OBJECTIVES = ("mean", "weighted")


def some_queue(draw: Random, needs: tuple[int, ...], servers: int, busy: float) -> Instance:
    """Draw a queue of classes that together bring a load of up to ``busy``."""
    unit = draw.choice(UNITS)
    parts = [draw.choice((1.0, 1.0, 0.1, 3.0)) for _ in needs]  # some alike
    load = draw.uniform(0.05, busy)
    classes = []
    for need, part in zip(needs, parts, strict=True):
        rate = draw.choice((1.0, 1.0, 0.4, 2.5))
        arrival = load * part / sum(parts) * servers * rate / need
        classes.append((need, arrival / unit, rate / unit))
    return of_classes(servers, *classes, objective=draw.choice(OBJECTIVES))


def threshold(draw: Random) -> Threshold:
    """Draw a threshold with up to three targets, half of them in the instance."""
    import msgspec

    k = draw.randint(2, 4)
    queue = some_queue(draw, (1, k), k, 0.5)
    rules = []
    for i in range(draw.choice((0, 1, 2, 3))):
        job = draw.choice(queue.classes)
        most = draw.choice((0.5, 1.2, 2.0, 4.0)) / job.service_rate
        rules.append(ResponseTime(need=job.need, at_most=most, name=f"target {i}"))
    half = draw.randint(0, len(rules))
    queue = msgspec.structs.replace(queue, constraints=tuple(rules[:half]))
    return Threshold(queue).add(*rules[half:])


def optimal_policy(draw: Random) -> OptimalPolicy:
    """Draw a one-or-all system."""
    k = draw.choice((2, 2, 3))
    return OptimalPolicy(some_queue(draw, (1, k), k, 0.2))


def some_log(draw: Random, most: int, units: tuple[float, ...]) -> Instance:
    """Draw a log in which jobs come together and are alike."""
    count, servers, unit = draw.randint(1, most), draw.randint(1, 6), draw.choice(units)
    submit = sorted(round(unit * draw.randint(0, 2 * count), 1) for _ in range(count))
    needs = [draw.randint(1, servers) for _ in range(count)]
    runs = [round(unit * draw.choice((1, 2, 3, 5, 9)), 1) for _ in range(count)]
    return queue_of(Jobs.of(submit, needs, runs), servers, objective=draw.choice(OBJECTIVES))


def log_bound(draw: Random) -> LogBound:
    """Draw a log to be bounded."""
    return LogBound(some_log(draw, 6, (1.0,)), rounds=60)


FORMULATIONS = {
    "msfq/threshold": threshold,
    "msfq/optimal-policy": optimal_policy,
    "msfq/bound": log_bound,
}
