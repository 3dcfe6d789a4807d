"""The command line: the flags, the output and the exit status of each verb."""

from schedopt.cli import archive, comparing, logs, making, planning, solving
from schedopt.cli.app import app

__all__ = ["app", "archive", "comparing", "logs", "making", "planning", "solving"]
