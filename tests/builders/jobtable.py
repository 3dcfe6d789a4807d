"""Tables of jobs, read as instances."""

import random
from pathlib import Path
from typing import Any

from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.jobtable import convert

HEADER = "name,reward,priority,demand,critical_path,team\n"
LINE = "a,5,120,9,7,fx\n"
DEADLINE = (
    "\ufeffName;Priority;Pool;Frames;Chunk Size;Task Count;Avg Frame Render Time;Progress;Status;"
    "Limits;Dependencies\n"
    "a;84;kestrel;1001-1144;1;144;00:25:57;12,5 %;Queued;houdini;\n"
    "b;93;nightowl;1001-1024;5;5;00:39:14;87 %;Rendering;nuke:2, houdini;a\n"
    "c;20;tide;1-10;1;10;00:01:00;100 %;Completed;;\n"
)
FARM = """name,reward,team,tasks,release,deadline,seats:houdini
a,5,fx,12x0.5h; 1x2h,,06:00,1
b,4,light,2h+3x20m,22:30,,
c,3,,45m,2026-11-22T19:00,2h 30m,2
"""
EVENING: dict[str, Any] = {"start": "2026-11-22T20:00+01:00", "deadline": "10h", "seats:houdini": 2}
MACHINE = """name,reward,tasks,after,max_processors,processors,holds:gpu
a,5,2x1h;1x2h,,2,,1
b,4,3x30m,a,,2,
c,2,2x1h,a;b,,,0.5
"""
CHANGES: dict[str, Any] = {
    "deadline": "08:00",
    "start": "2026-11-22T18:00+01:00",
    "unit": "h",
    "capacity": "20:00=4,06:00=1",
    "end": "07:30",
    "holds:gpu": 1.5,
}


def table(folder: Path, text: str | bytes, **options: Any) -> Instance:
    """Read a table as it would stand in a file: of two processors until 10, if nothing is said."""
    path = folder / "jobs.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    asked = {"processors": 2, "deadline": 10, **options}
    return convert(path, **{key: value for key, value in asked.items() if value is not None})


def told(folder: Path, text: str | bytes, **options: Any) -> tuple[Instance, list[str]]:
    """Read a table, and return also what is told of its columns."""
    lines: list[str] = []
    return table(folder, text, tell=lines.append, **options), lines


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
