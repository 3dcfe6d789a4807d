"""Random seasons: render nights one after the other, whose jobs may wait for a later night."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from schedopt.instances.dssp.records import Instance
from schedopt.instances.options import Option, is_count, is_number
from schedopt.instances.recipes import Recipe

PATIENCE = (0.5, 0.3, 0.2)
"""The parts of the jobs that can wait for 0, 1 and 2 nights more."""


def _count(default: int, least: int, most: int) -> Option:
    return Option(
        default,
        f"a whole number from {least} to {most}",
        lambda count: is_count(count) and least <= count <= most,
    )


def season(night: Recipe) -> Recipe:
    """Return the recipe of seasons that are made of a recipe's nights.

    Parameters
    ----------
    night : Recipe
        That of `render-night`.
    """

    def make(seed: int, values: Mapping[str, Any]) -> Instance:
        nights = values["nights"]
        how = {name: values[name] for name in ("stages", "teams", "reward")}
        whole = night(seed, nights=nights, **how)
        draw = np.random.Generator(np.random.PCG64([seed, nights]))
        names = list(dict.fromkeys(job.groups["team"] for job in whole.jobs))
        weights = 1 / np.arange(1, len(names) + 1)
        busy = weights * np.exp(values["bursts"] * draw.standard_normal((nights, len(names))))
        jobs = []
        for of_night, members in enumerate(whole.groups["night"].values()):
            kept = [j for j in members if draw.random() < values["part"]]
            part = busy[of_night] / busy[of_night].sum()
            for j, team in zip(kept, draw.choice(len(names), len(kept), p=part), strict=True):
                waits = int(draw.choice(len(PATIENCE), p=PATIENCE))
                jobs.append(
                    msgspec.structs.replace(
                        whole.jobs[j],
                        groups={"team": names[team]},
                        first_night=of_night + 1,
                        last_night=min(nights, of_night + 1 + waits),
                    )
                )
        return Instance(
            name=f"season-{seed}-{nights}",
            description=f"{nights} nights of a render farm, in seconds; synthetic (seed {seed}).",
            processors=values["processors"],
            deadline=whole.deadline,
            nights=nights,
            jobs=tuple(jobs),
        )

    return Recipe(
        "season",
        make,
        {
            "nights": Option(
                7, "a whole number from 2 to 365", lambda n: is_count(n) and 2 <= n <= 365
            ),
            "teams": Option(5, "a whole number from 1 to 50", lambda n: is_count(n) and n <= 50),
            "processors": Option(250, "a whole number >= 1", is_count),
            "part": Option(
                0.4, "a number above 0, at most 1", lambda p: is_number(p) and 0 < p <= 1
            ),
            "bursts": Option(1.0, "a number from 0 to 5", lambda b: is_number(b) and 0 <= b <= 5),
            "reward": night.options["reward"],
            "stages": Option(
                False,
                "true (task lengths) or false (demand and critical path only)",
                lambda value: isinstance(value, bool),
            ),
        },
        "nights whose jobs may wait, with teams that are busy by turns",
        "ours: the nights of render-night; who is busy when, and who can wait, are our own choice",
    )
