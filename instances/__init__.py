"""Instances of the four problems: frozen, validated records, and the files that hold them.

Only this layer parses files. Every record that it returns is valid.
"""
