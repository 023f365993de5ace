"""Scans that begin again with every segment, or with every run of equal keys."""
