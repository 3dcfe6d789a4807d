"""The policies for logs by name: where each is from, and the order that it plays."""

from collections.abc import Callable
from functools import partial
from typing import Any

from schedopt.instances.msfq.site import Priority
from schedopt.instances.msfq.site import site as read_site
from schedopt.instances.options import Option, one_of, text
from schedopt.policies.msfq.logs import rules
from schedopt.policies.msfq.logs.registration import log_policy
from schedopt.policies.msfq.logs.replay import FILLS, Order

PAPER = "Chen et al., Improving Nonpreemptive Multiserver Job Scheduling with Quickswap, 2025"
EASY = (
    "Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995; as in Mu'alem and Feitelson, IEEE TPDS 12"
    ", 2001"
)
TUNING = "Lelong, Reis and Trystram, Tuning EASY-Backfilling Queues, JSSPP 2017"
FILL = {"fill": one_of("stop", FILLS)}


def _weighted_order(priority: str | None = None) -> Order:
    site = Priority() if priority is None else read_site(priority)
    return Order("weighted", site.backfill, priority=site)


_CLASSES: tuple[tuple[str, str, str, str, str], ...] = (
    ("fcfs", "arrival", "stop", "first come, first served", "1.1"),
    ("first-fit", "arrival", "skip", "the first of those that fit", "1.1"),
    ("msf", "widest", "skip", "of those that fit, the most servers", "4.1"),
)
"""Policies for classes too: name, key, fill, summary, section of the paper."""
_LOGS: tuple[tuple[str, Callable[..., Order], str, str, dict[str, Option]], ...] = (
    (
        "easy",
        partial(Order, "arrival", "easy"),
        "FCFS; others may pass the first if by plan they do not delay it",
        EASY,
        {},
    ),
    (
        "easy-sjbf",
        partial(Order, "arrival", "easy", "shortest"),
        "EASY in which the shortest of those who may pass go first",
        "Tsafrir, Etsion and Feitelson, IEEE TPDS 18, 2007",
        {},
    ),
    (
        "conservative",
        partial(Order, "conservative"),
        "a reservation for every job, which is kept or moved forward",
        "Feitelson and Weil, IPPS 1998; compression as in Mu'alem and Feitelson, IEEE TPDS 12",
        {},
    ),
    (
        "sjf",
        partial(Order, "shortest"),
        "the shortest job by estimate first",
        f"{TUNING}, as SPF",
        FILL,
    ),
    (
        "saf",
        partial(Order, "smallest"),
        "the smallest area, servers times estimate, first",
        f"{TUNING}, as SAF",
        FILL,
    ),
    (
        "ljf",
        partial(Order, "longest"),
        "the longest job by estimate first",
        f"{TUNING}, as LPF",
        FILL,
    ),
    (
        "f1",
        partial(Order, "f1"),
        "log10(estimate)·servers + 870·log10(submit), the least first",
        "Carastan-Santos and de Camargo, SC 2017, section 4.2; times in seconds",
        FILL,
    ),
    (
        "wfp3",
        partial(Order, "wfp3"),
        "(wait / estimate)^3·servers, the most first",
        "Tang, Lan, Desai and Buettner, IEEE Cluster 2009",
        FILL,
    ),
    (
        "weighted",
        _weighted_order,
        "a site's own priorities: a weighted sum of factors, with or without backfilling",
        "Slurm, Multifactor Priority Plugin, classic fair share; logarithms as in F1",
        {"priority": text("a file of weights, or the JSON itself")},
    ),
)
"""Name, order, summary, source and options of the others."""


def _register(
    name: str, order: Callable[..., Order], summary: str, source: str, **more: Any
) -> None:
    """Register an order as a policy: compiled, and by its definition in `rules`."""
    decorate = log_policy(name, source=source, summary=summary, order=order, **more)
    decorate(lambda **own: rules.rule_of(order(**own)))


for _name, _key, _fill, _summary, _section in _CLASSES:
    _source = f"{PAPER}, section {_section}"
    _register(_name, partial(Order, _key, _fill), _summary, _source, plans=False, listed=False)
for _name, _order, _summary, _source, _options in _LOGS:
    _register(_name, _order, _summary, _source, **_options)
