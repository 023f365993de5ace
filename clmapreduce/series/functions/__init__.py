"""Functions that are right to the digits asked for: their tables, computed with Python's integers, and their calls."""
