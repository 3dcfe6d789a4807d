"""The command line: what verbs take, what they print, how they exit."""

from schedopt.cli import planning, solving, operating, comparing, making, archiving  # isort: skip  in the order of --help
from schedopt.cli.common import app

__all__ = ["app", "archiving", "comparing", "making", "operating", "planning", "solving"]
