"""Pairwise schemes that compute products with matrix units."""
