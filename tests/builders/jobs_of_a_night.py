"""A made-up table of jobs as a farm has it: teams, shows, words for priorities, seats, orders."""

import random


def csv(seed: int = 1, jobs: int = 40) -> str:
    """Return a table of jobs of about sixty frames each."""
    draw = random.Random(seed)  # noqa: S311
    lines = ["name,team,show,priority,frames,frame_time,seats:houdini,after,deadline"]
    names: list[str] = []
    for n in range(jobs):
        team = draw.choice(["fx", "lighting", "comp", "anim"])
        show = draw.choice(["orca", "lynx", "heron"])
        word = draw.choice(["urgent", "high", "normal", "normal", "low"])
        seats = "1" if team == "fx" and draw.random() < 0.7 else ""
        after = draw.choice(names) if names and draw.random() < 0.2 else ""
        due = draw.choice(["", "", "", "05:00", "04:30"])
        names.append(f"{show}_{team}_{n:03d}")
        frames, minutes = draw.randint(20, 100), draw.randint(2, 14)
        lines.append(f"{names[-1]},{team},{show},{word},{frames},{minutes}m,{seats},{after},{due}")
    return "\n".join(lines) + "\n"
