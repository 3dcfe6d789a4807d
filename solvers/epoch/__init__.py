"""epoch: partitions and rectangles, by searches of our own and by CP-SAT."""

TABLES = {
    "partition": "schedopt.solvers.epoch.engines:PARTITION",
    "rectangles": "schedopt.solvers.epoch.engines:RECTANGLES",
}
"""Where the engines of each formulation stand, in the order in which they are tried."""
