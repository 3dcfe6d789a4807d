"""The command line: what verbs take, what they print, how they exit."""

from schedopt.cli import running, comparing, making, looking  # isort: skip  in the order of --help
from schedopt.cli.common import app

__all__ = ["app", "comparing", "looking", "making", "running"]
