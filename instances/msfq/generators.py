"""msfq instances by name: one-or-all systems, random systems of several classes, random logs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from schedopt.instances.arithmetic import divisors
from schedopt.instances.errors import expect
from schedopt.instances.msfq import rigid
from schedopt.instances.msfq.records import Instance, JobClass
from schedopt.instances.options import Option, is_count, number, one_of, whole
from schedopt.instances.recipes import Recipe, by_name, stream


def _one_or_all(seed: int, values: Mapping[str, Any]) -> Instance:
    """Make a one-or-all system; nothing in it is random, so the seed only names it.

    Source: section 6.2, where k = 32, p1 = 0.9 and both mean sizes are 1.
    """
    k, p, mu1, muk = values["k"], values["p1"], values["small_rate"], values["large_rate"]
    rate = values["load"] / (p / (k * mu1) + (1 - p) / muk)
    return Instance(
        name=f"one-or-all-{k}-{values['load']:g}" + (f"-{seed}" if seed else ""),
        servers=k,
        objective=values["objective"],
        classes=(
            JobClass(need=1, arrival_rate=p * rate, service_rate=mu1),
            JobClass(need=k, arrival_rate=(1 - p) * rate, service_rate=muk),
        ),
    )


def _multi_class(seed: int, values: Mapping[str, Any]) -> Instance:
    """Make a system of random classes: needs divide k, the smaller the likelier.

    Mean sizes are lognormal with a spread of ``spread``. The paper gives no such family; this one
    keeps to its remark that needs which divide k can use all servers (section 6.3).
    """
    draw = stream(seed)
    k, count = values["k"], values["classes"]
    whole = divisors(k)[::-1]
    expected = f"at most {len(whole)}, the divisors of {k}"
    expect(count <= len(whole), expected, count, "option classes")
    needs = sorted(draw.choice(whole, size=count, replace=False).tolist())
    parts = draw.random(count) / np.array(needs, dtype=float)
    sizes = np.exp(values["spread"] * draw.standard_normal(count))
    rate = values["load"] * k / float(parts @ (np.array(needs) * sizes))
    return Instance(
        name=f"multi-class-{k}-{seed}",
        servers=k,
        objective=values["objective"],
        classes=tuple(
            JobClass(need=need, arrival_rate=float(part * rate), service_rate=float(1 / size))
            for need, part, size in zip(needs, parts, sizes, strict=True)
        ),
    )


def _shared(k: int) -> dict[str, Option]:
    return {
        "k": Option(k, "a whole number from 2 to 10^6", lambda v: is_count(v, 10**6) and v > 1),
        "load": number(0.9, "a number between 0 and 1", lambda v: 0 < v < 1),
        "objective": one_of("mean", ("mean", "weighted"), "mean or weighted"),
    }


GENERATORS: dict[str, Recipe] = by_name(
    Recipe(
        "one-or-all",
        _one_or_all,
        {
            **_shared(32),
            "p1": number(0.9, "a number between 0 and 1", lambda v: 0 < v < 1),
            "small_rate": number(1.0, "a number above 0", lambda v: v > 0),
            "large_rate": number(1.0, "a number above 0", lambda v: v > 0),
        },
        "jobs that need one server, and jobs that need all of them",
        "Chen et al., 2025, section 6.2",
        random=False,
    ),
    Recipe(
        "multi-class",
        _multi_class,
        {
            **_shared(24),
            "classes": whole(4, 1, 100),
            "spread": number(0.5, "a number >= 0", lambda v: v >= 0),
        },
        "several classes whose needs divide k, with random parts and mean sizes",
        "our own",
    ),
    Recipe(
        "lublin-feitelson",
        rigid.make_log,
        rigid.OPTIONS,
        "a log: needs, run times that go with them, arrivals by the hour of the day",
        "Lublin and Feitelson, JPDC 63, 2003",
        beside=True,
    ),
)
