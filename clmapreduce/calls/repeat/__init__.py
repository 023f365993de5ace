"""Calls that are made again: what of them is settled, and where it is found."""
