"""What finds the optima of dssp: selections, seasons and schedules."""
