"""The terminal: tables on standard output, progress on standard error.

Names come from files. None is read as markup, as an emoji code or as a control sequence.
"""
