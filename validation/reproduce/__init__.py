"""What papers claim beside what is found: one entry a figure, table, theorem or example."""
