"""The verbs, which the command line and Python call."""
