"""The command line: what verbs take, what they print, how they exit."""

from schedopt.cli import comparing, making, operating, solving
from schedopt.cli.common import app

__all__ = ["app", "comparing", "making", "operating", "solving"]
