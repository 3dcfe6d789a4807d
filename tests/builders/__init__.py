"""Small instances that several tests build."""
