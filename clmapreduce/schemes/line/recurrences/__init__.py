"""Recurrences over a line: iterates of a function, composed maps of a state."""
