"""What the command line and Python call."""
