"""Scans that begin anew with every segment, or with every run of equal keys."""
