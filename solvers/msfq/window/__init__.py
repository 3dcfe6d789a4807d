"""Windows of a log, scheduled exactly."""
