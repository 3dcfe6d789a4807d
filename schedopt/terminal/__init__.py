"""The terminal: tables on standard output, progress on standard error.

Names from files are never interpreted as markup, emoji codes or control sequences.
"""
