"""The papers' claims beside what is found: one entry a figure, table, theorem or example."""
