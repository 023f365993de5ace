"""Shared by tests: oracles, random inputs, plans of every kind, separate processes."""
