"""Pairs cell by cell: points are put in cells, and pairs of cells that cannot matter are left out."""
