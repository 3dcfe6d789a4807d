"""What the application knows of epoch."""
