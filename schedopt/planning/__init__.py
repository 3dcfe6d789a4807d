"""Plans for operators: from a table of jobs to tonight's plan, its replanning, and tomorrow."""
