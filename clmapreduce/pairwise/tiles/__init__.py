"""Reductions over pairs in tiles: streamed, or shared by several devices."""
