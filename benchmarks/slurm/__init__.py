"""Plans carried out on a real Slurm: `make slurm-test`."""
