"""Subscripts of arrays: what they select, where it lies in memory, reading and storing it."""
