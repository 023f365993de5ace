"""Operators of recurrences: maps of a state, composed."""
