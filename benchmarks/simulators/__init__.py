"""Other simulators on workloads with known starts: ``python -m benchmarks.simulators``."""
