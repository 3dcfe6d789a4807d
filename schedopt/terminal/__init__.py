"""What people see at a terminal."""
