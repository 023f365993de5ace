"""Repeated calls: their cached parts, and the cache."""
