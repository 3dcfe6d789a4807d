"""What the application knows of hesrpt."""
