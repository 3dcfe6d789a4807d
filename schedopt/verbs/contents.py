"""What `schedopt list` lists."""

from __future__ import annotations

from typing import Any

from instances.files import PROBLEMS
from schedopt.problems import catalog

TITLES = {
    "dssp": "which jobs to run by the deadline, and when",
    "hesrpt": "how to share servers between parallelizable jobs",
    "epoch": "how to pack memory-bound jobs into epochs",
    "msfq": "when a queue of multiserver jobs should switch class",
}


def sections() -> dict[str, list[dict[str, Any]]]:
    """Return each section's entries: a name and what is to be said of it."""
    return {
        "problems": [{"name": name, "summary": TITLES[name]} for name in PROBLEMS],
        "formulations": [
            _formulation(p, name) for p in PROBLEMS for name in catalog.FORMULATIONS[p]
        ],
        "solvers": [
            {"name": name, "takes": solver.takes} for name, solver in catalog.SOLVERS.items()
        ],
        "policies": [
            {
                "problem": problem,
                "name": policy.name,
                "summary": policy.summary,
                "options": _options(policy.options),
                "phase": policy.phase,
                "source": policy.source,
            }
            for problem in PROBLEMS
            for policy in catalog.policies(problem).values()
        ],
        "constraints": [
            {"problem": problem, "name": name, "summary": _first_line(kind)}
            for problem in PROBLEMS
            for name, kind in catalog.constraint_kinds(problem).items()
        ],
        "generators": [
            {
                "problem": problem,
                "name": name,
                "summary": generator.summary,
                "options": _options(generator.options),
            }
            for problem in PROBLEMS
            for name, generator in catalog.generators(problem).items()
        ],
        "reproductions": [
            {"problem": name.partition("/")[0], "name": name, "summary": entry.title}
            for name, entry in catalog.reproductions().items()
        ],
    }


def _formulation(problem: str, name: str) -> dict[str, Any]:
    kind = catalog.formulation_type(problem, name)
    return {
        "problem": problem,
        "name": name,
        "summary": _first_line(kind),
        "options": _options(kind.known_options),
    }


def _options(options: Any) -> list[str]:
    return [f"{key}={option.default} ({option.expected})" for key, option in options.items()]


def _first_line(kind: Any) -> str:
    return str(kind.__doc__).strip().splitlines()[0]
