"""The problems: one record each, and the lookup of them by name."""
