"""The policies for logs by name: where each is from, and the order that it plays."""

from collections.abc import Callable
from functools import partial
from typing import Any

from schedopt.instances.msfq.site import Priority, Weights
from schedopt.instances.msfq.site import site as read_site
from schedopt.instances.options import Option, is_number, one_of, text
from schedopt.policies.msfq.logs import rules
from schedopt.policies.msfq.logs.machine import DAY, HALF_LIFE
from schedopt.policies.msfq.logs.registration import log_policy
from schedopt.policies.msfq.logs.replay import FILLS, Order

PAPER = "Chen et al., Improving Nonpreemptive Multiserver Job Scheduling with Quickswap, 2025"
EASY = (
    "Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995; as in Mu'alem and Feitelson, IEEE TPDS 12"
    ", 2001"
)
TUNING = "Lelong, Reis and Trystram, Tuning EASY-Backfilling Queues, JSSPP 2017"
SLURM = "Slurm, Multifactor Priority Plugin, classic fair share"


def _positive_option(default: float, words: str) -> Option:
    return Option(default, f"{words}, above 0", lambda v: is_number(v) and v > 0)


def _weight_option(default: float) -> Option:
    return Option(default, "a number of at least 0", lambda v: is_number(v) and v >= 0)


HALF = _positive_option(HALF_LIFE, "the half-life of usage, in the log's unit (a week of seconds)")


def _register_order(
    name: str, order: Callable[..., Order], summary: str, source: str, **more: Any
) -> None:
    """Register an order as a policy: compiled, and by its definition in `rules`."""
    decorate = log_policy(name, source=source, summary=summary, order=order, **more)
    decorate(lambda **own: rules.of(order(**own)))


def _multifactor(
    half_life: float = HALF_LIFE, fill: str = "easy", max_age: float = 7 * DAY, **given: float
) -> Order:
    weights = Weights(**{"age": 1000.0, "size": 1000.0, "fair_share": 1000.0, **given})
    site = Priority(weights=weights, max_age=max_age, half_life=half_life)
    return Order("weighted", fill, priority=site)


def _least_served(half_life: float = HALF_LIFE, fill: str = "easy") -> Order:
    site = Priority(weights=Weights(usage=-1.0), half_life=half_life)
    return Order("weighted", fill, priority=site)


def _weighted_order(priority: str | None = None) -> Order:
    site = Priority() if priority is None else read_site(priority)
    return Order("weighted", site.backfill, priority=site)


for _name, _order, _summary, _section in (
    ("fcfs", partial(Order, "arrival"), "first come, first served", "1.1"),
    ("first-fit", partial(Order, "arrival", "skip"), "the first of those that fit", "1.1"),
    ("msf", partial(Order, "widest", "skip"), "of those that fit, the most servers", "4.1"),
):
    _register_order(
        _name, _order, _summary, f"{PAPER}, section {_section}", plans=False, listed=False
    )

_register_order(
    "easy",
    partial(Order, "arrival", "easy"),
    "FCFS; others may pass the first if by plan they do not delay it",
    EASY,
)
_register_order(
    "easy-sjbf",
    partial(Order, "arrival", "easy", "shortest"),
    "EASY in which the shortest of those who may pass go first",
    "Tsafrir, Etsion and Feitelson, IEEE TPDS 18, 2007",
)
_register_order(
    "conservative",
    partial(Order, "conservative"),
    "a reservation for every job, which is kept or moved forward",
    "Feitelson and Weil, IPPS 1998; compression as in Mu'alem and Feitelson, IEEE TPDS 12",
)

for _name, _key, _summary, _source in (
    ("sjf", "shortest", "the shortest job by estimate first", f"{TUNING}, as SPF"),
    ("saf", "smallest", "the smallest area, servers times estimate, first", f"{TUNING}, as SAF"),
    ("ljf", "longest", "the longest job by estimate first", f"{TUNING}, as LPF"),
    (
        "f1",
        "f1",
        "log10(estimate)·servers + 870·log10(submit), the least first",
        "Carastan-Santos and de Camargo, SC 2017, section 4.2; times in seconds",
    ),
    (
        "wfp3",
        "wfp3",
        "(wait / estimate)^3·servers, the most first",
        "Tang, Lan, Desai and Buettner, IEEE Cluster 2009",
    ),
):
    _register_order(_name, partial(Order, _key), _summary, _source, fill=one_of("stop", FILLS))

_register_order(
    "multifactor",
    _multifactor,
    "Slurm's weighted age, size and fair share, with EASY backfilling",
    f"{SLURM}; all shares alike, usage exact and not by the period",
    by_user=True,
    age=_weight_option(1000.0),
    size=_weight_option(1000.0),
    fair_share=_weight_option(1000.0),
    max_age=_positive_option(7 * DAY, "the age that counts in full, in the log's unit"),
    half_life=HALF,
    fill=one_of("easy", FILLS),
)
_register_order(
    "weighted",
    _weighted_order,
    "a site's own priorities: a weighted sum of factors, with or without backfilling",
    f"{SLURM}, with shares and qualities of service; logarithms as in F1",
    priority=text("a file of weights, or the JSON itself"),
)
_register_order(
    "fair-share-decay",
    _least_served,
    "the user who has lately used least first, with EASY backfilling",
    "Kay and Lauder, A Fair Share Scheduler, CACM 31, 1988",
    by_user=True,
    half_life=HALF,
    fill=one_of("easy", FILLS),
)
