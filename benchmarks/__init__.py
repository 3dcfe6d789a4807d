"""The demo, and the benchmarks behind the numbers of the documentation."""
