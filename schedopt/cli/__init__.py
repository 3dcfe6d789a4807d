"""The command line: what verbs take, what they print, how they exit."""

from schedopt.cli import solving, comparing, making, listing  # isort: skip  in the order of --help
from schedopt.cli.common import app

__all__ = ["app", "comparing", "listing", "making", "solving"]
