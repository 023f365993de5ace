"""Domains: which indices a computation runs over."""
