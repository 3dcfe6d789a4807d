"""Pages of a bench and of a single result; each page is one self-contained file."""
