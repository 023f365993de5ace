"""Walks along neighbouring elements, their values and results in the lanes of vectors."""
