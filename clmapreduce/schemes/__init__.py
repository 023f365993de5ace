"""Schemes: how a computation over a domain becomes stages.

Each file names one kernel template and says when it fits.
"""
