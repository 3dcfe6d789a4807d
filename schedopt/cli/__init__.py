"""The command line: what verbs take, what they print, how they exit."""

from schedopt.cli import archive, comparing, logs, making, planning, solving
from schedopt.cli.app import app

__all__ = ["app", "archive", "comparing", "logs", "making", "planning", "solving"]
