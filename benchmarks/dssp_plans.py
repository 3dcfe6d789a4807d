"""How soon schedules of nights with everything at once are found and proven.

``python -m benchmarks.dssp plans`` prints seen beside asked.
"""

import random
from typing import Any

from schedopt.instances.constraints import FairShare, Seats
from schedopt.instances.dssp import Down, Instance, Job

FRAMES, HOUR = 60, 60.0
"""Frames of a job, on average, and the minutes of an hour."""


def everything(jobs: int, seed: int = 1) -> Instance:
    """Draw a night of ten hours on two pools, with every key that jobs and files may have."""
    draw = random.Random(seed)  # noqa: S311
    made: list[Job] = []
    for j in range(jobs):
        own: dict[str, Any] = {}
        team, show = draw.choice(("fx", "light", "anim", "comp")), draw.choice(("orca", "lynx"))
        if made and draw.random() < 0.2:
            own["after"] = (draw.choice(made[-40:]).name,)
        if draw.random() < 0.1:
            own["processors"] = 2
        if draw.random() < 0.2:
            own["max_processors"] = draw.choice((16, 32))
        if draw.random() < 0.3:
            own["release"] = HOUR * draw.randint(0, 4)
        if draw.random() < 0.3:
            own["deadline"] = HOUR * draw.randint(7, 10)
        if draw.random() < 0.2:
            own["holds"] = {"memory": draw.choice((1.0, 2.0))}
        if draw.random() < 0.3:
            own["pools"] = ("gpu",)
        frames, length = draw.randint(20, 2 * FRAMES - 20), float(draw.randint(2, 14))
        stages = (*((2.0,),) * (draw.random() < 0.3), (length,) * frames)
        reward = draw.choice((8, 4, 2, 2, 1)) * draw.randint(50, 150)
        made.append(
            Job(
                name=f"j{j}",
                reward=float(reward),
                groups={"team": team, "show": show},
                stages=stages,
                **own,
            )
        )
    size = max(2, jobs // 2)
    gpu = size // 3
    houdini = dict.fromkeys((job.name for job in made if job.groups["team"] == "fx"), 1)
    return Instance(
        name=f"everything-{jobs}",
        pools={"cpu": ((0, size), (3 * HOUR, size // 2), (5 * HOUR, size)), "gpu": gpu},
        deadline=10 * HOUR,
        end=10 * HOUR,
        jobs=tuple(made),
        resources={"memory": ((0, size // 4), (6 * HOUR, size // 8), (7 * HOUR, size // 4))},
        down=(Down(start=8 * HOUR, end=8.5 * HOUR, processors=max(1, gpu // 3), pool="gpu"),),
        constraints=(
            FairShare(name="cap", by="team", at_most={"fx": 0.3}),
            FairShare(name="floor", by="show", at_least={"lynx": 0.2}),
            Seats(name="houdini", capacity=max(1, size // 6), use=houdini),
        ),
    )
