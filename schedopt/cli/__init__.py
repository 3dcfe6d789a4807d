"""The command line: the flags, the output and the exit status of each verb."""

from schedopt.cli import comparing, making, planning, solving
from schedopt.cli.options import app

__all__ = ["app", "comparing", "making", "planning", "solving"]
