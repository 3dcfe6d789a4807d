"""Snakemake scheduler that proves the choice of the next jobs optimal: ``--scheduler schedopt``."""

# No `from __future__ import annotations`, because Snakemake reads the types of the settings.
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from snakemake_interface_scheduler_plugins.base import SchedulerBase
from snakemake_interface_scheduler_plugins.settings import SchedulerSettingsBase

__all__ = ["Scheduler", "SchedulerSettings"]


@dataclass
class SchedulerSettings(SchedulerSettingsBase):
    """Settings of the scheduler."""

    time_limit: Optional[float] = field(  # noqa: UP045  Snakemake knows no X | None
        default=10.0,
        metadata={"help": "Seconds for one choice; then the best that was found is taken."},
    )


class Scheduler(SchedulerBase):
    """Choose the ready jobs that maximize Snakemake's objective."""

    def __post_init__(self) -> None:
        """Remember which warnings were logged."""
        self._warned: set[str] = set()
        self.settings = self.settings or SchedulerSettings()

    def _warn(self, message: str) -> None:
        """Log a warning once."""
        if message not in self._warned:
            self._warned.add(message)
            self.logger.warning(f"schedopt: {message}")

    def select_jobs(
        self,
        selectable_jobs: Sequence[Any],
        remaining_jobs: Sequence[Any],
        available_resources: Mapping[str, int | str],
        input_sizes: Mapping[Any, int],
    ) -> Sequence[Any] | None:
        """Return the jobs to start, or None if an error was logged."""
        from snakemake_scheduler_plugin_schedopt.choosing import Call

        ready = list(selectable_jobs)  # Snakemake passes a set
        try:
            call = Call.of(ready, remaining_jobs, available_resources, input_sizes, self._warn)
            chosen, proven = call.choose(self.settings.time_limit)
        except Exception as error:  # noqa: BLE001  a workflow is worth more than its schedule
            self._warn(f"{type(error).__name__}: {error}; Snakemake's greedy scheduler takes over")
            return None
        if not proven:
            self.logger.info("schedopt: time is over; the best choice that was found is taken")
        return [ready[j] for j in chosen]
