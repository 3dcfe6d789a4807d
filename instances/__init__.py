"""What is given: instances of the four problems as frozen, validated records, and their files.

This is the only layer that parses. Every record that it returns is valid.
"""
