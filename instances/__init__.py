"""What is given: instances of the four problems as frozen, validated records, and their files.

This is the only layer that parses. Past this door every record is valid.
"""
