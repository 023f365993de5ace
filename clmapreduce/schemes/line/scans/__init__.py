"""Scans of a line: in one pass, in two, and the tree of partial results."""
