"""Pages: one of a bench, one of a single result; each is one file without references."""
