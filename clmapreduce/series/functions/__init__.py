"""Functions that are right to `digits=`: their tables, computed with Python's integers, and their calls."""
