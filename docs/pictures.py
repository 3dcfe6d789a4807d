"""The pictures of the problem pages, drawn where they are missing.

Delete one to draw it again.
"""

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "_pictures"
EXAMPLES = {
    "dssp": ("night", []),
    "hesrpt": ("twins", ["equi", "srpt"]),
    "epoch": ("fig7", ["equi-epoch"]),
    "msfq": ("one-or-all", []),
}
"""For each problem an example, and policies that are drawn beside its optimum."""


def draw(app: Any) -> None:
    """Draw what is not there yet."""
    import schedopt

    del app
    FOLDER.mkdir(exist_ok=True)
    for problem, (name, policies) in EXAMPLES.items():
        target = FOLDER / f"{problem}.png"
        if not target.exists():
            instance = schedopt.example(name)
            results = [schedopt.evaluate(instance, policy) for policy in policies]
            results.append(schedopt.solve(instance, threads=1))
            schedopt.plot(results, instance=instance).savefig(target, dpi=100)


def setup(app: Any) -> dict[str, bool]:
    """Draw before anything is read."""
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
