"""What the application knows of msfq."""
