"""The policies for logs by name: where each is from, its definition, its compiled twin."""

from __future__ import annotations

from schedopt.instances.options import Option, is_number
from schedopt.policies.msfq.logs import rules
from schedopt.policies.msfq.logs.plain import DAY, HALF_LIFE, Rule
from schedopt.policies.msfq.logs.registration import log_policy
from schedopt.policies.msfq.logs.replay import FILLS, Order

PAPER = "Chen et al., Improving Nonpreemptive Multiserver Job Scheduling with Quickswap, 2025"
EASY = (
    "Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995; as in Mu'alem and Feitelson, IEEE TPDS 12"
    ", 2001"
)
TUNING = "Lelong, Reis and Trystram, Tuning EASY-Backfilling Queues, JSSPP 2017"
SLURM = "Slurm, Multifactor Priority Plugin, classic fair share"


def _fill(default: str) -> Option:
    return Option(default, f"one of {', '.join(FILLS)}", lambda v: v in FILLS)


def _positive(default: float, words: str) -> Option:
    return Option(default, f"{words}, above 0", lambda v: is_number(v) and v > 0)


def _weight(default: float) -> Option:
    return Option(default, "a number of at least 0", lambda v: is_number(v) and v >= 0)


HALF = _positive(HALF_LIFE, "the half-life of usage, in the log's unit (a week of seconds)")


@log_policy("fcfs", source=f"{PAPER}, section 1.1", summary="first come, first served",
            order=Order("arrival"), plans=False, listed=False)  # fmt: skip
def fcfs() -> Rule:
    """First come, first served: who came first starts, or everyone waits."""
    return rules.ordered(rules.arrival)


@log_policy("first-fit", source=f"{PAPER}, section 1.1", summary="the first of those that fit",
            order=Order("arrival", "skip"), plans=False, listed=False)  # fmt: skip
def first_fit() -> Rule:
    """FCFS that skips jobs which do not fit."""
    return rules.ordered(rules.arrival, "skip")


@log_policy("msf", source=f"{PAPER}, section 4.1", summary="of those that fit, the most servers",
            order=Order("widest", "skip"), plans=False, listed=False)  # fmt: skip
def most_servers_first() -> Rule:
    """Most Servers First: of those that fit, who needs most."""
    return rules.ordered(rules.widest, "skip")


@log_policy(
    "easy",
    source=EASY,
    summary="FCFS; others may pass the first if by plan they do not delay it",
    order=Order("arrival", "easy"),
)
def easy() -> Rule:
    """EASY backfilling: one reservation, for the first that does not fit."""
    return rules.ordered(rules.arrival, "easy")


@log_policy(
    "easy-sjbf",
    source="Tsafrir, Etsion and Feitelson, IEEE TPDS 18, 2007",
    summary="EASY in which the shortest of those who may pass go first",
    order=Order("arrival", "easy", "shortest"),
)
def easy_sjbf() -> Rule:
    """EASY with shortest job backfilled first."""
    return rules.ordered(rules.arrival, "easy", rules.shortest)


@log_policy(
    "conservative",
    source="Feitelson and Weil, IPPS 1998; compression as in Mu'alem and Feitelson, IEEE TPDS 12",
    summary="a reservation for every job, which is kept or moved forward",
    order=Order("conservative"),
)
def conservative() -> Rule:
    """Conservative backfilling."""
    return rules.Conservative()


@log_policy(
    "sjf",
    source=f"{TUNING}, as SPF",
    summary="the shortest job by estimate first",
    order=lambda fill="stop": Order("shortest", fill),
    fill=_fill("stop"),
)
def sjf(fill: str = "stop") -> Rule:
    """Shortest job first."""
    return rules.ordered(rules.shortest, fill)


@log_policy(
    "saf",
    source=f"{TUNING}, as SAF",
    summary="the smallest area, servers times estimate, first",
    order=lambda fill="stop": Order("smallest", fill),
    fill=_fill("stop"),
)
def saf(fill: str = "stop") -> Rule:
    """Smallest area first."""
    return rules.ordered(rules.smallest, fill)


@log_policy(
    "ljf",
    source=f"{TUNING}, as LPF",
    summary="the longest job by estimate first",
    order=lambda fill="stop": Order("longest", fill),
    fill=_fill("stop"),
)
def ljf(fill: str = "stop") -> Rule:
    """Longest job first."""
    return rules.ordered(rules.longest, fill)


@log_policy(
    "f1",
    source="Carastan-Santos and de Camargo, SC 2017, section 4.2; times in seconds",
    summary="log10(estimate)·servers + 870·log10(submit), the least first",
    order=lambda fill="stop": Order("f1", fill),
    fill=_fill("stop"),
)
def f1(fill: str = "stop") -> Rule:
    """F1, an order that was fitted to simulated optima."""
    return rules.ordered(rules.f1, fill)


@log_policy(
    "wfp3",
    source="Tang, Lan, Desai and Buettner, IEEE Cluster 2009",
    summary="(wait / estimate)^3·servers, the most first",
    order=lambda fill="stop": Order("wfp3", fill),
    fill=_fill("stop"),
)
def wfp3(fill: str = "stop") -> Rule:
    """WFP3: who waits long for its size, and is wide, goes first."""
    return rules.ordered(rules.wfp3, fill)


def _weights(age: float, size: float, fair_share: float, max_age: float) -> dict[str, float]:
    return {"age": age, "size": size, "fair_share": fair_share, "max_age": max_age}


@log_policy(
    "multifactor",
    source=f"{SLURM}; all shares alike, usage exact and not by the period",
    summary="Slurm's weighted age, size and fair share, with EASY backfilling",
    order=lambda age=1000.0, size=1000.0, fair_share=1000.0, max_age=7 * DAY, half_life=HALF_LIFE,
    fill="easy": Order(
        "multifactor", fill, weights=_weights(age, size, fair_share, max_age), half_life=half_life
    ),
    by_user=True,
    age=_weight(1000.0),
    size=_weight(1000.0),
    fair_share=_weight(1000.0),
    max_age=_positive(7 * DAY, "the age that counts in full, in the log's unit"),
    half_life=HALF,
    fill=_fill("easy"),
)  # fmt: skip
def multifactor(  # noqa: PLR0917 - options, each by name
    age: float = 1000.0,
    size: float = 1000.0,
    fair_share: float = 1000.0,
    max_age: float = 7 * DAY,
    half_life: float = HALF_LIFE,
    fill: str = "easy",
) -> Rule:
    """Slurm's multifactor priority."""
    return rules.ordered(rules.multifactor(age, size, fair_share, max_age), fill)


@log_policy(
    "fair-share-decay",
    source="Kay and Lauder, A Fair Share Scheduler, CACM 31, 1988",
    summary="the user who has lately used least first, with EASY backfilling",
    order=lambda half_life=HALF_LIFE, fill="easy": Order(
        "least-served", fill, half_life=half_life
    ),
    by_user=True,
    half_life=HALF,
    fill=_fill("easy"),
)  # fmt: skip
def fair_share_decay(half_life: float = HALF_LIFE, fill: str = "easy") -> Rule:
    """Fair share with decaying usage."""
    return rules.ordered(rules.least_served, fill)
