"""Sorts of a line by the digits of its keys."""
